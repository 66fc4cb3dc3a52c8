//! What every thread has waited for, by the system call or page fault that it sleeps in.
//!
//! `ebpf/waits.bpf.c` keeps the sums with each thread. They are read by an iterator, waits under way included; those of threads that
//! ended stand in a map until they are read. With processor time and the run queue they add up to the time that a thread has lived
//! since the programs were attached. Who ended a wait for a lock or for another process stands in a map by the two processes.

use std::io;

use crate::counters::Name;

use super::object::{Hook, Keep, KernelTypes, Loaded, Plan, Refusal, half, load, name, pid, word};

/// The programs at context switches.
pub const PLAN: Plan = Plan {
    name: "waits",
    code: include_bytes!("../../ebpf/waits.bpf.o"),
    programs: &[
        ("on_exit", Hook::Tracepoint("sched_process_exit")),
        ("on_waking", Hook::Tracepoint("sched_waking")),
        ("on_bio", Hook::Tracepoint("block_bio_queue")),
        ("on_switch", Hook::Tracepoint("sched_switch")),
        ("dump_waits", Hook::Iterator("task")),
        ("dump_both", Hook::Iterator("task")),
    ],
    least_kernel: "5.19",
};

/// The causes, in the order of the programs.
pub const CAUSES: usize = 10;
/// Columns of time waited in a recording: see [`Waited::microseconds`].
pub const COLUMNS: usize = 9;

/// A field for each cause, in the order of the programs, and the numbers as a list.
macro_rules! causes {
    ($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $cause:ident,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $name {
            $($(#[$of])* pub $cause: u64,)*
        }

        impl $name {
            fn of([$($cause),*]: [u64; CAUSES]) -> Self {
                Self { $($cause),* }
            }

            fn numbers(self) -> [u64; CAUSES] {
                [$(self.$cause),*]
            }
        }
    };
}

causes! {
    /// Time waited, ns, by cause.
    Waited {
        page_ns,
        disk_ns,
        /// Futex calls for a lock are not among it.
        futex_ns,
        file_lock_ns,
        local_ns,
        network_ns,
        idle_ns,
        other_ns,
        /// Futex calls for a lock, as far as they can be told.
        mutex_ns,
        /// That part of the run queue's time in which a quota held the thread back.
        quota_ns,
    }
}

impl Waited {
    /// Of one cause, by its place.
    fn only(cause: usize, ns: u64) -> Self {
        let mut causes = [0; CAUSES];
        if let Some(place) = causes.get_mut(cause) {
            *place = ns;
        }
        Self::of(causes)
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

    /// By cause, in the order of the columns: futex calls are all of them, those for a lock too. Without the quota's.
    pub fn microseconds(self) -> [i64; COLUMNS] {
        let futex_ns = self.futex_ns.saturating_add(self.mutex_ns);
        let all = Self { futex_ns, ..self }.numbers();
        std::array::from_fn(|place| i64::try_from(all[place] / 1000).unwrap_or(i64::MAX))
    }

    /// All causes together. The quota's is the run queue's.
    pub fn total_ns(self) -> u64 {
        let causes = Self { quota_ns: 0, ..self }.numbers();
        causes.into_iter().fold(0, u64::saturating_add)
    }

    /// Whether anything but what comes from outside its work was waited for.
    pub fn is_idle(self) -> bool {
        Self { idle_ns: 0, ..self } == Self::default()
    }
}

/// A thread's waits since the programs were attached, as a pass over all tasks tells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WaitSums {
    /// What has ended.
    pub waited: Waited,
    /// The wait under way.
    pub under_way: Option<UnderWay>,
}

/// A wait that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnderWay {
    /// Its place among the causes.
    pub cause: usize,
    pub since_ns: u64,
    /// So far it has been counted.
    pub until_ns: u64,
}

impl UnderWay {
    /// What has come of it until then, by cause, and counts it.
    pub fn go_on(&mut self, now_ns: u64) -> Waited {
        let gain_ns = now_ns.saturating_sub(self.until_ns);
        self.until_ns = self.until_ns.max(now_ns);
        Waited::only(self.cause, gain_ns)
    }
}

impl WaitSums {
    pub const BYTES: usize = 24 + 8 * CAUSES;

    /// A record of `dump_both`.
    pub fn of(record: &[u8]) -> Option<Self> {
        let mut ns = numbers(record.get(24..Self::BYTES)?)?;
        if ns[CAUSES - 1] == u64::MAX {
            ns[CAUSES - 1] = 0;
        }
        let (cause, since_ns, until_ns) = (word(record, 0)?, word(record, 8)?, word(record, 16)?);
        let under_way = (since_ns != 0).then_some(UnderWay {
            cause: usize::try_from(cause).ok()?,
            since_ns,
            until_ns: until_ns.max(since_ns),
        });
        Some(Self {
            waited: Waited::of(ns),
            under_way,
        })
    }

    /// All of it, the wait under way included.
    pub fn total(&self) -> Waited {
        let mut total = self.waited;
        if let Some(wait) = self.under_way {
            total.add(Waited::only(wait.cause, wait.until_ns - wait.since_ns));
        }
        total
    }
}

/// What a wait was for whose end another process brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HeldCause {
    /// Futex calls that may be for anything.
    Futex,
    /// Those for a lock.
    Mutex,
    FileLock,
    Local,
}

impl HeldCause {
    /// By its place in the programs' list.
    fn at(place: u64) -> Option<Self> {
        match place {
            2 => Some(Self::Futex),
            3 => Some(Self::FileLock),
            4 => Some(Self::Local),
            8 => Some(Self::Mutex),
            _ => None,
        }
    }

    /// As a recording names it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Futex => "futex",
            Self::Mutex => "mutex",
            Self::FileLock => "file_lock",
            Self::Local => "local",
        }
    }
}

/// Waits of one process that another ended, or it itself, since the last reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    pub waiter: Party,
    pub holder: Party,
    pub cause: HeldCause,
    pub waited_ns: u64,
    pub count: u64,
    /// The thread of the holder that ended the first of them.
    pub name: Name,
}

/// Waits of one process for a disk that have ended since the last reading: in pages, files and block devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskWait {
    pub waiter: Party,
    /// Its number; `None`: the thread had asked no disk for anything.
    pub disk: Option<Disk>,
    pub waited_ns: u64,
    pub count: u64,
}

/// Number of a whole disk: major, minor.
pub type Disk = (u32, u32);

/// A process and its effective user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Party {
    pub pid: i32,
    pub uid: u32,
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
    for (place, number) in numbers.iter_mut().enumerate() {
        *number = word(bytes, 8 * place)?;
    }
    (bytes.len() == 8 * CAUSES).then_some(numbers)
}

/// A record of the iterator. A kernel that does not tell what quotas hold back has all bits of that number set.
fn living(record: &[u8], throttling: &mut bool) -> Option<ThreadWaits> {
    let mut ns = numbers(record.get(8..)?)?;
    if ns[CAUSES - 1] == u64::MAX {
        (ns[CAUSES - 1], *throttling) = (0, false);
    }
    Some(ThreadWaits {
        tid: pid(record, 0)?,
        pid: pid(record, 4)?,
        waited: Waited::of(ns),
        ended: None,
    })
}

/// An entry of the map of those that ended.
fn ended(key: &[u8], value: &[u8]) -> Option<ThreadWaits> {
    Some(ThreadWaits {
        tid: pid(key, 0)?,
        pid: pid(value, 0)?,
        waited: Waited::of(numbers(value.get(16..)?)?),
        ended: Some((pid(value, 4)?, half(value, 8)?)),
    })
}

/// An entry of the map of pairs.
fn pair(key: &[u8], value: &[u8]) -> Option<Pair> {
    Some(Pair {
        waiter: Party {
            pid: pid(key, 0)?,
            uid: half(value, 16)?,
        },
        holder: Party {
            pid: pid(key, 4)?,
            uid: half(value, 20)?,
        },
        cause: HeldCause::at(word(key, 8)?)?,
        waited_ns: word(value, 0)?,
        count: word(value, 8)?,
        name: Name::new(name(value, 24)?),
    })
}

/// An entry of the map of disks.
fn disk_wait(key: &[u8], value: &[u8]) -> Option<DiskWait> {
    let disk = half(key, 4)?;
    Some(DiskWait {
        waiter: Party {
            pid: pid(key, 0)?,
            uid: half(value, 16)?,
        },
        disk: (disk != 0).then_some((disk >> 20, disk & 0xf_ffff)),
        waited_ns: word(value, 0)?,
        count: word(value, 8)?,
    })
}

/// The programs in the kernel.
#[derive(Debug)]
pub struct Waits {
    loaded: Loaded,
    bytes: Vec<u8>,
    throttling: bool,
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
            throttling: true,
        };
        // Takes up what sleeps already.
        waits
            .read(|_| ())
            .and_then(|_| waits.read_pairs(|_| ()))
            .and_then(|()| waits.read_disks(|_| ()))
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
            .filter_map(|record| living(record, &mut self.throttling))
            .for_each(|waits| each(&waits));
        self.read_ended(each)
    }

    /// The programs, of which one gives tasks and their waits together.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Gives the waits of threads that have ended since the last reading. Returns how many could not be kept since.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn read_ended(&mut self, mut each: impl FnMut(&ThreadWaits)) -> io::Result<u64> {
        self.loaded.map("ended")?.each(|key, value| {
            if let Some(waits) = ended(key, value) {
                each(&waits);
            }
            Keep::No
        })?;
        self.loaded.newly_lost()
    }

    /// What its programs have taken while the kernel kept account, ns.
    pub fn run_time_ns(&self) -> u64 {
        self.loaded.run_time_ns()
    }

    /// Whether this kernel tells what quotas hold back.
    pub fn tells_throttling(&self) -> bool {
        self.throttling
    }

    /// Gives the waits for disks that have ended since the last time.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn read_disks(&self, mut each: impl FnMut(DiskWait)) -> io::Result<()> {
        let map = self.loaded.map("disks")?;
        map.drain(|key, value| {
            if let Some(wait) = disk_wait(key, value) {
                each(wait);
            }
        })
    }

    /// Gives who ended whose waits since the last time.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn read_pairs(&self, mut each: impl FnMut(Pair)) -> io::Result<()> {
        let map = self.loaded.map("pairs")?;
        map.each(|key, value| {
            if let Some(pair) = pair(key, value) {
                each(pair);
            }
            Keep::No
        })
    }
}
