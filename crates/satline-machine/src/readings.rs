//! What can be read off a simulated machine: the same variables as a live host's, and exact.
//!
//! All times and counts add up from the start of the run. An [`Observer`] gets them; the model knows no other outlet.

use crate::engine::{Span, Time};

/// A user's place in the scheduler [Bard].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    LoggedOff,
    Dormant,
    Q1Candidate,
    Q1,
    Q2Candidate,
    Q2,
}

/// What an in-Q user does; of others there is nothing to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activity {
    Running,
    CpuWait,
    PageWait,
    IoWait,
    None,
}

/// One sample of everything. Vectors keep their order for a whole run.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    pub time: Time,
    pub system: SystemReading,
    pub processors: Vec<ProcessorReading>,
    pub devices: Vec<DeviceReading>,
    pub channels: Vec<ChannelReading>,
    pub users: Vec<UserReading>,
    /// By lock, and of each by processor.
    pub locks: Vec<LockReading>,
}

/// Levels are values now; integrals are ∫ level dt in ns × unit; the rest counts up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SystemReading {
    pub logged_on: u32,
    pub q1: u32,
    pub q2: u32,
    pub q1_candidates: u32,
    pub q2_candidates: u32,
    pub logged_on_ns: u128,
    pub q1_ns: u128,
    pub q2_ns: u128,
    pub q1_candidates_ns: u128,
    pub q2_candidates_ns: u128,
    /// ∫ users in a transaction dt.
    pub in_transaction_ns: u128,
    pub page_reads: u64,
    pub page_writes: u64,
    /// Of them from and to the fastest tier, where there is more than one.
    pub page_reads_fast: u64,
    pub page_writes_fast: u64,
    pub page_faults: u64,
    /// Faults that found the page still in storage, on the free or flush list or on its way out.
    pub reclaims: u64,
    /// Frames taken from users in queue.
    pub steals: u64,
    /// Frames looked at by the replacement policy.
    pub frames_scanned: u64,
    pub frames: u32,
    pub frames_free: u32,
    /// Pages resident of users in queue.
    pub in_queue_pages: u32,
    /// Projected working sets of users in queue and of candidates.
    pub demanded_pages: u32,
    pub slots_used: u32,
    pub slots: u32,
    pub dispatches: u64,
    pub preemptions: u64,
    pub q1_adds: u64,
    pub q2_adds: u64,
    pub q1_drops: u64,
    pub q2_drops: u64,
    pub paging_sios: u64,
    /// Start-I/Os of paging that read pages, and those that wrote some; one that did both counts in both.
    pub page_in_sios: u64,
    pub page_out_sios: u64,
    /// Pages put on the flush list, and those of them that were had back from it.
    pub flushed_pages: u64,
    pub flush_reclaims: u64,
    pub user_ios: u64,
    pub transactions: u64,
    /// Events of the calendar so far.
    pub events: u64,
    // Extra counters of prototype policies follow here, `None` where the policy in force has none.
    /// Of the drops, those of users who had to leave for what they held.
    pub involuntary_drops: Option<u64>,
    /// I/Os and page-ins put off because their processor had no path; work left to the main processor; how long both waited
    /// there, ns.
    pub io_defers: Option<u64>,
    pub left_to_main: Option<u64>,
    pub deferred_ns: Option<u128>,
    /// Processors woken or interrupted by others; dispatches of another user than the last one there, and of one who came
    /// from another processor.
    pub signals: Option<u64>,
    pub user_switches: Option<u64>,
    pub processor_moves: Option<u64>,
    /// Requests of free storage that its main chain served, and its subpools; blocks that searches looked at; what all of it took, ns,
    /// of paths that are done; pages that free storage got beside its own. Blocks of the main chain now, and busy doublewords.
    pub storage_main_requests: Option<u64>,
    pub storage_subpool_requests: Option<u64>,
    pub storage_blocks_searched: Option<u64>,
    pub storage_ns: Option<u64>,
    pub storage_pages_added: Option<u64>,
    pub storage_free_blocks: Option<u32>,
    pub storage_busy: Option<u64>,
    pub swap_sets_in: Option<u64>,
    pub swap_sets_out: Option<u64>,
    pub trimmed_pages: Option<u64>,
    pub prepaged_pages: Option<u64>,
    pub prepage_errors: Option<u64>,
    pub swap_faults: Option<u64>,
    /// Pages that start-I/Os of swap sets moved; those that came back without one.
    pub swap_pages_in: Option<u64>,
    pub swap_pages_out: Option<u64>,
    pub swap_pages_reclaimed: Option<u64>,
    /// Users put on the swap list; those who came back before a page of theirs went out; those who went out altogether.
    pub logical_swaps: Option<u64>,
    pub logical_returns: Option<u64>,
    pub physical_swaps: Option<u64>,
    /// Users on the swap list, and users out of queue who have nothing on it and sets outside.
    pub logically_swapped: Option<u32>,
    pub physically_swapped: Option<u32>,
    pub swap_sios: Option<u64>,
    /// Queue and service of the start-I/Os of swap sets, and of all others of paging.
    pub swap_io_ns: Option<u128>,
    pub page_io_ns: Option<u128>,
    /// Pages read before anybody asked for them; those that somebody then did ask for, and those that left untouched.
    pub ahead_pages: Option<u64>,
    pub ahead_used: Option<u64>,
    pub ahead_wasted: Option<u64>,
    /// Pages read from the fast tier to be written on a slower one; they are among the pages read.
    pub migrated_pages: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessorReading {
    pub problem_ns: u64,
    pub supervisor_ns: u64,
    /// Idle, no I/O outstanding.
    pub idle_ns: u64,
    /// Idle, outstanding I/O primarily paging.
    pub page_wait_ns: u64,
    /// Idle, outstanding I/O primarily not paging.
    pub io_wait_ns: u64,
    /// Spinning before a lock.
    pub spin_ns: u64,
    pub dispatches: u64,
    /// Users taken off it by interrupts.
    pub interruptions: u64,
    /// Page waits of users who ran on it, users' I/Os that it started, and both that it had no path for.
    pub page_waits: u64,
    pub ios: u64,
    pub io_defers: u64,
}

/// A lock on one processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LockReading {
    /// Times that it was had, and for how long.
    pub holds: u64,
    pub hold_ns: u64,
    pub spins: u64,
    pub spin_ns: u64,
    /// Times that work was put off because it was held, and how long until the lock was free for it.
    pub defers: u64,
    pub wait_ns: u64,
}

impl LockReading {
    /// Of both processors.
    pub fn plus(self, other: &Self) -> Self {
        Self {
            holds: self.holds + other.holds,
            hold_ns: self.hold_ns + other.hold_ns,
            spins: self.spins + other.spins,
            spin_ns: self.spin_ns + other.spin_ns,
            defers: self.defers + other.defers,
            wait_ns: self.wait_ns + other.wait_ns,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceReading {
    pub sios: u64,
    pub page_sios: u64,
    pub page_reads: u64,
    pub page_writes: u64,
    /// User I/Os and their blocks.
    pub user_ios: u64,
    pub user_blocks: u64,
    pub queue_ns: u128,
    pub pend_ns: u128,
    pub disconnect_ns: u128,
    pub connect_ns: u128,
    pub rps_misses: u64,
    /// Time with at least one request accepted.
    pub busy_ns: u128,
    /// ∫ requests queued and accepted dt.
    pub outstanding_ns: u128,
    pub outstanding: u32,
    pub slots_used: Option<u32>,
    pub slots: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChannelReading {
    pub channel: u16,
    pub busy_ns: u128,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserReading {
    pub class: u16,
    pub background: bool,
    pub status: Status,
    pub activity: Activity,
    pub problem_ns: u64,
    pub supervisor_ns: u64,
    pub cpu_wait_ns: u64,
    pub page_wait_ns: u64,
    pub io_wait_ns: u64,
    pub eligible_ns: u64,
    pub dormant_ns: u64,
    pub page_reads: u64,
    pub page_writes: u64,
    pub ios: u64,
    pub steals: u64,
    pub resident_pages: u32,
    pub projected_pages: u32,
    pub transactions: u64,
}

/// A transaction that ended: from ready to dormant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionRecord {
    pub user: u32,
    pub class: u16,
    pub kind: u16,
    pub started: Time,
    pub ended: Time,
    /// Think time before it, as drawn.
    pub think: Span,
    /// It ended in Q1.
    pub interactive: bool,
    pub problem_ns: u64,
    pub supervisor_ns: u64,
    pub cpu_wait_ns: u64,
    pub page_wait_ns: u64,
    pub io_wait_ns: u64,
    pub eligible_ns: u64,
    pub page_reads: u32,
    pub ios: u32,
    /// Queue stays of it.
    pub stays: u32,
}

/// A user changes his place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    pub time: Time,
    pub user: u32,
    pub from: Status,
    pub to: Status,
}

/// Who gets what the machine does.
pub trait Observer {
    /// A sample at a regular time.
    fn sample(&mut self, _reading: &Reading) {}
    fn transaction(&mut self, _record: &TransactionRecord) {}
    fn transition(&mut self, _transition: &Transition) {}
}

/// Nobody.
impl Observer for () {}
