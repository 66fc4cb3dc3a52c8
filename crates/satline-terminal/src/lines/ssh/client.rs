//! How `ssh` is called.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::ValueEnum;
use serde::Deserialize;

use super::facts::Facts;

/// What carries lines over SSH.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// OpenSSH's client, a process for each connection and each user.
    #[default]
    Ssh,
    /// The library of that name, in the emulator itself.
    Libssh2,
}

/// `[line]`'s keys for SSH, and the options of the same names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub client: Carrier,
    /// Key; None: as `ssh` is configured, and by an agent.
    pub identity: Option<PathBuf>,
    /// Known hosts; None: as `ssh` is configured.
    pub known_hosts: Option<PathBuf>,
    /// Configuration in place of that of the system and the user.
    pub config: Option<PathBuf>,
    pub sessions_per_connection: usize,
    /// Log-ons that may be under way at one time, on connections of their own or on shared ones.
    pub log_ons_at_once: usize,
}

impl Default for Settings {
    /// By default sshd drops connections at random when 10 are under way, and allows 10 sessions on each.
    fn default() -> Self {
        Self {
            client: Carrier::default(),
            identity: None,
            known_hosts: None,
            config: None,
            sessions_per_connection: 1,
            log_ons_at_once: 8,
        }
    }
}

/// Whom to reach, and with what.
#[derive(Debug, Clone)]
pub struct Host {
    program: PathBuf,
    words: Vec<OsString>,
    environment: Vec<(String, String)>,
}

impl Host {
    /// `user` None: as `ssh` is configured; `environment` is what the clients get.
    pub fn new(
        program: PathBuf,
        (user, host, port): (Option<&str>, &str, u16),
        settings: &Settings,
        mut environment: Vec<(String, String)>,
        terminal: &str,
    ) -> Self {
        environment.retain(|(key, _)| key != "TERM");
        environment.push(("TERM".into(), terminal.into()));
        let mut words: Vec<OsString> = Vec::new();
        let mut option = |text: &str| words.extend(["-o".into(), text.into()]);
        for text in [
            // Nobody is there to be asked, and no key is believed that is not known.
            "BatchMode=yes",
            "StrictHostKeyChecking=yes",
            "UpdateHostKeys=no",
            "LogLevel=ERROR",
            "EscapeChar=none",
            "ClearAllForwardings=yes",
            "ForwardAgent=no",
            "ForwardX11=no",
            "ControlPersist=no",
            "RemoteCommand=none",
            // Newer clients send keys at fixed times and others among them.
            "IgnoreUnknown=ObscureKeystrokeTiming",
            "ObscureKeystrokeTiming=no",
        ] {
            option(text);
        }
        let mut named = |flag: &str, path: &Path| words.extend([flag.into(), path.into()]);
        if let Some(config) = &settings.config {
            named("-F", config);
        }
        if let Some(identity) = &settings.identity {
            named("-i", identity);
            words.extend(["-o".into(), "IdentitiesOnly=yes".into()]);
        }
        if let Some(known) = &settings.known_hosts {
            let file = |key: &str| {
                // Blanks would separate files.
                let mut text = OsString::from(format!("{key}=\""));
                text.push(known);
                text.push("\"");
                text
            };
            words.extend(["-o".into(), file("UserKnownHostsFile")]);
            words.extend(["-o".into(), "GlobalKnownHostsFile=/dev/null".into()]);
        }
        words.extend(["-p".into(), port.to_string().into()]);
        if let Some(user) = user {
            words.extend(["-l".into(), user.into()]);
        }
        words.extend(["--".into(), host.into()]);
        Self {
            program,
            words,
            environment,
        }
    }

    fn command(&self, first: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(first).env_clear();
        command.envs(self.environment.iter().map(|(key, value)| (key, value)));
        command
    }

    /// What the configuration makes of the host's name.
    pub fn facts(&self) -> io::Result<Facts> {
        let output = self.command(&["-G"]).args(&self.words).output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(said.trim().to_owned()));
        }
        Ok(Facts::parse(&String::from_utf8_lossy(&output.stdout)))
    }

    /// A command on the host without a terminal, its output in a pipe.
    pub fn run(&self, remote: &str) -> Command {
        let mut command = self.command(&["-T", "-oControlMaster=no", "-oControlPath=none"]);
        command.args(&self.words).arg(remote);
        own_session(&mut command);
        command
    }

    /// Starts a user's session with these ends; gives the process and where it says what is wrong.
    /// `control`: the socket of the connection that it is to use, and no other.
    pub(super) fn session(
        &self,
        ends: UnixStream,
        control: Option<&Path>,
        remote: Option<&str>,
    ) -> io::Result<(i32, UnixStream)> {
        let mut command = self.command(&["-tt", "-oControlMaster=no", "-oPermitLocalCommand=no"]);
        match control {
            // Else it would connect on its own where the connection has no room.
            Some(socket) => command.args(["-oProxyCommand=exec false", "-S"]).arg(socket),
            None => command.args(["-S", "none"]),
        };
        command.args(&self.words).args(remote);
        start(command, ends)
    }

    /// Starts a client that only holds a connection and writes a line when it stands. `control`: where others find it.
    pub(super) fn holder(&self, ends: UnixStream, control: Option<&Path>) -> io::Result<(i32, UnixStream)> {
        let mut command = self.command(&["-N", "-T", "-oPermitLocalCommand=yes", "-oLocalCommand=echo"]);
        match control {
            Some(socket) => command.args(["-M", "-S"]).arg(socket),
            None => command.args(["-oControlMaster=no", "-S", "none"]),
        };
        command.args(&self.words);
        start(command, ends)
    }
}

/// The process is a session of its own, which ends with this program.
fn own_session(command: &mut Command) {
    let parent = std::process::id() as libc::pid_t;
    let begin = move || {
        // SAFETY: async-signal-safe calls with plain numbers.
        unsafe {
            libc::setsid();
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGHUP);
            if libc::getppid() != parent {
                libc::_exit(125);
            }
        }
        Ok(())
    };
    // SAFETY: see above.
    unsafe { command.pre_exec(begin) };
}

/// As punctual as the emulator itself.
fn prefer(command: &mut Command) {
    let begin = || {
        satline_program::scheduling::prefer();
        Ok(())
    };
    // SAFETY: system calls with plain numbers.
    unsafe { command.pre_exec(begin) };
}

fn start(mut command: Command, ends: UnixStream) -> io::Result<(i32, UnixStream)> {
    let (near, far) = UnixStream::pair()?;
    command.stdin(Stdio::from(OwnedFd::from(ends.try_clone()?)));
    command.stdout(Stdio::from(OwnedFd::from(ends)));
    command.stderr(Stdio::from(OwnedFd::from(far)));
    own_session(&mut command);
    prefer(&mut command);
    // Reaped with all others that end.
    Ok((command.spawn()?.id() as i32, near))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_keys_are_checked_and_names_are_no_options() {
        let settings = Settings {
            known_hosts: Some("/a b/known".into()),
            ..Settings::default()
        };
        let host = Host::new(
            "/usr/bin/ssh".into(),
            (Some("-x"), "-oProxyCommand=x", 22),
            &settings,
            vec![],
            "dumb",
        );
        let words: Vec<_> = host.words.iter().map(|word| word.to_str().unwrap()).collect();
        assert!(words.contains(&"StrictHostKeyChecking=yes") && words.contains(&"BatchMode=yes"));
        assert!(words.contains(&"UserKnownHostsFile=\"/a b/known\""));
        assert_eq!(words[words.len() - 2..], ["--", "-oProxyCommand=x"]);
    }
}
