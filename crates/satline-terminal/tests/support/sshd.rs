//! An sshd of our own on a port of loopback, with keys, configuration and accounts' keys in a temporary place.

use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::eventually;

/// Ends with its sessions when it is dropped.
pub struct Sshd {
    address: String,
    pub port: u16,
    /// This user's name.
    pub user: String,
    directory: tempfile::TempDir,
    child: Child,
}

const PROGRAM: &str = "/usr/sbin/sshd";

fn key(path: &Path) {
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(path)
        .status();
    assert!(made.unwrap().success());
}

impl Sshd {
    /// With these further lines of configuration; None, and why on standard error: there is no sshd here.
    pub fn start(more: &str) -> Option<Self> {
        Self::on("127.0.0.1", more)
    }

    /// The same on another address of this host.
    pub fn on(address: &str, more: &str) -> Option<Self> {
        let found = Path::new(PROGRAM).exists() && Command::new("ssh").arg("-V").output().is_ok();
        // It wants its place for separated privileges if it runs for root.
        let placed = fs::create_dir_all("/run/sshd").is_ok() || Path::new("/run/sshd").exists();
        if !found || !placed {
            eprintln!("skipped: no OpenSSH server and client here (apt-get install openssh-server)");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        key(&path("host"));
        key(&path("key"));
        fs::copy(path("key.pub"), path("accounts")).unwrap();
        let user = Command::new("id").arg("-un").output().unwrap();
        let user = String::from_utf8(user.stdout).unwrap().trim().to_owned();
        // Somebody else may take the port before sshd does: then another.
        let (port, child) = (0..20)
            .find_map(|_| Self::listening(directory.path(), address, more))
            .unwrap_or_else(|| panic!("{}", fs::read_to_string(path("log")).unwrap_or_default()));
        Some(Self {
            address: address.to_owned(),
            port,
            user,
            directory,
            child,
        })
    }

    /// Starts it on a port that was free a moment ago; None: it has ended.
    fn listening(directory: &Path, address: &str, more: &str) -> Option<(u16, Child)> {
        let path = |name: &str| directory.join(name);
        let port = std::net::TcpListener::bind((address, 0))
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let public = fs::read_to_string(path("host.pub")).unwrap();
        fs::write(path("known"), format!("[{address}]:{port} {public}")).unwrap();
        let place = directory.display();
        let config = format!(
            "Port {port}\nListenAddress {address}\nHostKey {place}/host\nAuthorizedKeysFile {place}/accounts\n\
             PidFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\n\
             PermitRootLogin prohibit-password\n{more}\n"
        );
        fs::write(path("config"), config).unwrap();
        let mut child = Command::new(PROGRAM)
            .args(["-D", "-f"])
            .arg(path("config"))
            .arg("-E")
            .arg(path("log"))
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut lives = true;
        eventually("sshd listens", || {
            lives = child.try_wait().unwrap().is_none();
            !lives || TcpStream::connect((address, port)).is_ok()
        });
        lives.then_some((port, child))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// `[line]` of a workload, with further keys.
    pub fn line(&self, more: &str) -> String {
        let (user, address, port) = (&self.user, &self.address, self.port);
        let (key, known) = (self.path("key"), self.path("known"));
        format!(
            "line = {{ to = \"ssh:{user}@{address}:{port}\", identity = {key:?}, known_hosts = {known:?}, \
             retry_seconds = 0.05{more} }}\n"
        )
    }

    /// Somebody else's log-on that is under way for as long as the connection is kept: sshd has greeted him.
    pub fn log_on_under_way(&self) -> TcpStream {
        let mut kept = None;
        eventually("a place to log on", || {
            let mut connection = TcpStream::connect((self.address.as_str(), self.port)).unwrap();
            let mut greeting = [0; 4];
            let greeted = connection.read_exact(&mut greeting).is_ok() && greeting == *b"SSH-";
            kept = greeted.then_some(connection);
            greeted
        });
        kept.unwrap()
    }

    /// The processes that serve connections.
    pub fn connections(&self) -> Vec<i32> {
        let all = satline_terminal::processes::all(Path::new("/proc"));
        let below = satline_terminal::processes::descendants(&all, self.child.id() as i32);
        let own = self.child.id() as i32;
        below
            .iter()
            .filter(|process| process.parent == own)
            .map(|process| process.pid)
            .collect()
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        for pid in self.connections() {
            satline_terminal::processes::send(pid, libc::SIGKILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
