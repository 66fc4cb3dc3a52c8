//! Taskstats: the account that the kernel gives of a task, on demand and when it ends.
//!
//! * Every task (thread) that ends gives one message, on whatever processor it ends, to everyone who has
//!   registered for that processor: its own totals, and, with the last thread of a process that had several,
//!   the delays of all of them together. Needs CAP_NET_ADMIN and the initial namespaces.
//! * Processor time (`cpu_run_virtual_total`) and run delay (`cpu_delay_total`) come from the scheduler and are the
//!   very numbers of `/proc/PID/schedstat`. The other delays are only filled for tasks that began while
//!   `kernel.task_delayacct` was 1: a task that is older says 0, which cannot be told from "has not waited".
//!
//! Where the wait for a page shows, measured on 6.18.44 with a storage limit of 64 MiB and a swap file
//! (docs/reference/linux-signals.md has the figures): the wait for a swapped-out page to be read, long evicted or
//! not, is in `blkio_delay_total`, like that for a page of a file. `swapin_delay_total` holds only the handing-in of the read
//! (0.4 % of the wait on a slow device), `thrashing_delay_total` stayed 0 even while the working set was swept through
//! storage, and `freepages_delay_total` is time *in* reclaim, most of it spent on a processor. So on such a kernel the
//! two cannot be told apart by delays: major faults, swap-ins and the swap device's reads must help.
//!
//! The structure was meant to grow at its end only, but versions 15 and 16 are also known with new fields put in between. On
//! 6.18.44, version 16, they stand at the end. So the layout is not taken from the version: the monitor asks for its own
//! account once and sees where its own process number stands.

use std::io;

use satline_program::parse;

use crate::netlink::{self, Socket};

const COMMAND_GET: u8 = 1;
const REQUEST_PID: u16 = 1;
const REQUEST_TGID: u16 = 2;
const REQUEST_REGISTER: u16 = 3;
const TYPE_STATS: u16 = 3;
const TYPE_AGGREGATE_PID: u16 = 4;
const TYPE_AGGREGATE_TGID: u16 = 5;

/// Room for about 20,000 ends between two readings.
const RECEIVE_BYTES: i32 = 32 << 20;

/// What the monitor takes from one account. Times in ns; processor times of the older kind in µs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    pub pid: i32,
    /// Process of the task; `None` before kernel 5.17.
    pub tgid: Option<i32>,
    pub parent: i32,
    pub uid: u32,
    /// How long the task has lived.
    pub elapsed_us: u64,
    pub cpu_ns: u64,
    pub user_us: u64,
    pub system_us: u64,
    pub run_delay_ns: u64,
    pub block_delay_ns: u64,
    pub swap_in_delay_ns: u64,
    pub thrashing_delay_ns: u64,
    pub reclaim_delay_ns: u64,
    pub compact_delay_ns: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
}

impl Account {
    /// Waits for block I/O: swapped-out pages are among it where the kernel reads them asynchronously.
    pub fn io_delay_ns(&self) -> u64 {
        self.block_delay_ns
    }

    /// Delays of swap-in, refaulting pages, reclaim and compaction, as far as they are not in the other.
    pub fn page_delay_ns(&self) -> u64 {
        [
            self.swap_in_delay_ns,
            self.thrashing_delay_ns,
            self.reclaim_delay_ns,
            self.compact_delay_ns,
        ]
        .iter()
        .fold(0, |sum, ns| sum.saturating_add(*ns))
    }

    /// Supervisor-state time: `cpu_ns` divided as the sampled ticks are, which is how `/proc/PID/stat` does it.
    pub fn system_ns(&self) -> u64 {
        let ticks = u128::from(self.user_us) + u128::from(self.system_us);
        let part = (u128::from(self.cpu_ns) * u128::from(self.system_us))
            .checked_div(ticks)
            .unwrap_or(0);
        u64::try_from(part).unwrap_or(u64::MAX)
    }
}

/// How many bytes the fields behind each delay are moved by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Plain,
    /// 8 or 16 bytes more behind each delay total.
    Interleaved(usize),
}

impl Layout {
    /// The offset of a field that has `delays` delays before it.
    fn offset(self, plain: usize, delays: usize) -> usize {
        match self {
            Layout::Plain => plain,
            Layout::Interleaved(step) => plain + step * delays,
        }
    }

    fn account(self, stats: &[u8]) -> Option<Account> {
        let word = |plain, delays| parse::word(stats, self.offset(plain, delays));
        let half = |plain, delays| parse::half(stats, self.offset(plain, delays));
        Some(Account {
            pid: half(128, 3)?.try_into().ok()?,
            tgid: half(368, 6).and_then(|tgid| tgid.try_into().ok()),
            parent: half(132, 3)?.try_into().ok()?,
            uid: half(120, 3)?,
            elapsed_us: word(144, 3)?,
            cpu_ns: word(72, 3)?,
            user_us: word(152, 3)?,
            system_us: word(160, 3)?,
            run_delay_ns: word(24, 0)?,
            block_delay_ns: word(40, 1)?,
            swap_in_delay_ns: word(56, 2)?,
            thrashing_delay_ns: word(336, 4).unwrap_or(0),
            reclaim_delay_ns: word(320, 3).unwrap_or(0),
            compact_delay_ns: word(360, 5).unwrap_or(0),
            minor_faults: word(168, 3)?,
            major_faults: word(176, 3)?,
            read_bytes: word(248, 3)?,
            write_bytes: word(256, 3)?,
        })
    }
}

/// A task that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    pub task: Account,
    /// Delays of all tasks of the process, with the last of several.
    pub process: Option<Account>,
}

/// The taskstats interface of the kernel.
#[derive(Debug)]
pub struct TaskStats {
    queries: Socket,
    exits: Option<Socket>,
    family: u16,
    layout: Layout,
    drops_seen: u64,
    buffer: Vec<u8>,
}

impl TaskStats {
    /// Opens the interface for queries.
    ///
    /// # Errors
    /// Not there, not allowed, or a structure that this program cannot read.
    pub fn open() -> io::Result<Self> {
        let queries = Socket::open(1 << 16)?;
        let family = queries.family("TASKSTATS")?;
        let buffer = vec![0; 1 << 16];
        let mut stats = Self {
            queries,
            exits: None,
            family,
            layout: Layout::Plain,
            drops_seen: 0,
            buffer,
        };
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        for layout in [Layout::Plain, Layout::Interleaved(8), Layout::Interleaved(16)] {
            stats.layout = layout;
            if stats
                .query(REQUEST_PID, own)?
                .is_some_and(|account| account.pid == own)
            {
                return Ok(stats);
            }
        }
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the kernel's struct taskstats has an unknown layout",
        ))
    }

    /// Registers for the ends of tasks on the processors given in the kernel's list form (`0-7,9`).
    pub fn listen(&mut self, processors: &str) -> io::Result<()> {
        let socket = Socket::open(RECEIVE_BYTES)?;
        let mut list = processors.trim().as_bytes().to_vec();
        list.push(0);
        socket.send(self.family, COMMAND_GET, REQUEST_REGISTER, &list)?;
        // Registering is not answered when it succeeds.
        if let Some(answer) = socket.receive(&mut self.buffer, false)? {
            for message in netlink::messages(answer) {
                message?;
            }
        }
        self.exits = Some(socket);
        Ok(())
    }

    /// The delays of a whole process: ended threads are included from when the second of them began.
    pub fn process(&mut self, pid: i32) -> Option<Account> {
        self.query(REQUEST_TGID, pid).ok().flatten()
    }

    fn query(&mut self, kind: u16, pid: i32) -> io::Result<Option<Account>> {
        self.queries
            .send(self.family, COMMAND_GET, kind, &pid.to_ne_bytes())?;
        let Some(answer) = self.queries.receive(&mut self.buffer, true)? else {
            return Ok(None);
        };
        let Some(message) = netlink::messages(answer).next() else {
            return Ok(None);
        };
        let layout = self.layout;
        Ok(netlink::attributes(message?).find_map(|(_, aggregate)| account_in(layout, aggregate)))
    }

    /// Calls `each` for every task that has ended since the last call; returns how many the kernel has dropped
    /// meanwhile.
    pub fn drain(&mut self, mut each: impl FnMut(Exit)) -> u64 {
        let Some(socket) = &self.exits else { return 0 };
        let mut overflown = false;
        loop {
            match socket.receive(&mut self.buffer, false) {
                Ok(None) => break,
                Ok(Some(datagram)) => {
                    netlink::messages(datagram)
                        .flatten()
                        .filter_map(|p| exit_in(self.layout, p))
                        .for_each(&mut each);
                }
                // The kernel says once that it has dropped something, then goes on.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => overflown = true,
                Err(_) => break,
            }
        }
        if !overflown {
            return 0;
        }
        let drops = socket.drops().unwrap_or(self.drops_seen + 1);
        let new = drops.saturating_sub(self.drops_seen).max(1);
        self.drops_seen = drops;
        new
    }
}

fn account_in(layout: Layout, aggregate: &[u8]) -> Option<Account> {
    let stats = netlink::attributes(aggregate)
        .find(|(kind, _)| *kind == TYPE_STATS)?
        .1;
    layout.account(stats)
}

fn exit_in(layout: Layout, payload: &[u8]) -> Option<Exit> {
    let aggregate = |kind| {
        let found = netlink::attributes(payload).find(|(k, _)| *k == kind)?;
        account_in(layout, found.1)
    };
    Some(Exit {
        task: aggregate(TYPE_AGGREGATE_PID)?,
        process: aggregate(TYPE_AGGREGATE_TGID),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn own_account_is_this_process() {
        let mut stats = match TaskStats::open() {
            Ok(stats) => stats,
            Err(error) => return eprintln!("skipped: taskstats cannot be used here: {error}"),
        };
        let pid = i32::try_from(std::process::id()).unwrap();
        // SAFETY: no arguments. Each test runs on a thread of its own, and the account is a thread's.
        let tid = unsafe { libc::gettid() };
        let before = stats.query(REQUEST_PID, tid).unwrap().unwrap();
        // All are kept, so that no allocation can reuse pages that are here already.
        let fresh: Vec<Vec<u8>> = (0..32).map(|n| vec![n + 1; 1 << 20]).collect();
        assert!(std::hint::black_box(&fresh).iter().all(|block| block[4096] > 0));
        let after = stats.query(REQUEST_PID, tid).unwrap().unwrap();
        assert!(after.minor_faults >= before.minor_faults + 8);
        assert_eq!(after.tgid.unwrap_or(pid), pid);
        assert!(after.major_faults >= before.major_faults && after.write_bytes >= before.write_bytes);
    }

    #[test]
    fn the_end_of_a_child_is_told_with_its_processor_time() {
        let mut stats = match TaskStats::open() {
            Ok(stats) => stats,
            Err(error) => return eprintln!("skipped: taskstats cannot be used here: {error}"),
        };
        let possible = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap();
        stats.listen(&possible).unwrap();
        // A task that ends at once may have no processor time in its account.
        let burn = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let mut child = std::process::Command::new("sh")
            .args(["-c", burn])
            .spawn()
            .unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        child.wait().unwrap();
        let mut found = None;
        assert_eq!(
            stats.drain(|exit| found = found.or((exit.task.pid == pid).then_some(exit))),
            0
        );
        let task = found.expect("the child's end was told").task;
        assert_eq!(task.parent, i32::try_from(std::process::id()).unwrap());
        assert!(task.cpu_ns > 0 && task.minor_faults > 0, "{task:?}");
        assert!(task.elapsed_us * 1000 >= task.cpu_ns, "{task:?}");
        assert!(task.elapsed_us < 600_000_000, "{task:?}");
    }

    #[test]
    fn supervisor_time_is_shared_as_ticks_are() {
        let account = Account {
            cpu_ns: 900,
            user_us: 2,
            system_us: 1,
            ..Account::default()
        };
        assert_eq!(account.system_ns(), 300);
        assert_eq!(
            Account {
                cpu_ns: 900,
                ..Account::default()
            }
            .system_ns(),
            0
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..700), step in 0usize..3) {
            let layout = [Layout::Plain, Layout::Interleaved(8), Layout::Interleaved(16)][step];
            let _ = (exit_in(layout, &bytes), layout.account(&bytes));
        }
    }
}
