//! How long and how often the kernel waits for its own locks, by kind of lock: `ebpf/contention.bpf.c`.

use std::io;

use super::object::{Hook, KernelTypes, Loaded, Plan, Refusal, load};

/// The programs where a lock is held by another.
pub const PLAN: Plan = Plan {
    name: "contention",
    code: include_bytes!("../../ebpf/contention.bpf.o"),
    programs: &[
        ("on_begin", Hook::Tracepoint("contention_begin")),
        ("on_end", Hook::Tracepoint("contention_end")),
    ],
    least_kernel: "5.19",
};

/// Kinds of locks, in the order of the programs: as a recording names them, and whether who waits spins.
const KINDS: [(&str, bool); 6] = [
    ("kernel: spinlocks", true),
    ("kernel: read-write spinlocks", true),
    ("kernel: mutexes", false),
    ("kernel: semaphores, reading", false),
    ("kernel: semaphores, writing", false),
    ("kernel: other locks", false),
];

/// One kind of locks, since the programs were attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelLocks {
    pub name: &'static str,
    /// A processor spins; else a thread sleeps, mostly.
    pub spins: bool,
    pub waited_ns: u64,
    pub count: u64,
}

/// The programs in the kernel.
#[derive(Debug)]
pub struct Contention {
    loaded: Loaded,
}

impl Contention {
    /// Loads and attaches them.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn load(kernel: &KernelTypes) -> Result<Self, Refusal> {
        Ok(Self {
            loaded: load(&PLAN, kernel, &[], &[])?,
        })
    }

    /// What its programs have taken while the kernel kept account, ns.
    pub fn run_time_ns(&self) -> u64 {
        self.loaded.run_time_ns()
    }

    /// All kinds, and how many waits could not be kept since the last reading.
    ///
    /// # Errors
    /// A map cannot be read.
    pub fn read(&mut self) -> io::Result<(Vec<KernelLocks>, u64)> {
        let sums = self.loaded.map("sums")?;
        let kinds = (0..).zip(KINDS).map(|(place, (name, spins))| {
            Ok(KernelLocks {
                name,
                spins,
                waited_ns: sums.sum(2 * place)?,
                count: sums.sum(2 * place + 1)?,
            })
        });
        let kinds = kinds.collect::<io::Result<_>>()?;
        Ok((kinds, self.loaded.newly_lost()?))
    }
}
