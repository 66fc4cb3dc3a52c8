//! Certificates made by `openssl`, and TLS in front of a plain server, in a process of its own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A certificate authority in a temporary place, and what it signed.
pub struct Authority {
    directory: tempfile::TempDir,
}

fn openssl(directory: &Path, words: &str) {
    let output = Command::new("openssl")
        .current_dir(directory)
        .args(words.split(' '))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl {words}: {said}");
}

const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";

impl Authority {
    /// None, and why on standard error: this host has not what it takes.
    pub fn new() -> Option<Self> {
        let runs = |program: &str, words: &[&str]| {
            let output = Command::new(program).args(words).output();
            output.is_ok_and(|output| output.status.success())
        };
        if !runs("openssl", &["version"]) || !runs("python3", &["-c", "import ssl"]) {
            eprintln!(
                "skipped: no openssl command, or no python3 with TLS (apt-get install openssl python3)"
            );
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        openssl(
            place,
            &format!("req -x509 {KEY} -keyout ca.key -out ca.pem -days 2 -subj /CN=authority"),
        );
        Some(Self { directory })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Signs a certificate for these names (`DNS:localhost,IP:127.0.0.1`); days below 0: it is over.
    pub fn sign(&self, name: &str, names: &str, days: i32) {
        let place = self.directory.path();
        std::fs::write(
            self.path(&format!("{name}.names")),
            format!("subjectAltName={names}"),
        )
        .unwrap();
        openssl(
            place,
            &format!("req {KEY} -keyout {name}.key -out {name}.csr -subj /CN=server"),
        );
        openssl(
            place,
            &format!(
                "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile {name}.names \
                 -days {days} -out {name}.pem"
            ),
        );
    }

    /// TLS with that certificate in front of a plain server; see `terminator.py`.
    pub fn front(&self, name: &str, plain: u16, version: &str, end: &str) -> Front {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/terminator.py");
        let mut child = Command::new("python3")
            .arg(script)
            .args([
                self.path(&format!("{name}.pem")),
                self.path(&format!("{name}.key")),
            ])
            .args([&plain.to_string(), version, end])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        Front {
            port: line.trim().parse().unwrap(),
            child,
        }
    }
}

/// Ends when it is dropped.
pub struct Front {
    pub port: u16,
    child: Child,
}

impl Front {
    /// The server dies in the middle of everything.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.kill();
    }
}
