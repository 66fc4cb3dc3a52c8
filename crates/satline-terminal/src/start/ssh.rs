//! Lines over SSH: what is looked at before anything starts, and the leave of the host's owner.

use std::ffi::CString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use satline_program::Error;

use super::search_path;
use crate::allow::{self, Ask, Consent};
use crate::cli::RunOptions;
use crate::lines::pty;
use crate::lines::ssh::{Carrier, Facts, Host, Settings, Ssh, is_loopback};
use crate::lines::ssh2::{Client, Key, Ssh2, Wish};
use crate::lines::{Lines, Target, first_address};
use crate::workload::{Ending, Workload};

/// What OpenSSH looks at where it is not configured.
const KEYS: [&str; 3] = ["~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa"];
const KNOWN_HOSTS: [&str; 2] = ["~/.ssh/known_hosts", "/etc/ssh/ssh_known_hosts"];

/// User, None: as `ssh` is configured; host and port.
type Place<'a> = (Option<&'a str>, &'a str, u16);

/// An error about the line; `what` goes on the sentence.
fn wrong(workload: &Workload, what: &str, hint: &str) -> Error {
    let what = format!("{}: the line {}{what}", workload.origin, workload.line.target);
    Error::input(what, hint)
}

const TRY: &str = "try it by hand with `ssh`; see the keys identity and known_hosts of [line]";

/// How sessions over SSH are opened.
pub(super) fn lines(
    options: &RunOptions,
    workload: &Workload,
    environment: &[(String, String)],
    place: Place<'_>,
) -> Result<Lines, Error> {
    let settings = &workload.line.ssh;
    for (key, file) in [
        ("identity", &settings.identity),
        ("known_hosts", &settings.known_hosts),
        ("config", &settings.config),
    ] {
        // Either client goes on without a file that is not there.
        if let Some(Err(error)) = file.as_ref().map(fs::File::open) {
            let shown = file.as_deref().unwrap_or(Path::new("")).display();
            let what = format!(
                "{}: key line.{key}: cannot read {shown}: {error}",
                workload.origin
            );
            return Err(Error::input(what, "name a file that is there"));
        }
    }
    let marks = matches!(workload.ending, Ending::Marks);
    let terminal = if marks { "xterm" } else { "dumb" };
    let program = pty::find_program("ssh", search_path(environment, &[]));
    let host = program.map(|program| Host::new(program, place, settings, environment.to_vec(), terminal));
    if settings.client == Carrier::Libssh2 {
        return libssh2(workload, environment, place, (host, terminal)).map(Lines::Ssh2);
    }
    let host = host.ok_or_else(|| {
        let hint = "install OpenSSH's client (apt-get install openssh-client)";
        wrong(workload, ": no `ssh` in PATH", hint)
    })?;
    Ok(Lines::Ssh(Ssh::new(
        host,
        settings.sessions_per_connection,
        options.logon_timeout,
    )))
}

/// The same by libssh2, to where `ssh` would go; without one to where the line says.
fn libssh2(
    workload: &Workload,
    environment: &[(String, String)],
    (user, name, port): Place<'_>,
    (host, terminal): (Option<Host>, &str),
) -> Result<Ssh2, Error> {
    let settings = &workload.line.ssh;
    let wrong = |what: &str, hint: &str| wrong(workload, what, hint);
    let variable = |key: &str| {
        let found = environment.iter().find(|(have, _)| have == key);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    };
    let facts = match &host {
        Some(host) => host.facts().map_err(|error| wrong(&format!(": {error}"), TRY))?,
        None if settings.config.is_some() => {
            let hint = "install OpenSSH's client (apt-get install openssh-client), or leave config out";
            return Err(wrong(
                ": the key config is read by `ssh`, and there is none in PATH",
                hint,
            ));
        }
        None => Facts {
            host: name.to_owned(),
            port,
            user: user
                .or(variable("LOGNAME"))
                .or(variable("USER"))
                .unwrap_or_default()
                .to_owned(),
            identities: KEYS.map(str::to_owned).to_vec(),
            known_hosts: KNOWN_HOSTS.map(str::to_owned).to_vec(),
            ..Facts::default()
        },
    };
    if facts.by_proxy {
        let what =
            ": `ssh` goes there by another host or program (ProxyJump, ProxyCommand), which libssh2 does not";
        return Err(wrong(
            what,
            "write client = \"ssh\" in [line], or leave --ssh-client out",
        ));
    }
    if facts.user.is_empty() {
        return Err(wrong(": no account is named", "write ssh:USER@HOST:PORT"));
    }
    let address = first_address(&facts.host, facts.port)
        .ok()
        .flatten()
        .ok_or_else(|| {
            let what = format!(": no address of {} is known", facts.host);
            wrong(&what, "see whether the name of the host is right")
        })?;
    let wish = wish(settings, &facts, address, (variable("HOME"), terminal));
    let wish = wish.ok_or_else(|| wrong(": a NUL in a name", "remove it"))?;
    let client = Client::new(wish).map_err(|why| {
        let hint = "install it (apt-get install libssh2-1), or write client = \"ssh\" in [line]";
        wrong(&format!(" needs this host's libssh2: {why}"), hint)
    })?;
    Ok(Ssh2::new(host, client, settings.sessions_per_connection))
}

/// What the settings and `ssh`'s configuration come to; None: a text cannot be given to libssh2.
fn wish(
    settings: &Settings,
    facts: &Facts,
    address: SocketAddr,
    (home, terminal): (Option<&str>, &str),
) -> Option<Wish> {
    let path = |written: &String| match (written.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Path::new(home).join(rest),
        _ => PathBuf::from(written),
    };
    let file = |path: &Path| {
        CString::new(path.as_os_str().as_encoded_bytes())
            .ok()
            .map(Key::File)
    };
    let keys = match &settings.identity {
        Some(identity) => vec![file(identity)?],
        None => {
            let files = facts.identities.iter().map(path);
            let there = files.filter(|path| path.is_file()).filter_map(|path| file(&path));
            let agent = (!facts.identities_only).then_some(Key::Agent);
            agent.into_iter().chain(there).collect()
        }
    };
    let known = match &settings.known_hosts {
        Some(known) => vec![known.clone()],
        None => facts.known_hosts.iter().map(path).collect(),
    };
    let name = facts.alias.as_ref().unwrap_or(&facts.host).to_lowercase();
    Some(Wish {
        address,
        name: CString::new(name).ok()?,
        port: facts.alias.is_none().then_some(facts.port),
        user: CString::new(facts.user.as_str()).ok()?,
        keys,
        known,
        terminal: CString::new(terminal).ok()?,
    })
}

/// What the options say of lines over SSH goes before the workload.
pub(super) fn options(options: &RunOptions, workload: &mut Workload) -> Result<(), Error> {
    let given = options.ssh_client.is_some()
        || options.ssh_identity.is_some()
        || options.ssh_known_hosts.is_some()
        || options.ssh_sessions.is_some();
    if given && !matches!(workload.line.target, Target::Ssh { .. }) {
        let what = format!("--ssh-…: the line is {}", workload.line.target);
        let hint = "write --line ssh:USER@HOST:PORT, or leave them out";
        return Err(Error::input(what, hint));
    }
    let settings = &mut workload.line.ssh;
    if let Some(client) = options.ssh_client {
        settings.client = client;
    }
    if let Some(file) = &options.ssh_identity {
        settings.identity = Some(file.clone());
    }
    if let Some(file) = &options.ssh_known_hosts {
        settings.known_hosts = Some(file.clone());
    }
    if let Some(count) = options.ssh_sessions {
        settings.sessions_per_connection = usize::from(count);
    }
    let alone = settings.client == Carrier::Libssh2 || settings.sessions_per_connection == 1;
    if given && workload.shell.is_empty() && !alone {
        let what = "--ssh-sessions, --ssh-client: users who share a connection of `ssh` need a shell";
        let hint = "write --ssh-client libssh2, or shell = [\"bash\", \"-il\"] in the workload";
        return Err(Error::input(what, hint));
    }
    Ok(())
}

/// Sees whether the host can be reached over SSH, and asks its owner unless it is this host.
pub(super) fn consent(
    options: &RunOptions,
    workload: &Workload,
    lines: &Lines,
    name: &str,
    ask: &Ask,
) -> Result<Option<Consent>, Error> {
    let wrong = |what: String| wrong(workload, &what, TRY);
    let (own, host) = match lines {
        Lines::Ssh(ssh) => {
            let facts = ssh.host.facts().map_err(|error| wrong(format!(": {error}")))?;
            let own = !facts.by_proxy
                && is_loopback(&facts.host, facts.port)
                    .map_err(|error| wrong(format!(": {}: {error}", facts.host)))?;
            ssh.try_out().map_err(wrong)?;
            (own, Some(&ssh.host))
        }
        Lines::Ssh2(ssh2) => {
            let patience = Duration::from_nanos(options.logon_timeout.max(1) as u64);
            ssh2.try_out(patience).map_err(wrong)?;
            (ssh2.is_loopback(), ssh2.host.as_ref())
        }
        Lines::Pty(_) | Lines::Remote { .. } => return Ok(None),
    };
    if own {
        return Ok(None);
    }
    let host = host.ok_or_else(|| {
        let what = ": the leave of its owner is read by `ssh`, and there is none in PATH";
        self::wrong(
            workload,
            what,
            "install OpenSSH's client (apt-get install openssh-client)",
        )
    })?;
    allow::file::consent(options.allow.as_deref(), name, host, ask).map(Some)
}
