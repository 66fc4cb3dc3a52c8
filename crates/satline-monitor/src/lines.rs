//! Lines that users entered at terminals → rows of table `transaction`.
//!
//! A line that is handed on to another terminal of this host (by `script`, `sudo`, `ssh localhost`, a container's client) is told there by
//! whoever answers it, and is left out here, so that it counts once. Who hands on is known by what it holds open: the other end of a
//! terminal, or a connection.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use satline_program::parse;
use satline_recording::row;

use crate::ebpf::terminals::{Line, Terminals};
use crate::files;

row! {
    /// One row of table `transaction`. Times are those of CLOCK_MONOTONIC.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Transaction {
        pub terminal: String,
        pub class: String,
        pub outcome: &'static str,
        pub think_us: Option<i64>,
        pub typing_us: Option<i64>,
        pub reaction_us: Option<i64>,
        pub response_us: Option<i64>,
        pub typed_ahead: i64,
        /// The line may have ended so much earlier or later.
        pub uncertain_us: i64,
        ;
        pub line_ns: u64,
        pub reader: i32,
        pub leader: i32,
        /// Effective user of the reader, where one was seen.
        pub uid: Option<u32>,
    }
}

/// Who reads a terminal through which bytes go as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relay {
    /// A full-screen program.
    No,
    /// It hands on to another terminal of this host.
    Nested,
    /// It hands on to another host.
    Remote,
}

fn microseconds(from: Option<u64>, to: Option<u64>) -> Option<i64> {
    i64::try_from(to?.checked_sub(from?)? / 1000).ok()
}

/// The row of a line; `None` where it is told elsewhere.
pub fn transaction(line: &Line, relay: Relay) -> Option<Transaction> {
    if relay == Relay::Nested {
        return None;
    }
    let remote = relay == Relay::Remote;
    // A remote program's wait for input cannot be seen: what it showed last before the next key is its prompt.
    let end_ns = if remote { line.last_ns } else { line.asleep_ns };
    let class = match (remote, line.name.is_empty(), line.command, line.shell) {
        (_, false, ..) => String::from_utf8_lossy(&line.name).into_owned(),
        (true, ..) => "remote".into(),
        (_, _, true, _) => "command".into(),
        (_, _, _, true) => "shell".into(),
        _ => "program".into(),
    };
    let outcome = match end_ns {
        None => "cut",
        Some(_) if line.interrupted => "interrupted",
        Some(_) => "ok",
    };
    Some(Transaction {
        line_ns: line.line_ns,
        reader: line.reader,
        leader: line.leader,
        uid: (line.reader != 0).then_some(line.uid),
        terminal: format!("pts/{}", line.terminal),
        class,
        outcome,
        think_us: microseconds(line.before_ns, line.key_ns),
        typing_us: microseconds(line.key_ns, Some(line.line_ns)),
        reaction_us: microseconds(Some(line.line_ns), line.first_ns),
        response_us: microseconds(Some(line.line_ns), end_ns),
        typed_ahead: i64::from(line.typed_ahead),
        uncertain_us: i64::try_from(line.uncertain_ns / 1000).unwrap_or(i64::MAX),
    })
}

/// Readings of lines, and who hands on.
#[derive(Debug)]
pub struct Lines {
    terminals: Terminals,
    proc: PathBuf,
    relays: BTreeMap<i32, Relay>,
    tidy_due_ns: i64,
}

/// Sessions that are over are looked for this often.
const TIDY_NS: i64 = 10_000_000_000;

impl Lines {
    pub fn new(terminals: Terminals, proc: PathBuf) -> Self {
        Self {
            terminals,
            proc,
            relays: BTreeMap::new(),
            tidy_due_ns: 0,
        }
    }

    /// The lines that have ended since the last reading, and how many were lost. With `all`, at the end of the recording, also those
    /// under way.
    ///
    /// # Errors
    /// The programs cannot be read.
    pub fn read(&mut self, now_ns: i64, all: bool) -> std::io::Result<(Vec<Transaction>, u64)> {
        let mut lines = Vec::new();
        let lost = self.terminals.read(|line| lines.push(line))?;
        if all || now_ns >= self.tidy_due_ns {
            self.tidy_due_ns = now_ns.saturating_add(TIDY_NS);
            self.terminals.forget(&self.proc, all, |line| lines.push(line))?;
            let proc = &self.proc;
            self.relays.retain(|pid, _| proc.join(pid.to_string()).exists());
        }
        let rows = lines.iter().filter_map(|line| self.row(line)).collect();
        Ok((rows, lost))
    }

    /// What its programs have taken while the kernel kept account, ns.
    pub fn run_time_ns(&self) -> u64 {
        self.terminals.run_time_ns()
    }

    fn row(&mut self, line: &Line) -> Option<Transaction> {
        let relay = if !line.raw || line.reader == 0 {
            Relay::No
        } else {
            match self.relays.get(&line.reader) {
                Some(&relay) => relay,
                None => {
                    let relay = relay_of(&self.proc.join(line.reader.to_string()));
                    self.relays.insert(line.reader, relay);
                    relay
                }
            }
        };
        transaction(line, relay)
    }
}

/// Whether a process hands on what it reads, by its directory in `/proc`. One that has ended is taken for one that did so here: the line
/// that ended it, too, was answered elsewhere.
fn relay_of(process: &Path) -> Relay {
    let Ok(descriptors) = std::fs::read_dir(process.join("fd")) else {
        return Relay::Nested;
    };
    let mut sockets = HashSet::new();
    for link in descriptors
        .flatten()
        .filter_map(|fd| std::fs::read_link(fd.path()).ok())
    {
        let name = link.to_string_lossy();
        if name.ends_with("/ptmx") {
            return Relay::Nested;
        }
        let inode = name
            .strip_prefix("socket:[")
            .and_then(|rest| rest.strip_suffix(']'));
        sockets.extend(inode.and_then(|inode| inode.parse::<u64>().ok()));
    }
    if sockets.is_empty() {
        return Relay::No;
    }
    let table = |name: &str| files::read(&process.join("net").join(name)).unwrap_or_default();
    let mut found: HashMap<&str, bool> = HashMap::new();
    for name in ["tcp", "tcp6", "udp", "udp6"] {
        for (inode, is_here) in connections(&table(name)) {
            if sockets.contains(&inode) {
                *found.entry(&name[..3]).or_default() |= !is_here;
            }
        }
    }
    // Without any, it has a socket to a server on this host, as a container's client or a detachable session's has.
    match (found.get("tcp"), found.get("udp")) {
        (Some(true), _) | (None, Some(_)) => Relay::Remote,
        _ => Relay::Nested,
    }
}

/// Of each line of `/proc/PID/net/tcp` and its like: the socket's inode, and whether its other end is on this host. Sockets that listen
/// are left out.
fn connections(table: &[u8]) -> Vec<(u64, bool)> {
    let each = |line: &[u8]| {
        const LISTENS: &[u8] = b"0A";
        let fields: Vec<&[u8]> = parse::fields(line).collect();
        let host = |field: &[u8]| field.split(|&b| b == b':').next().map(<[u8]>::to_vec);
        let (own, other) = (host(fields.get(1)?)?, host(fields.get(2)?)?);
        if *fields.get(3)? == LISTENS {
            return None;
        }
        let inode = parse::unsigned(fields.get(9)?)?;
        Some((inode, own == other || is_loopback(&other)))
    };
    parse::lines(table).skip(1).filter_map(each).collect()
}

/// Of an address as the kernel writes it: hexadecimal words in the order of this processor's bytes.
fn is_loopback(address: &[u8]) -> bool {
    let words: Option<Vec<u32>> = address
        .chunks(8)
        .map(|word| u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok())
        .collect();
    match words.as_deref() {
        Some(&[word]) => Ipv4Addr::from(word.to_ne_bytes()).is_loopback(),
        Some(&[a, b, c, d]) => {
            let mut bytes = [0; 16];
            for (place, word) in bytes.chunks_exact_mut(4).zip([a, b, c, d]) {
                place.copy_from_slice(&word.to_ne_bytes());
            }
            let address = Ipv6Addr::from(bytes);
            address.is_loopback() || address.to_ipv4_mapped().is_some_and(|ip4| ip4.is_loopback())
        }
        _ => false,
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
