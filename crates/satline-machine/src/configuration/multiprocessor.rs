//! Processors that differ, what they cost each other, and the control program's locks.

use super::DeviceUnit;
use super::swapping::Word;
use crate::engine::Span;

/// Processors that differ are at most so many.
pub const MOST_PROCESSORS: usize = 16;

/// Work of the control program that takes a processor for a time, by the names of machine files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    Dispatch,
    PageFault,
    PageInEnd,
    UserIoStart,
    UserIoEnd,
    QueueAdd,
    QueueDrop,
    Reclaim,
    /// What storage management does besides: page-outs, scans, the policies' own.
    Storage,
    /// The start of an I/O that was put off elsewhere.
    DeferredStart,
}

/// Their names; the place of each is its number.
pub const WORKS: &[Word<Work>] = &[
    ("dispatch", Work::Dispatch),
    ("page_fault", Work::PageFault),
    ("page_in_end", Work::PageInEnd),
    ("user_io_start", Work::UserIoStart),
    ("user_io_end", Work::UserIoEnd),
    ("queue_add", Work::QueueAdd),
    ("queue_drop", Work::QueueDrop),
    ("reclaim", Work::Reclaim),
    ("storage", Work::Storage),
    ("deferred_start", Work::DeferredStart),
];

impl Work {
    /// What can be left to the main processor: the rest is done where it comes up.
    pub const MOVABLE: [Self; 6] = [
        Self::PageFault,
        Self::PageInEnd,
        Self::UserIoStart,
        Self::UserIoEnd,
        Self::QueueAdd,
        Self::QueueDrop,
    ];
}

/// A processor's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessorRole {
    /// Has channels, and does what only one processor may.
    Main,
    /// Has no channels.
    Attached,
    /// Has channels.
    Symmetric,
}

pub const PROCESSOR_ROLES: &[Word<ProcessorRole>] = &[
    ("main", ProcessorRole::Main),
    ("attached", ProcessorRole::Attached),
    ("symmetric", ProcessorRole::Symmetric),
];

/// Which processor the end of an I/O interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupts {
    /// The one that started it (System/370).
    Starter,
    /// Any with a path to the device: an idle one, else the one with the least user (System/370-XA).
    Any,
}

pub const INTERRUPTS: &[Word<Interrupts>] = &[("starter", Interrupts::Starter), ("any", Interrupts::Any)];

/// How the processors of a machine differ, and what they cost each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Multiprocessor {
    /// At most [`MOST_PROCESSORS`], one main one among them at most.
    pub units: Vec<ProcessorUnit>,
    pub interrupts: Interrupts,
    /// A processor that readies a user, or has work for another one, interrupts that one (SIGP) [TB84].
    pub signal: bool,
    /// An interrupted Q1 user goes on where he was, before all others [TB84].
    pub redispatch: bool,
    /// Done on the main processor only.
    pub main_only: Vec<Work>,
    /// Starting an I/O that was put off on a processor without a path.
    pub deferred_start: Span,
    /// What a processor pays that another wakes or interrupts by a signal.
    pub signalled: Span,
    /// Filling the cache after a switch to a different user.
    pub cache_reload: Span,
    /// The same when he ran on another processor last.
    pub cache_move: Span,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessorUnit {
    pub role: ProcessorRole,
    /// Numbers of channels.
    pub channels: Vec<u16>,
}

impl Multiprocessor {
    /// Whether a processor has a path to a device.
    pub fn reaches(&self, processor: usize, device: &DeviceUnit) -> bool {
        let channels = &self.units[processor].channels;
        device.paths.iter().any(|path| channels.contains(&path.1))
    }

    /// The main processor, if there is one.
    pub fn main(&self) -> Option<usize> {
        self.units
            .iter()
            .position(|unit| unit.role == ProcessorRole::Main)
    }
}

/// What work does that finds its lock held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWait {
    /// Its processor spins.
    Spin,
    /// It is put off; its processor does something else.
    Suspend,
}

pub const LOCK_WAITS: &[Word<LockWait>] = &[("spin", LockWait::Spin), ("suspend", LockWait::Suspend)];

/// A lock of the control program.
#[derive(Debug, Clone, PartialEq)]
pub struct LockPlan {
    pub name: String,
    pub wait: LockWait,
    /// Of these works so large a part, within 0 to 1, is done under the lock.
    pub holds: Vec<(Work, f64)>,
}
