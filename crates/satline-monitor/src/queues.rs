//! Requests that wait unread in front of the busiest processes.
//!
//! A server that is full shows in its sockets: connections that it has not accepted, and data that it has not read. Each connection
//! with unread data counts as one request, since more than one of a client at a time is rare and cannot be told. Looked at
//! are the sockets of the few processes with the busiest threads: TCP in the network namespace of the process, UNIX sockets in
//! that of the monitor (`/proc/net/unix` has no queue lengths; the kernel's socket diagnosis has).
//!
//! Going through all sockets of a busy host is dear: the next look waits two hundred times as long as the last took, so
//! that it costs half a percent of a processor at most. Between looks, nothing is told.

use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::files;
use crate::netlink::{self, Socket};
use crate::parse;

/// So many processes are looked at.
pub const PROCESSES: usize = 4;
/// A process with more descriptors is not looked at.
const DESCRIPTORS: usize = 4096;
const SPARING: i64 = 200;

const LISTEN_TCP: &[u8] = b"0A";
const LISTEN: u8 = 10;

/// What waits at a socket, by inode; sockets at which nothing waits are left out.
type Waiting = HashMap<u64, i64>;

/// Looks at queues.
#[derive(Debug)]
pub struct Queues {
    proc: PathBuf,
    unix: Option<Socket>,
    due_ns: i64,
}

impl Queues {
    /// Of the host whose processes are in `proc`; UNIX sockets only if that is this kernel's.
    pub fn new(proc: &Path) -> Self {
        let unix = (proc == Path::new("/proc")).then(|| Socket::open_diagnosis(1 << 20).ok());
        Self {
            proc: proc.to_owned(),
            unix: unix.flatten(),
            due_ns: i64::MIN,
        }
    }

    /// Whether it is time for a look.
    pub fn is_due(&self, now_ns: i64) -> bool {
        now_ns >= self.due_ns
    }

    /// Says when the next look is due, after one that took so much processor time.
    pub fn looked(&mut self, now_ns: i64, cost_us: i64) {
        self.due_ns = now_ns.saturating_add(cost_us.saturating_mul(1000).saturating_mul(SPARING));
    }

    /// Requests that wait in front of each process that has sockets which can be seen.
    pub fn waiting(&mut self, pids: &[i32]) -> HashMap<i32, i64> {
        let mut found = HashMap::new();
        let mut tcp: HashMap<PathBuf, Waiting> = HashMap::new();
        let mut unix: Option<Waiting> = None;
        for &pid in pids {
            let Some(sockets) = self.sockets(pid).filter(|sockets| !sockets.is_empty()) else {
                continue;
            };
            let process = self.proc.join(pid.to_string());
            let namespace = std::fs::read_link(process.join("ns/net")).unwrap_or_default();
            let tcp = tcp.entry(namespace).or_insert_with(|| {
                let mut waiting = Waiting::new();
                for name in ["net/tcp", "net/tcp6"] {
                    tcp_waiting(
                        &files::read(&process.join(name)).unwrap_or_default(),
                        &mut waiting,
                    );
                }
                waiting
            });
            let unix = unix.get_or_insert_with(|| unix_waiting(self.unix.as_ref()));
            let at = |inode| tcp.get(inode).or_else(|| unix.get(inode)).copied().unwrap_or(0);
            let sum = sockets.iter().map(at).fold(0i64, i64::saturating_add);
            found.insert(pid, sum);
        }
        found
    }

    /// The inodes of a process' sockets; `None` if they cannot be seen, or are too many.
    fn sockets(&self, pid: i32) -> Option<HashSet<u64>> {
        let directory = self.proc.join(pid.to_string()).join("fd");
        let mut sockets = HashSet::new();
        for (number, entry) in std::fs::read_dir(directory).ok()?.flatten().enumerate() {
            if number == DESCRIPTORS {
                return None;
            }
            let Ok(target) = std::fs::read_link(entry.path()) else {
                continue;
            };
            let inode = target.as_os_str().as_bytes().strip_prefix(b"socket:[");
            let inode = inode.and_then(|rest| parse::unsigned(rest.strip_suffix(b"]")?));
            sockets.extend(inode);
        }
        Some(sockets)
    }
}

/// Reads `/proc/net/tcp`: behind the addresses the state, `tx:rx` in hexadecimal (of a listening socket, rx is the number
/// of connections that are not accepted), timer, retransmissions, uid, timeout and inode.
fn tcp_waiting(text: &[u8], waiting: &mut Waiting) {
    for line in parse::lines(text).skip(1) {
        let mut fields = parse::fields(line).skip(3);
        let (Some(state), Some(queues)) = (fields.next(), fields.next()) else {
            continue;
        };
        let unread = queues
            .iter()
            .position(|&b| b == b':')
            .and_then(|at| hexadecimal(&queues[at + 1..]));
        let Some(unread) = unread.filter(|&unread| unread > 0) else {
            continue;
        };
        // A connection that nobody has accepted has inode 0, and counts with its listening socket.
        if let Some(inode) = fields.nth(4).and_then(parse::unsigned).filter(|&inode| inode > 0) {
            waiting.insert(inode, if state == LISTEN_TCP { unread } else { 1 });
        }
    }
}

fn hexadecimal(text: &[u8]) -> Option<i64> {
    i64::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok()
}

fn unix_waiting(socket: Option<&Socket>) -> Waiting {
    let mut waiting = Waiting::new();
    let Some(socket) = socket else { return waiting };
    if socket.ask_unix_queues().is_err() {
        return waiting;
    }
    let mut buffer = vec![0; 1 << 16];
    while let Ok(Some(datagram)) = socket.receive(&mut buffer, true) {
        if !unix_in(datagram, &mut waiting) {
            break;
        }
    }
    waiting
}

/// Takes the sockets of one datagram; whether more are to come.
///
/// A message is: family, type, state (u8 each), one byte of nothing, inode (u32), cookie (two u32); attribute 4 is the length of the
/// queue, of a listening socket the number of connections that are not accepted, and the bound of what can be sent.
fn unix_in(datagram: &[u8], waiting: &mut Waiting) -> bool {
    const QUEUE: u16 = 4;
    for message in netlink::plain_messages(datagram) {
        let Some(payload) = message else { return false };
        let (Some(&state), Some(inode)) = (payload.get(2), payload.get(4..8)) else {
            continue;
        };
        let inode = inode.try_into().map_or(0, u32::from_ne_bytes);
        let queue =
            netlink::attributes(payload.get(16..).unwrap_or_default()).find(|(kind, _)| *kind == QUEUE);
        let unread = queue.and_then(|(_, body)| Some(u32::from_ne_bytes(body.get(..4)?.try_into().ok()?)));
        if let Some(unread) = unread.filter(|&unread| unread > 0 && inode > 0) {
            waiting.insert(
                u64::from(inode),
                if state == LISTEN { i64::from(unread) } else { 1 },
            );
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
        0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 100 1 0\n\
        1: 0100007F:1F90 0100007F:A000 01 00000000:0000012C 00:00000000 00000000     0        0 101 1 0\n\
        2: 0100007F:1F90 0100007F:A001 01 00000009:00000000 00:00000000 00000000     0        0 102 1 0\n\
        3: 0100007F:1F90 0100007F:A002 01 00000000:00000007 00:00000000 00000000     0        0 0 1 0\n\
        4: 0100007F:1F91 0100007F:A003 01 00000000:00000007 00:00000000 00000000     0        0 200 1 0\n\
        5: bad\n";

    fn process(root: &Path, pid: i32, sockets: &[u64], tcp: &str) {
        let process = root.join(pid.to_string());
        std::fs::create_dir_all(process.join("fd")).unwrap();
        std::fs::create_dir_all(process.join("net")).unwrap();
        std::fs::create_dir_all(process.join("ns")).unwrap();
        symlink(format!("net:[{pid}]"), process.join("ns/net")).unwrap();
        symlink("/dev/null", process.join("fd/0")).unwrap();
        for (number, inode) in sockets.iter().enumerate() {
            symlink(
                format!("socket:[{inode}]"),
                process.join(format!("fd/{}", number + 1)),
            )
            .unwrap();
        }
        std::fs::write(process.join("net/tcp"), tcp).unwrap();
    }

    #[test]
    fn connections_not_accepted_and_those_with_unread_data_wait() {
        let root = tempfile::tempdir().unwrap();
        process(root.path(), 70, &[100, 101, 102, 103], TCP);
        process(root.path(), 71, &[], TCP);
        // Another namespace: the same inode is another socket there.
        process(root.path(), 72, &[101], "header\n");
        let found = Queues::new(root.path()).waiting(&[70, 71, 72, 73]);
        assert_eq!(found, HashMap::from([(70, 4), (72, 0)]));
    }

    #[test]
    fn a_look_that_cost_much_is_not_made_again_soon() {
        let mut queues = Queues::new(Path::new("/nonexistent"));
        assert!(queues.is_due(0));
        queues.looked(0, 5_000);
        assert!(!queues.is_due(999_999_999) && queues.is_due(1_000_000_000));
    }

    #[test]
    fn queues_of_unix_sockets_of_this_kernel() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let mut first = std::os::unix::net::UnixStream::connect(&path).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        first.write_all(b"a request").unwrap();
        let _more = [(); 2].map(|()| std::os::unix::net::UnixStream::connect(&path).unwrap());
        let inode = |descriptor: i32| {
            let link = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).unwrap();
            let text = link.to_string_lossy().into_owned();
            text.trim_matches(|c: char| !c.is_ascii_digit())
                .parse::<u64>()
                .unwrap()
        };
        use std::os::fd::AsRawFd;
        let Ok(socket) = Socket::open_diagnosis(1 << 20) else {
            return eprintln!("skipped: no socket diagnosis here");
        };
        let waiting = unix_waiting(Some(&socket));
        if waiting.is_empty() {
            return eprintln!("skipped: this kernel has no diagnosis of UNIX sockets");
        }
        assert_eq!(waiting.get(&inode(listener.as_raw_fd())), Some(&2));
        assert_eq!(waiting.get(&inode(accepted.as_raw_fd())), Some(&1));
        assert_eq!(waiting.get(&inode(first.as_raw_fd())), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut waiting = Waiting::new();
            tcp_waiting(&bytes, &mut waiting);
            unix_in(&bytes, &mut waiting);
        }
    }
}
