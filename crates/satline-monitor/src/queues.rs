//! Requests that wait unread in front of the busiest processes.
//!
//! A server that is full shows in its sockets: connections that it has not accepted, and data that it has not read. Each connection
//! with unread data counts as one request, since more than one of a client at a time is rare and cannot be told. Looked at
//! are the sockets of the few processes with the busiest threads: TCP and UNIX sockets by the kernel's socket diagnosis, in the
//! network namespace of the monitor. A process in another namespace has its TCP sockets read from `/proc/PID/net/tcp`, which takes
//! seventeen times as long (3.4 ms, on a host of 24 GiB with few connections) and does not have UNIX sockets' queues.
//!
//! Going through all sockets of a busy host is dear: the next look waits two hundred times as long as the last took, so
//! that it costs half a percent of a processor at most. Between looks, nothing is told.

use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use satline_program::parse;

use crate::files;
use crate::netlink::{self, Part, Socket};

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
    diagnosis: Option<Socket>,
    due_ns: i64,
}

impl Queues {
    /// Of the host whose processes are in `proc`; socket diagnosis only if that is this kernel's.
    pub fn new(proc: &Path) -> Self {
        let diagnosis = (proc == Path::new("/proc")).then(|| Socket::open_diagnosis(1 << 20).ok());
        Self {
            proc: proc.to_owned(),
            diagnosis: diagnosis.flatten(),
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
        // By namespace, each once.
        let mut known: HashMap<PathBuf, Waiting> = HashMap::new();
        let own = std::fs::read_link(self.proc.join("self/ns/net")).ok();
        for &pid in pids {
            let Some(sockets) = self.sockets(pid).filter(|sockets| !sockets.is_empty()) else {
                continue;
            };
            let process = self.proc.join(pid.to_string());
            let namespace = std::fs::read_link(process.join("ns/net")).unwrap_or_default();
            let is_own = own.as_ref() == Some(&namespace);
            let waiting = known.entry(namespace).or_insert_with(|| {
                let diagnosed = self.diagnosis.as_ref().filter(|_| is_own).and_then(diagnosed);
                diagnosed.unwrap_or_else(|| listed(&process))
            });
            let at = |inode| waiting.get(inode).copied().unwrap_or(0);
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

/// What `/proc/PID/net` lists.
fn listed(process: &Path) -> Waiting {
    let mut waiting = Waiting::new();
    for name in ["net/tcp", "net/tcp6"] {
        tcp_waiting(
            &files::read(&process.join(name)).unwrap_or_default(),
            &mut waiting,
        );
    }
    waiting
}

/// What socket diagnosis tells; `None` if this kernel has none of TCP.
fn diagnosed(socket: &Socket) -> Option<Waiting> {
    let mut waiting = Waiting::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        // Family, protocol, nothing more to be told, established, half closed and listening ones, whatever their addresses.
        let mut body = vec![family as u8, libc::IPPROTO_TCP as u8, 0, 0];
        body.extend((1u32 << 1 | 1 << 8 | 1 << LISTEN).to_ne_bytes());
        body.resize(56, 0);
        ask(socket, &body, |part| tcp_in(part, &mut waiting))?;
    }
    const SHOW_QUEUE_LENGTHS: u32 = 0x10;
    let mut body = vec![libc::AF_UNIX as u8, 0, 0, 0];
    // All states, any inode, that and nothing else, no cookie.
    for word in [u32::MAX, 0, SHOW_QUEUE_LENGTHS, u32::MAX, u32::MAX] {
        body.extend(word.to_ne_bytes());
    }
    // A kernel may have one kind of diagnosis and not the other.
    let _ = ask(socket, &body, |part| unix_in(part, &mut waiting));
    Some(waiting)
}

/// Sends a request and takes the answer to its end; `None` where it is an error.
fn ask(socket: &Socket, body: &[u8], mut each: impl FnMut(&[u8])) -> Option<()> {
    socket.ask_for_sockets(body).ok()?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let datagram = socket.receive(&mut buffer, true).ok()??;
        let mut is_empty = true;
        for part in netlink::parts(datagram) {
            is_empty = false;
            match part {
                Part::Body(body) => each(body),
                Part::End => return Some(()),
                Part::Error => return None,
            }
        }
        if is_empty {
            return None;
        }
    }
}

fn add(waiting: &mut Waiting, state: u8, inode: u32, unread: u32) {
    if unread > 0 && inode > 0 {
        waiting.insert(
            u64::from(inode),
            if state == LISTEN { i64::from(unread) } else { 1 },
        );
    }
}

/// A TCP socket: family, state, timer, retransmissions (u8 each), addresses (48 bytes), then, u32 each, when the timer ends, queue to
/// be read (of a listening socket, connections that are not accepted), queue to be sent, uid, inode.
fn tcp_in(part: &[u8], waiting: &mut Waiting) {
    if let (Some(&state), Some(unread), Some(inode)) =
        (part.get(1), parse::half(part, 56), parse::half(part, 68))
    {
        add(waiting, state, inode, unread);
    }
}

/// A UNIX socket: family, type, state (u8 each), one byte of nothing, inode (u32), cookie (two u32); attribute 4 has the queue to be
/// read and the one to be sent, as above.
fn unix_in(part: &[u8], waiting: &mut Waiting) {
    const QUEUES: u16 = 4;
    let queues = netlink::attributes(part.get(16..).unwrap_or_default()).find(|(kind, _)| *kind == QUEUES);
    let unread = queues.and_then(|(_, body)| parse::half(body, 0));
    if let (Some(&state), Some(unread), Some(inode)) = (part.get(2), unread, parse::half(part, 4)) {
        add(waiting, state, inode, unread);
    }
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

    fn inode(socket: &impl std::os::fd::AsRawFd) -> u64 {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        let text = link.to_string_lossy().into_owned();
        text.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
    }

    #[test]
    fn queues_of_sockets_of_this_kernel() {
        let Some(socket) = Socket::open_diagnosis(1 << 20).ok() else {
            return eprintln!("skipped: no socket diagnosis here");
        };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let mut client = std::os::unix::net::UnixStream::connect(&path).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        client.write_all(b"a request").unwrap();
        let _more = [(); 2].map(|()| std::os::unix::net::UnixStream::connect(&path).unwrap());

        let tcp_listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = tcp_listener.local_addr().unwrap();
        let mut tcp_client = std::net::TcpStream::connect(address).unwrap();
        let (tcp_accepted, _) = tcp_listener.accept().unwrap();
        tcp_client.write_all(b"a request").unwrap();
        let _tcp_more = [(); 3].map(|()| std::net::TcpStream::connect(address).unwrap());
        // Over the loopback, what was written is there to be read.
        tcp_accepted.peek(&mut [0; 9]).unwrap();

        let Some(waiting) = diagnosed(&socket) else {
            return eprintln!("skipped: this kernel has no diagnosis of TCP sockets");
        };
        let at = |inode| waiting.get(&inode).copied();
        let tcp = [inode(&tcp_listener), inode(&tcp_accepted), inode(&tcp_client)].map(at);
        assert_eq!(tcp, [Some(3), Some(1), None]);
        assert_eq!(
            listed(Path::new("/proc/self")).get(&inode(&tcp_listener)),
            Some(&3)
        );
        let unix = [inode(&listener), inode(&accepted), inode(&client)].map(at);
        assert!(unix == [Some(2), Some(1), None] || unix == [None; 3], "{unix:?}");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut waiting = Waiting::new();
            tcp_waiting(&bytes, &mut waiting);
            unix_in(&bytes, &mut waiting);
            tcp_in(&bytes, &mut waiting);
        }
    }
}
