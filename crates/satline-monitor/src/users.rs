//! Who the user of a process is.
//!
//! * `uid`: the effective user of the process, by name where `/etc/passwd` has one.
//! * `session`: the audit login session, written `name#session`. A process outside every login session (services,
//!   whatever began at boot) is `_host`: it is work of the host, not of somebody who logged on.
//! * `terminal`: the terminal that the process belongs to, written `name#pts/3`; the name is that of who leads the terminal's session.
//!   A process without a terminal is `_host`.
//! * `cgroup`: the systemd user slice, service or scope (containers are scopes), a batch system's `job_N`, and
//!   otherwise the path of the group; `_host` in the root group.
//! * `emulated`: a file to which the emulator appends `pid<TAB>user`. Every process whose own number, session or
//!   nearest listed ancestor is in it belongs to that user; everything else is `_host`.
//! * `rules`: what the first rule of a file says that fits the process; see [`crate::rules`].
//!
//! With each, kernel threads are `_kernel`, and the monitor with whatever it started is `_satline`.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use satline_program::parse;

use crate::files::{self, Roots};
use crate::placement::{Placement, ranked_paths};
use crate::rules::{self, Rules, Verdict};

/// What a user is in this recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserDefinition {
    Uid,
    Session,
    Terminal,
    Cgroup,
    Emulated(PathBuf),
    Rules(Arc<Rules>),
}

impl UserDefinition {
    /// The word for `[users] definition`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Uid => "uid",
            Self::Session => "session",
            Self::Terminal => "terminal",
            Self::Cgroup => "cgroup",
            Self::Emulated(_) => "emulated",
            Self::Rules(_) => "rules",
        }
    }

    /// The text of the rules, if it is rules that say it.
    pub fn rules(&self) -> Option<&str> {
        match self {
            Self::Rules(rules) => Some(&rules.text),
            _ => None,
        }
    }
}

impl std::str::FromStr for UserDefinition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("emulated", file)) if !file.is_empty() => Ok(Self::Emulated(file.into())),
            Some(("rules", file)) if !file.is_empty() => match Rules::read(Path::new(file)) {
                Ok(rules) => Ok(Self::Rules(Arc::new(rules))),
                Err(error) => Err(error.to_string()),
            },
            None if text == "uid" => Ok(Self::Uid),
            None if text == "session" => Ok(Self::Session),
            None if text == "terminal" => Ok(Self::Terminal),
            None if text == "cgroup" => Ok(Self::Cgroup),
            _ => Err("expected uid, session, terminal, cgroup, rules:FILE or emulated:FILE".into()),
        }
    }
}

/// Number of a user within the run: the place in [`Users::names`].
pub type UserId = usize;

pub const KERNEL: UserId = 0;
pub const SATLINE: UserId = 1;
pub const HOST: UserId = 2;

/// What is known of a process when its user is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    pub pid: i32,
    pub session: i32,
    pub kernel_thread: bool,
    /// Of a process that has ended and was never seen: its user as its account says. `None`: look it up.
    pub uid: Option<u32>,
    /// The user of the parent, where the parent is known.
    pub parent: Option<UserId>,
}

/// Finds and names users.
#[derive(Debug)]
pub struct Users {
    definition: UserDefinition,
    roots: Roots,
    names: Vec<String>,
    by_name: HashMap<String, UserId>,
    passwd: HashMap<u32, String>,
    own_pid: i32,
    companion: Option<i32>,
    listed: HashMap<i32, UserId>,
    listed_bytes: u64,
    unfinished_line: Vec<u8>,
    generation: u64,
}

impl Users {
    /// `passwd` is the file that names uids, `own_pid` the monitor's process number.
    pub fn new(definition: UserDefinition, roots: Roots, passwd: &Path, own_pid: i32) -> Self {
        let mut users = Self {
            definition,
            roots,
            names: Vec::new(),
            by_name: HashMap::new(),
            passwd: passwd_names(&files::read(passwd).unwrap_or_default()),
            own_pid,
            companion: None,
            listed: HashMap::new(),
            listed_bytes: 0,
            unfinished_line: Vec::new(),
            generation: 0,
        };
        for name in ["_kernel", "_satline", "_host"] {
            users.intern(name.to_owned());
        }
        users
    }

    /// A further process that is Satline's own, with what it started: who started the monitor.
    pub fn companion(&mut self, pid: Option<i32>) {
        self.companion = pid;
    }

    /// All names so far; a [`UserId`] is a place in here.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether this is a user, not one of the names that begin with `_`.
    pub fn is_real(id: UserId) -> bool {
        id > HOST
    }

    /// Rises when the answers for known processes may have changed.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Reads what the emulator has appended since the last call. A line that is not finished is left for later.
    pub fn refresh(&mut self) {
        let UserDefinition::Emulated(path) = &self.definition else {
            return;
        };
        let Ok(mut file) = File::open(path) else { return };
        let length = file.metadata().map_or(0, |m| m.len());
        if length < self.listed_bytes {
            // Somebody began the file anew.
            self.listed_bytes = 0;
            self.unfinished_line.clear();
            self.listed.clear();
        }
        if length == self.listed_bytes {
            return;
        }
        use std::io::{Seek, SeekFrom};
        let mut text = self.unfinished_line.clone();
        let read = file
            .seek(SeekFrom::Start(self.listed_bytes))
            .and_then(|_| file.read_to_end(&mut text));
        // What an interrupted read brought is read again next time.
        let Ok(read) = read else { return };
        self.listed_bytes += read as u64;
        let end = text.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        self.unfinished_line = text.split_off(end);
        for line in parse::lines(&text) {
            let Some(tab) = line.iter().position(|&b| b == b'\t') else {
                continue;
            };
            let Some(pid) = parse::unsigned(&line[..tab]).and_then(|n| i32::try_from(n).ok()) else {
                continue;
            };
            let name = String::from_utf8_lossy(&line[tab + 1..]).into_owned();
            let id = self.intern(name);
            self.listed.insert(pid, id);
        }
        self.generation += 1;
    }

    /// The user of a process.
    pub fn of(&mut self, facts: Facts) -> UserId {
        if facts.kernel_thread {
            return KERNEL;
        }
        if facts.pid == self.own_pid || Some(facts.pid) == self.companion {
            return SATLINE;
        }
        if let UserDefinition::Emulated(_) = self.definition {
            let listed = self
                .listed
                .get(&facts.pid)
                .or_else(|| self.listed.get(&facts.session));
            return listed
                .copied()
                .or(facts.parent.filter(|&p| p != KERNEL))
                .unwrap_or(HOST);
        }
        if facts.parent == Some(SATLINE) {
            return SATLINE;
        }
        let name = match &self.definition {
            UserDefinition::Uid => self.uid_name(facts),
            UserDefinition::Session => self
                .session(facts.pid)
                .map(|(name, number)| format!("{name}#{number}")),
            UserDefinition::Terminal => match self.terminal(facts.pid) {
                Some(Some(name)) => Some(name),
                Some(None) => return HOST,
                None => None,
            },
            UserDefinition::Rules(rules) => match rules.clone().verdict(&mut Asked::new(self, facts)) {
                Verdict::User(name) => Some(name),
                Verdict::Host => return HOST,
                Verdict::Unknown => None,
            },
            _ => self.cgroup_name(facts.pid),
        };
        match name {
            Some(name) => self.intern(name),
            // It ended before it could be asked: then it was most likely what its parent is.
            None => facts.parent.filter(|&p| p != KERNEL).unwrap_or(HOST),
        }
    }

    /// The user of a terminal, such as `pts/3`, whose processes have ended; `None` where users are something else.
    pub fn at_terminal(&mut self, uid: u32, terminal: &str) -> Option<UserId> {
        let named = format!("{}#{terminal}", self.login(uid));
        matches!(self.definition, UserDefinition::Terminal).then(|| self.intern(named))
    }

    fn intern(&mut self, name: String) -> UserId {
        if let Some(&id) = self.by_name.get(&name) {
            return id;
        }
        self.names.push(name.clone());
        self.by_name.insert(name, self.names.len() - 1);
        self.names.len() - 1
    }

    fn uid_name(&self, facts: Facts) -> Option<String> {
        Some(self.login(self.uid(facts)?))
    }

    fn uid(&self, facts: Facts) -> Option<u32> {
        facts
            .uid
            .or_else(|| owner(&self.roots.proc.join(facts.pid.to_string())))
    }

    fn login(&self, uid: u32) -> String {
        self.passwd.get(&uid).cloned().unwrap_or_else(|| uid.to_string())
    }

    /// Login name and number of the audit session.
    fn session(&self, pid: i32) -> Option<(String, u32)> {
        let number = |file: &str| {
            let value = files::read_number(&self.roots.proc.join(pid.to_string()).join(file))?;
            // The kernel writes "none" as the largest 32-bit number.
            u32::try_from(value).ok().filter(|&n| n != u32::MAX)
        };
        let (uid, session) = (number("loginuid")?, number("sessionid")?);
        Some((self.login(uid), session))
    }

    /// The terminal of a process and who leads its session. `None`: it is not there; `Some(None)`: it has no pseudo-terminal.
    fn terminal(&self, pid: i32) -> Option<Option<String>> {
        let stat = files::read(&self.roots.proc.join(pid.to_string()).join("stat"))?;
        let (session, terminal) = terminal_of(&stat)?;
        let Some(terminal) = terminal else {
            return Some(None);
        };
        let uid = owner(&self.roots.proc.join(session.to_string()))
            .or_else(|| owner(&self.roots.proc.join(pid.to_string())))?;
        Some(Some(format!("{}#pts/{terminal}", self.login(uid))))
    }

    fn cgroup_name(&self, pid: i32) -> Option<String> {
        cgroup_user(&files::read(
            &self.roots.proc.join(pid.to_string()).join("cgroup"),
        )?)
    }
}

/// A process that rules are asked about; what it takes to know is read when a rule asks for it.
struct Asked<'a> {
    users: &'a Users,
    facts: Facts,
    directory: PathBuf,
    placement: Option<Placement>,
}

impl<'a> Asked<'a> {
    fn new(users: &'a Users, facts: Facts) -> Self {
        Self {
            users,
            facts,
            directory: users.roots.proc.join(facts.pid.to_string()),
            placement: None,
        }
    }
}

impl rules::Source for Asked<'_> {
    fn uid(&mut self) -> Option<u32> {
        self.users.uid(self.facts)
    }

    fn login(&self, uid: u32) -> String {
        self.users.login(uid)
    }

    fn session(&mut self) -> Option<Option<(String, u32)>> {
        let session = self.users.session(self.facts.pid);
        (session.is_some() || self.directory.is_dir()).then_some(session)
    }

    fn placement(&mut self) -> Option<&Placement> {
        if self.placement.is_none() {
            self.placement = Some(Placement::read(&files::read(&self.directory.join("cgroup"))?));
        }
        self.placement.as_ref()
    }

    fn notebook_variable(&mut self) -> Option<String> {
        let environment = files::read(&self.directory.join("environ"))?;
        let mut variables = environment.split(|&b| b == 0);
        let value = variables.find_map(|variable| variable.strip_prefix(b"JUPYTERHUB_USER="))?;
        (!value.is_empty()).then(|| String::from_utf8_lossy(value).into_owned())
    }

    fn command(&mut self) -> Option<String> {
        let name = files::read(&self.directory.join("comm"))?;
        let name = name.strip_suffix(b"\n").unwrap_or(&name);
        Some(String::from_utf8_lossy(name).into_owned())
    }
}

/// The owner of `/proc/PID`: the effective user of the process. (Files in it may belong to root instead, when the
/// process may not be dumped; the directory never does.)
fn owner(path: &Path) -> Option<u32> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: the path ends in a zero byte and stat is plain data that the call fills.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        (libc::stat(path.as_ptr(), &mut stat) == 0).then_some(stat.st_uid)
    }
}

/// Session of a process, and the number of its pseudo-terminal, in `/proc/PID/stat`.
fn terminal_of(stat: &[u8]) -> Option<(u64, Option<u64>)> {
    // Device numbers of the users' ends.
    const FIRST_MAJOR: u64 = 136;
    let behind = stat.iter().rposition(|&byte| byte == b')')? + 1;
    let mut fields = parse::fields(&stat[behind..]);
    let session = parse::unsigned(fields.nth(3)?)?;
    let device = parse::unsigned(fields.next()?)?;
    let (major, minor) = (
        (device >> 8) & 0xfff,
        (device & 0xff) | ((device >> 12) & 0xf_ff00),
    );
    Some((session, (major == FIRST_MAJOR).then_some(minor)))
}

fn passwd_names(text: &[u8]) -> HashMap<u32, String> {
    let mut names = HashMap::new();
    for line in parse::lines(text) {
        let mut fields = line.split(|&b| b == b':');
        let (Some(name), Some(uid)) = (fields.next(), fields.nth(1)) else {
            continue;
        };
        let Some(uid) = parse::unsigned(uid).and_then(|n| u32::try_from(n).ok()) else {
            continue;
        };
        // The first entry of a uid names it, as the C library has it.
        names
            .entry(uid)
            .or_insert_with(|| String::from_utf8_lossy(name).into_owned());
    }
    names
}

/// The user in `/proc/PID/cgroup`; `None` in root groups only.
fn cgroup_user(text: &[u8]) -> Option<String> {
    let mut best: Option<(u8, String)> = None;
    for (rank, path) in ranked_paths(text) {
        let path = path.trim_matches('/');
        if !path.is_empty() && best.as_ref().is_none_or(|(r, _)| rank < *r) {
            best = Some((rank, group_name(path)));
        }
    }
    Some(best?.1)
}

fn group_name(path: &str) -> String {
    let is_numbered = |part: &str, prefix: &str, suffix: &str| {
        let number = part.strip_prefix(prefix).and_then(|p| p.strip_suffix(suffix));
        number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    let named = |wanted: &dyn Fn(&str) -> bool| path.split('/').find(|part| wanted(part)).map(str::to_owned);
    named(&|part| is_numbered(part, "user-", ".slice"))
        .or_else(|| named(&|part| is_numbered(part, "job_", "")))
        .or_else(|| named(&|part| part.ends_with(".service") || part.ends_with(".scope")))
        .unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
#[path = "users_tests.rs"]
mod tests;
