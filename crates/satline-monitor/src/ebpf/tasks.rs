//! All tasks by the kernel's task iterator: what `/proc/PID/stat`, `schedstat` and `io` say, at a tenth of the price.
//!
//! `ebpf/task_record.h` writes one record for each thread, and behind that of a process' first thread what the kernel keeps of the whole
//! process. The numbers are those that `/proc` is made from; what `/proc` does with them is done here (times divided as
//! `cputime_adjust` does, states named by letters), so that both sources can take turns.

use std::io;
use std::ops::Range;

use satline_program::clock;
use satline_program::parse::Stat;

use super::object::{Hook, KernelTypes, Loaded, Plan, Refusal, half, load, pid, word};
use super::waits::WaitSums;

/// The iterator.
pub const PLAN: Plan = Plan {
    name: "tasks",
    code: include_bytes!("../../ebpf/tasks.bpf.o"),
    programs: &[("dump_tasks", Hook::Iterator("task"))],
    least_kernel: "5.8",
};

const THREAD_BYTES: usize = 104;
const PROCESS_BYTES: usize = 152;
const KERNEL_THREAD: u32 = 0x0020_0000;

/// Times of a process: in user state, and in the kernel.
pub type Split = (u64, u64);

/// One thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadRecord {
    pub tid: i32,
    pub pid: i32,
    pub state: u8,
    pub start_ns: u64,
    pub exec_ns: u64,
    pub run_delay_ns: u64,
    /// Times as sampled by the tick: they only say how `exec_ns` divides.
    pub sampled: Split,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub name: [u8; 16],
    pub waits: WaitsTold,
}

/// What a pass tells of a thread's waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WaitsTold {
    #[default]
    Nothing,
    /// The wait under way that was told of last goes on, and there was no other.
    GoesOn,
    /// [`Told::sums`], by its place.
    Sums(u32),
}

impl ThreadRecord {
    /// The name without what fills it up.
    pub fn name(&self) -> &[u8] {
        let end = self.name.iter().position(|&byte| byte == 0);
        &self.name[..end.unwrap_or(self.name.len())]
    }
}

/// What the kernel keeps of a whole process: sums over its ended threads, and over children that were waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessRecord {
    pub parent: i32,
    pub session: i32,
    /// The effective user.
    pub uid: u32,
    pub kernel_thread: bool,
    pub ended_exec_ns: u64,
    pub ended_sampled: Split,
    /// What `/proc` has told last: what it tells never falls.
    pub told: Split,
    pub ended_minor_faults: u64,
    pub ended_major_faults: u64,
    pub ended_read_bytes: u64,
    pub ended_write_bytes: u64,
    pub children: Split,
    pub children_minor_faults: u64,
    pub children_major_faults: u64,
    /// Inode of its group in the unified hierarchy.
    pub cgroup: u64,
    pub resident_pages: u64,
}

/// A process and its threads in a pass.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    pub process: &'a ProcessRecord,
    /// The first is the main thread.
    pub threads: &'a [ThreadRecord],
    /// Waits of all threads of the pass that have changed.
    pub waits: &'a [WaitSums],
    /// When the pass began, by CLOCK_MONOTONIC.
    pub began_ns: u64,
}

impl Told<'_> {
    fn sum(&self, of: impl Fn(&ThreadRecord) -> u64) -> u64 {
        self.threads.iter().map(of).fold(0, u64::saturating_add)
    }

    /// Time in user state and in the kernel, ns. `before` is what was told last.
    pub fn times(&self, before: Split) -> Split {
        let ended = self.process.ended_sampled;
        let sampled = (
            ended.0.saturating_add(self.sum(|t| t.sampled.0)),
            ended.1.saturating_add(self.sum(|t| t.sampled.1)),
        );
        let exec_ns = self.process.ended_exec_ns.saturating_add(self.sum(|t| t.exec_ns));
        let told = self.process.told;
        // Whichever of us told more.
        let last = if before.0.saturating_add(before.1) > told.0.saturating_add(told.1) {
            before
        } else {
            told
        };
        divide(exec_ns, sampled, last)
    }

    /// Bytes read from and written to devices.
    pub fn traffic(&self) -> (u64, u64) {
        (
            self.process
                .ended_read_bytes
                .saturating_add(self.sum(|t| t.read_bytes)),
            self.process
                .ended_write_bytes
                .saturating_add(self.sum(|t| t.write_bytes)),
        )
    }

    /// What `/proc/PID/stat` says, for a process whose times are `times`.
    pub fn stat(&self, times: Split, ns_per_tick: u64) -> Stat {
        let process = self.process;
        let ticks = |ns: u64| ns / ns_per_tick.max(1);
        let main = &self.threads[0];
        Stat {
            name: (0, 0),
            state: main.state,
            parent: process.parent,
            session: process.session,
            kernel_thread: process.kernel_thread,
            minor_faults: process
                .ended_minor_faults
                .saturating_add(self.sum(|t| t.minor_faults)),
            major_faults: process
                .ended_major_faults
                .saturating_add(self.sum(|t| t.major_faults)),
            user_ticks: ticks(times.0),
            system_ticks: ticks(times.1),
            children_minor_faults: process.children_minor_faults,
            children_major_faults: process.children_major_faults,
            children_user_ticks: ticks(process.children.0),
            children_system_ticks: ticks(process.children.1),
            threads: u32::try_from(self.threads.len()).unwrap_or(u32::MAX),
            start_ticks: ticks(main.start_ns),
            resident_pages: process.resident_pages,
        }
    }
}

/// Divides the exact time as the sampled times stand to each other, as the kernel does: neither part ever falls.
fn divide(exec_ns: u64, (user, system): Split, last: Split) -> Split {
    if last.0.saturating_add(last.1) >= exec_ns {
        return last;
    }
    let system = if system == 0 {
        0
    } else if user == 0 {
        exec_ns
    } else {
        let part = u128::from(system) * u128::from(exec_ns) / (u128::from(user) + u128::from(system));
        u64::try_from(part).unwrap_or(exec_ns)
    };
    let system = system.max(last.1).min(exec_ns);
    let user = (exec_ns - system).max(last.0);
    (user, exec_ns.saturating_sub(user).max(last.1))
}

/// One pass over all tasks.
#[derive(Debug, Default)]
pub struct Pass {
    threads: Vec<ThreadRecord>,
    processes: Vec<ProcessRecord>,
    /// Of each process in order of its number: its record, its threads.
    groups: Vec<(i32, usize, Range<usize>)>,
    waits: Vec<WaitSums>,
    began_ns: u64,
}

impl Pass {
    /// The processes, in order of their numbers.
    pub fn processes(&self) -> impl Iterator<Item = (i32, Told<'_>)> {
        self.groups.iter().map(|(pid, process, threads)| {
            let told = Told {
                process: &self.processes[*process],
                threads: &self.threads[threads.clone()],
                waits: &self.waits,
                began_ns: self.began_ns,
            };
            (*pid, told)
        })
    }

    /// Takes what the iterator has written, each thread's waits behind its record if `with_waits`; `None` where it is no such thing.
    pub(super) fn take(&mut self, bytes: &[u8], with_waits: bool) -> Option<()> {
        self.waits.clear();
        self.threads.clear();
        self.processes.clear();
        self.groups.clear();
        let mut rest = bytes;
        // Number of a process, and its record.
        let mut found: Vec<(i32, usize)> = Vec::new();
        while !rest.is_empty() {
            let (record, behind) = rest.split_at_checked(THREAD_BYTES)?;
            let mut thread = thread(record)?;
            rest = behind;
            if thread.tid == thread.pid {
                let (record, behind) = rest.split_at_checked(PROCESS_BYTES)?;
                found.push((thread.pid, self.processes.len()));
                self.processes.push(process(record)?);
                rest = behind;
            }
            if with_waits {
                (thread.waits, rest) = self.take_waits(rest)?;
            }
            self.threads.push(thread);
        }
        // Nearly sorted: the kernel goes by the numbers of threads.
        self.threads
            .sort_by_key(|thread| (thread.pid, thread.tid != thread.pid, thread.tid));
        found.sort_unstable();
        let mut start = 0;
        for (pid, record) in found {
            while self.threads.get(start).is_some_and(|thread| thread.pid < pid) {
                // Threads of a process whose first was not seen: it is being replaced by another (exec).
                start += 1;
            }
            let end = start + self.threads[start..].partition_point(|thread| thread.pid == pid);
            self.groups.push((pid, record, start..end));
            start = end;
        }
        Some(())
    }

    fn take_waits<'a>(&mut self, bytes: &'a [u8]) -> Option<(WaitsTold, &'a [u8])> {
        const GOES_ON: u64 = 1;
        const SUMS: u64 = 2;
        let (mark, behind) = bytes.split_at_checked(8)?;
        match word(mark, 0)? {
            0 => Some((WaitsTold::Nothing, behind)),
            GOES_ON => Some((WaitsTold::GoesOn, behind)),
            SUMS => {
                let (record, behind) = behind.split_at_checked(WaitSums::BYTES)?;
                let place = u32::try_from(self.waits.len()).ok()?;
                self.waits.push(WaitSums::of(record)?);
                Some((WaitsTold::Sums(place), behind))
            }
            _ => None,
        }
    }
}

fn thread(record: &[u8]) -> Option<ThreadRecord> {
    Some(ThreadRecord {
        tid: pid(record, 0)?,
        pid: pid(record, 4)?,
        state: letter(half(record, 8)?, half(record, 12)?),
        start_ns: word(record, 16)?,
        exec_ns: word(record, 24)?,
        run_delay_ns: word(record, 32)?,
        sampled: (word(record, 40)?, word(record, 48)?),
        minor_faults: word(record, 56)?,
        major_faults: word(record, 64)?,
        read_bytes: word(record, 72)?,
        write_bytes: word(record, 80)?,
        name: record.get(88..104)?.try_into().ok()?,
        waits: WaitsTold::Nothing,
    })
}

fn process(record: &[u8]) -> Option<ProcessRecord> {
    // Counters by processor are summed up only now and then: for a moment one may be below zero, which /proc tells as zero.
    let pages = |place: usize| {
        Some(
            i64::try_from(word(record, 128 + 8 * place)?)
                .unwrap_or(0)
                .unsigned_abs(),
        )
    };
    Some(ProcessRecord {
        parent: pid(record, 0)?,
        session: pid(record, 4)?,
        uid: half(record, 8)?,
        kernel_thread: half(record, 12)? & KERNEL_THREAD != 0,
        ended_exec_ns: word(record, 16)?,
        ended_sampled: (word(record, 24)?, word(record, 32)?),
        told: (word(record, 40)?, word(record, 48)?),
        ended_minor_faults: word(record, 56)?,
        ended_major_faults: word(record, 64)?,
        ended_read_bytes: word(record, 72)?,
        ended_write_bytes: word(record, 80)?,
        children: (word(record, 88)?, word(record, 96)?),
        children_minor_faults: word(record, 104)?,
        children_major_faults: word(record, 112)?,
        cgroup: word(record, 120)?,
        resident_pages: pages(0)?.saturating_add(pages(1)?).saturating_add(pages(2)?),
    })
}

/// The letter that `/proc` has for a state.
fn letter(state: u32, exit_state: u32) -> u8 {
    const IDLE: u32 = 0x402;
    /// Waiting for a lock of a real-time kernel, or frozen: told as uninterruptible.
    const ALSO_WAITS: u32 = 0x1000 | 0x8000;
    const TOLD: u32 = 0x7f;
    if exit_state == 0 && state & IDLE == IDLE {
        return b'I';
    }
    let told = (state | exit_state) & TOLD;
    if told == 0 && state & ALSO_WAITS != 0 {
        return b'D';
    }
    let highest = (u32::BITS - told.leading_zeros()) as usize;
    b"RSDTtXZP"[highest]
}

/// The iterator in the kernel.
#[derive(Debug)]
pub struct TaskIterator {
    loaded: Loaded,
    bytes: Vec<u8>,
    pass: Pass,
}

impl TaskIterator {
    /// Loads it.
    ///
    /// # Errors
    /// The kernel refuses, or does not tell the numbers of processes that `/proc` does.
    pub fn load(kernel: &KernelTypes) -> Result<Self, Refusal> {
        let iterator = Self {
            loaded: load(&PLAN, kernel, &[], &[])?,
            bytes: Vec::new(),
            pass: Pass::default(),
        };
        iterator.check()
    }

    /// Reads a pass and sees whether it tells of the monitor what the monitor knows.
    fn check(mut self) -> Result<Self, Refusal> {
        let wrong = |what: String| {
            Refusal::new(
                format!("tasks: {what}"),
                "to run in the first namespace of processes, on a kernel whose records are as expected",
            )
        };
        self.read().map_err(|error| wrong(error.to_string()))?;
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let parent = std::os::unix::process::parent_id();
        // SAFETY: these calls only return numbers.
        let (session, uid) = unsafe { (libc::getsid(0), libc::geteuid()) };
        let Some((_, told)) = self.pass.processes().find(|&(pid, _)| pid == own) else {
            return Err(wrong("it does not tell of the monitor's own process".into()));
        };
        let is_own = told.process.parent.unsigned_abs() == parent
            && told.process.session == session
            && told.process.uid == uid
            && told.threads[0].exec_ns > 0
            && told.process.resident_pages > 0;
        if !is_own {
            return Err(wrong(
                "what it tells of the monitor's own process is wrong".into(),
            ));
        }
        Ok(self)
    }

    /// Reads all tasks.
    ///
    /// # Errors
    /// The kernel ends the pass too soon.
    pub fn read(&mut self) -> io::Result<&Pass> {
        self.bytes.clear();
        self.loaded.iterate("dump_tasks", &mut self.bytes)?;
        self.pass.take(&self.bytes, false).ok_or_else(damaged)?;
        Ok(&self.pass)
    }

    /// Reads all tasks and their waits in one pass, where both objects are loaded.
    ///
    /// # Errors
    /// As [`TaskIterator::read`].
    pub fn read_with_waits(&mut self, waits: &Loaded) -> io::Result<&Pass> {
        self.bytes.clear();
        // The clock that the programs have.
        self.pass.began_ns = clock::monotonic_ns() as u64;
        waits.iterate("dump_both", &mut self.bytes)?;
        self.pass.take(&self.bytes, true).ok_or_else(damaged)?;
        Ok(&self.pass)
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the iterator's records are damaged")
}

#[cfg(test)]
#[path = "tasks_tests.rs"]
mod tests;
