//! What every thread has waited for, by the system call or page fault that it sleeps in.
//!
//! `ebpf/waits.bpf.c` keeps the sums with each thread. They are read by an iterator, waits under way included; those of threads that
//! ended stand in a map until they are read. With processor time and the run queue they add up to the time that a thread has lived
//! since the programs were attached.

use std::io;

use super::object::{Hook, Keep, KernelTypes, Loaded, Plan, Refusal, load};

/// The programs at context switches.
pub const PLAN: Plan = Plan {
    name: "waits",
    code: include_bytes!("../../ebpf/waits.bpf.o"),
    programs: &[
        ("on_exit", Hook::Tracepoint("sched_process_exit")),
        ("on_wakeup", Hook::Tracepoint("sched_wakeup")),
        ("on_switch", Hook::Tracepoint("sched_switch")),
        ("dump_waits", Hook::Iterator("task")),
    ],
    least_kernel: "6.2",
};

/// The causes, in the order of the programs.
pub const CAUSES: usize = 8;

/// Time waited, ns, by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waited {
    pub page_ns: u64,
    pub disk_ns: u64,
    pub futex_ns: u64,
    pub file_lock_ns: u64,
    pub local_ns: u64,
    pub network_ns: u64,
    pub idle_ns: u64,
    pub other_ns: u64,
}

impl Waited {
    fn of(ns: [u64; CAUSES]) -> Self {
        let [
            page_ns,
            disk_ns,
            futex_ns,
            file_lock_ns,
            local_ns,
            network_ns,
            idle_ns,
            other_ns,
        ] = ns;
        Self {
            page_ns,
            disk_ns,
            futex_ns,
            file_lock_ns,
            local_ns,
            network_ns,
            idle_ns,
            other_ns,
        }
    }

    fn numbers(self) -> [u64; CAUSES] {
        [
            self.page_ns,
            self.disk_ns,
            self.futex_ns,
            self.file_lock_ns,
            self.local_ns,
            self.network_ns,
            self.idle_ns,
            self.other_ns,
        ]
    }

    /// Each of both, put together.
    pub fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        let (a, b) = (self.numbers(), other.numbers());
        Self::of(std::array::from_fn(|place| f(a[place], b[place])))
    }

    /// Adds.
    pub fn add(&mut self, other: Self) {
        *self = self.zip(other, u64::saturating_add);
    }

    /// What has come since `earlier`; nothing where a counter fell.
    pub fn since(self, earlier: Self) -> Self {
        self.zip(earlier, u64::saturating_sub)
    }

    /// The larger of each.
    pub fn max(self, other: Self) -> Self {
        self.zip(other, u64::max)
    }

    /// By cause, in the order of the columns of table `user`.
    pub fn microseconds(self) -> [i64; CAUSES] {
        self.numbers()
            .map(|ns| i64::try_from(ns / 1000).unwrap_or(i64::MAX))
    }

    /// All causes together.
    pub fn total_ns(self) -> u64 {
        self.numbers().into_iter().fold(0, u64::saturating_add)
    }
}

/// One thread's waits since the programs were attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadWaits {
    pub tid: i32,
    pub pid: i32,
    pub waited: Waited,
    /// Of a thread that has ended: parent and effective user of its process.
    pub ended: Option<(i32, u32)>,
}

fn numbers(bytes: &[u8]) -> Option<[u64; CAUSES]> {
    let mut numbers = [0; CAUSES];
    for (number, chunk) in numbers.iter_mut().zip(bytes.chunks_exact(8)) {
        *number = u64::from_ne_bytes(chunk.try_into().ok()?);
    }
    (bytes.len() == 8 * CAUSES).then_some(numbers)
}

fn half(bytes: &[u8], at: usize) -> Option<i32> {
    let number = u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?);
    i32::try_from(number).ok()
}

/// A record of the iterator.
fn living(record: &[u8]) -> Option<ThreadWaits> {
    Some(ThreadWaits {
        tid: half(record, 0)?,
        pid: half(record, 4)?,
        waited: Waited::of(numbers(record.get(8..)?)?),
        ended: None,
    })
}

/// An entry of the map of those that ended.
fn ended(key: &[u8], value: &[u8]) -> Option<ThreadWaits> {
    let uid = u32::from_ne_bytes(value.get(8..12)?.try_into().ok()?);
    Some(ThreadWaits {
        tid: half(key, 0)?,
        pid: half(value, 0)?,
        waited: Waited::of(numbers(value.get(16..)?)?),
        ended: Some((half(value, 4)?, uid)),
    })
}

/// The programs in the kernel.
#[derive(Debug)]
pub struct Waits {
    loaded: Loaded,
    bytes: Vec<u8>,
    lost: u64,
}

impl Waits {
    /// Loads and attaches them.
    ///
    /// # Errors
    /// The kernel refuses, or its system calls have other numbers.
    pub fn load(kernel: &KernelTypes) -> Result<Self, Refusal> {
        if !cfg!(target_arch = "x86_64") {
            return Err(Refusal::new(
                "waits: system calls are known by their numbers on x86-64 only",
                "an x86-64 processor",
            ));
        }
        let mut waits = Self {
            loaded: load(&PLAN, kernel, &[], &[])?,
            bytes: Vec::new(),
            lost: 0,
        };
        // Takes up what sleeps already.
        waits
            .read(|_| ())
            .map_err(|error| Refusal::new(format!("waits: {error}"), "a kernel whose maps can be read"))?;
        Ok(waits)
    }

    /// Gives the waits of all threads: first of those that live, then of those that have ended since the last reading.
    /// Returns how many could not be kept since.
    ///
    /// # Errors
    /// The kernel ends the pass too soon, or the map cannot be read.
    pub fn read(&mut self, mut each: impl FnMut(&ThreadWaits)) -> io::Result<u64> {
        const RECORD_BYTES: usize = 8 + 8 * CAUSES;
        self.bytes.clear();
        self.loaded.iterate("dump_waits", &mut self.bytes)?;
        self.bytes
            .chunks_exact(RECORD_BYTES)
            .filter_map(living)
            .for_each(|waits| each(&waits));
        let map = |name| self.loaded.map(name).map_err(io::Error::other);
        map("ended")?.each(|key, value| {
            if let Some(waits) = ended(key, value) {
                each(&waits);
            }
            Keep::No
        })?;
        let lost = map("lost")?.sum(0)?;
        Ok(lost.saturating_sub(std::mem::replace(&mut self.lost, lost)))
    }
}
