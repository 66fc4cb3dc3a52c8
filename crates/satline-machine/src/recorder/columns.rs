//! Which figure of a reading goes into which column: one line each.
//!
//! Times go from ns to whole µs by cutting, so that a total never exceeds the truth; counts and levels go as they are.

use crate::readings::{
    Activity, ChannelReading, DeviceReading, LockReading, ProcessorReading, Status, SystemReading,
    TransactionRecord, UserReading,
};

/// A column and how its value is found.
pub type Column<R> = (&'static str, fn(&R) -> Option<i64>);

/// The size of a page: of every device's slots, and of the recording.
pub const PAGE_BYTES: i64 = 4096;

/// What goes into a row of table system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRow {
    pub sample: i64,
    pub reading: SystemReading,
    pub main_storage_bytes: u64,
    pub runnable: i64,
    pub blocked: i64,
    pub interactive_transactions: u64,
    pub virtual_io_service_ns: f64,
    /// Of all locks; `None`: there are none.
    pub locks: Option<LockReading>,
}

/// What goes into a row of table device.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeviceRow {
    pub reading: DeviceReading,
    /// Only paging devices have one.
    pub priority: Option<i64>,
}

fn count(value: u64) -> Option<i64> {
    i64::try_from(value).ok()
}

fn us(ns: u64) -> Option<i64> {
    count(ns / 1000)
}

fn long_us(ns: u128) -> Option<i64> {
    i64::try_from(ns / 1000).ok()
}

fn bytes(pages: u32) -> Option<i64> {
    Some(i64::from(pages) * PAGE_BYTES)
}

#[rustfmt::skip]
pub const SYSTEM: &[Column<SystemRow>] = &[
    ("sample", |r| Some(r.sample)),
    ("context_switches", |r| count(r.reading.dispatches)),
    ("preemptions", |r| count(r.reading.preemptions)),
    ("tasks_runnable", |r| Some(r.runnable)),
    ("tasks_blocked", |r| Some(r.blocked)),
    ("users_logged_on", |r| Some(r.reading.logged_on.into())),
    ("users_in_queue", |r| Some((r.reading.q1 + r.reading.q2).into())),
    ("eligible_users", |r| Some((r.reading.q1_candidates + r.reading.q2_candidates).into())),
    ("in_queue_us", |r| long_us(r.reading.q1_ns + r.reading.q2_ns)),
    ("eligible_us", |r| long_us(r.reading.q1_candidates_ns + r.reading.q2_candidates_ns)),
    ("logged_on_us", |r| long_us(r.reading.logged_on_ns)),
    ("in_transaction_us", |r| long_us(r.reading.in_transaction_ns)),
    ("q1_users", |r| Some(r.reading.q1.into())),
    ("q2_users", |r| Some(r.reading.q2.into())),
    ("q1_candidates", |r| Some(r.reading.q1_candidates.into())),
    ("q2_candidates", |r| Some(r.reading.q2_candidates.into())),
    ("q1_us", |r| long_us(r.reading.q1_ns)),
    ("q2_us", |r| long_us(r.reading.q2_ns)),
    ("q1_adds", |r| count(r.reading.q1_adds)),
    ("q2_adds", |r| count(r.reading.q2_adds)),
    ("q1_drops", |r| count(r.reading.q1_drops)),
    ("q2_drops", |r| count(r.reading.q2_drops)),
    ("transactions", |r| count(r.reading.transactions)),
    ("interactive_transactions", |r| count(r.interactive_transactions)),
    ("mem_total_bytes", |r| count(r.main_storage_bytes)),
    ("mem_free_bytes", |r| bytes(r.reading.frames_free)),
    // What users in queue hold is used; all other frames can be had by those in queue [Bard].
    ("mem_available_bytes", |r| bytes(r.reading.frames.saturating_sub(r.reading.in_queue_pages))),
    ("storage_used_bytes", |r| bytes(r.reading.in_queue_pages)),
    ("storage_demanded_bytes", |r| bytes(r.reading.demanded_pages)),
    ("frames_pageable", |r| Some(r.reading.frames.into())),
    ("frames_free", |r| Some(r.reading.frames_free.into())),
    ("frames_scanned", |r| count(r.reading.frames_scanned)),
    ("steals_in_queue_pages", |r| count(r.reading.steals)),
    ("swap_total_bytes", |r| bytes(r.reading.slots)),
    ("swap_free_bytes", |r| bytes(r.reading.slots.saturating_sub(r.reading.slots_used))),
    ("swap_in_pages", |r| count(r.reading.page_reads)),
    ("swap_out_pages", |r| count(r.reading.page_writes)),
    ("page_reads_fast", |r| count(r.reading.page_reads_fast)),
    ("page_writes_fast", |r| count(r.reading.page_writes_fast)),
    ("page_faults", |r| count(r.reading.page_faults)),
    // As many as pages were read: who waits for a page that is on its way causes no second read.
    ("major_faults", |r| count(r.reading.page_reads)),
    ("reclaimed_pages", |r| count(r.reading.reclaims)),
    ("paging_sios", |r| count(r.reading.paging_sios)),
    ("page_in_sios", |r| count(r.reading.page_in_sios)),
    ("page_out_sios", |r| count(r.reading.page_out_sios)),
    ("flushed_pages", |r| count(r.reading.flushed_pages)),
    ("flush_reclaimed_pages", |r| count(r.reading.flush_reclaims)),
    ("virtual_ios", |r| count(r.reading.user_ios)),
    ("virtual_io_service_us", |r| Some((r.virtual_io_service_ns * 1e-3) as i64)),
    ("lock_spin_us", |r| r.locks.and_then(|locks| us(locks.spin_ns))),
    ("lock_wait_us", |r| r.locks.and_then(|locks| us(locks.wait_ns))),
    ("lock_defers", |r| r.locks.and_then(|locks| count(locks.defers))),
    ("io_defers", |r| r.reading.io_defers.and_then(count)),
    ("io_deferred_us", |r| r.reading.deferred_ns.and_then(long_us)),
    ("storage_manager_us", |r| r.reading.storage_ns.and_then(us)),
    ("storage_main_requests", |r| r.reading.storage_main_requests.and_then(count)),
    ("storage_subpool_requests", |r| r.reading.storage_subpool_requests.and_then(count)),
    ("storage_blocks_searched", |r| r.reading.storage_blocks_searched.and_then(count)),
    ("storage_free_blocks", |r| r.reading.storage_free_blocks.map(i64::from)),
    ("swap_sets_in", |r| r.reading.swap_sets_in.and_then(count)),
    ("swap_sets_out", |r| r.reading.swap_sets_out.and_then(count)),
    ("swap_faults", |r| r.reading.swap_faults.and_then(count)),
    ("trimmed_pages", |r| r.reading.trimmed_pages.and_then(count)),
    ("prepaged_pages", |r| r.reading.prepaged_pages.and_then(count)),
    ("prepage_errors", |r| r.reading.prepage_errors.and_then(count)),
    ("swap_set_pages_in", |r| r.reading.swap_pages_in.and_then(count)),
    ("swap_set_pages_out", |r| r.reading.swap_pages_out.and_then(count)),
    ("swap_set_pages_reclaimed", |r| r.reading.swap_pages_reclaimed.and_then(count)),
    ("swap_sios", |r| r.reading.swap_sios.and_then(count)),
    ("swap_io_us", |r| r.reading.swap_io_ns.and_then(long_us)),
    ("page_io_us", |r| r.reading.page_io_ns.and_then(long_us)),
    ("logical_swaps", |r| r.reading.logical_swaps.and_then(count)),
    ("logical_returns", |r| r.reading.logical_returns.and_then(count)),
    ("physical_swaps", |r| r.reading.physical_swaps.and_then(count)),
    ("users_logically_swapped", |r| r.reading.logically_swapped.map(i64::from)),
    ("users_physically_swapped", |r| r.reading.physically_swapped.map(i64::from)),
];

#[rustfmt::skip]
pub const PROCESSOR: &[Column<ProcessorReading>] = &[
    ("user_us", |r| us(r.problem_ns)),
    // As everywhere: who spins before a lock is in the control program.
    ("system_us", |r| us(r.supervisor_ns + r.spin_ns)),
    ("idle_us", |r| us(r.idle_ns)),
    ("iowait_us", |r| us(r.page_wait_ns + r.io_wait_ns)),
    ("page_wait_us", |r| us(r.page_wait_ns)),
    ("io_wait_us", |r| us(r.io_wait_ns)),
];

/// Of processors of a machine with locks.
#[rustfmt::skip]
pub const SPIN: &[Column<ProcessorReading>] = &[
    ("lock_spin_us", |r| us(r.spin_ns)),
];

#[rustfmt::skip]
pub const LOCK: &[Column<LockReading>] = &[
    ("spins", |r| count(r.spins)),
    ("spin_us", |r| us(r.spin_ns)),
    ("defers", |r| count(r.defers)),
    ("wait_us", |r| us(r.wait_ns)),
    ("hold_us", |r| us(r.hold_ns)),
];

#[rustfmt::skip]
pub const DEVICE: &[Column<DeviceRow>] = &[
    ("requests", |r| count(r.reading.sios)),
    ("request_wait_us", |r| {
        long_us(r.reading.queue_ns + r.reading.pend_ns + r.reading.disconnect_ns + r.reading.connect_ns)
    }),
    ("moved_bytes", |r| count((r.reading.page_reads + r.reading.page_writes + r.reading.user_blocks) * PAGE_BYTES as u64)),
    ("paging_requests", |r| count(r.reading.page_sios)),
    ("page_reads", |r| count(r.reading.page_reads)),
    ("page_writes", |r| count(r.reading.page_writes)),
    ("in_flight", |r| Some(r.reading.outstanding.into())),
    ("busy_us", |r| long_us(r.reading.busy_ns)),
    ("queue_us", |r| long_us(r.reading.outstanding_ns)),
    ("queued_us", |r| long_us(r.reading.queue_ns)),
    ("pend_us", |r| long_us(r.reading.pend_ns)),
    ("disconnect_us", |r| long_us(r.reading.disconnect_ns)),
    ("connect_us", |r| long_us(r.reading.connect_ns)),
    ("rps_misses", |r| count(r.reading.rps_misses)),
    ("size_bytes", |r| r.reading.slots.and_then(bytes)),
    ("used_bytes", |r| r.reading.slots_used.and_then(bytes)),
    ("priority", |r| r.priority),
];

pub const CHANNEL: &[Column<ChannelReading>] = &[("busy_us", |r| long_us(r.busy_ns))];

#[rustfmt::skip]
pub const USER: &[Column<UserReading>] = &[
    // A user who is logged off has a row all the same: what he did in the period of his going is not lost.
    ("processes", |r| Some((r.status != Status::LoggedOff).into())),
    ("tasks_runnable", |r| Some(runnable(r).into())),
    ("tasks_page_wait", |r| Some((r.activity == Activity::PageWait).into())),
    ("tasks_io_wait", |r| Some((r.activity == Activity::IoWait).into())),
    ("cpu_us", |r| us(r.problem_ns + r.supervisor_ns)),
    ("cpu_system_us", |r| us(r.supervisor_ns)),
    ("run_delay_us", |r| us(r.cpu_wait_ns)),
    ("io_delay_us", |r| us(r.page_wait_ns + r.io_wait_ns)),
    ("eligible_us", |r| us(r.eligible_ns)),
    ("page_wait_us", |r| us(r.page_wait_ns)),
    ("io_wait_us", |r| us(r.io_wait_ns)),
    ("transaction_us", |r| {
        us(r.problem_ns + r.supervisor_ns + r.cpu_wait_ns + r.page_wait_ns + r.io_wait_ns + r.eligible_ns)
    }),
    ("dormant_us", |r| us(r.dormant_ns)),
    ("major_faults", |r| count(r.page_reads)),
    ("page_writes", |r| count(r.page_writes)),
    ("steals", |r| count(r.steals)),
    ("ios", |r| count(r.ios)),
    ("transactions", |r| count(r.transactions)),
    ("resident_bytes", |r| bytes(r.resident_pages)),
    ("projected_bytes", |r| bytes(r.projected_pages)),
];

#[rustfmt::skip]
pub const TRANSACTION: &[Column<TransactionRecord>] = &[
    ("think_us", |r| us(r.think.ns())),
    ("typing_us", |_| Some(0)),
    ("response_us", |r| us((r.ended - r.started).ns())),
    ("interactive", |r| Some(r.interactive.into())),
    ("cpu_us", |r| us(r.problem_ns + r.supervisor_ns)),
    ("cpu_system_us", |r| us(r.supervisor_ns)),
    ("run_delay_us", |r| us(r.cpu_wait_ns)),
    ("page_wait_us", |r| us(r.page_wait_ns)),
    ("io_wait_us", |r| us(r.io_wait_ns)),
    ("eligible_us", |r| us(r.eligible_ns)),
    ("page_reads", |r| Some(r.page_reads.into())),
    ("ios", |r| Some(r.ios.into())),
    ("queue_stays", |r| Some(r.stays.into())),
];

/// He runs or waits for a processor.
pub fn runnable(user: &UserReading) -> bool {
    matches!(user.activity, Activity::Running | Activity::CpuWait)
}

/// He waits for a page or another I/O.
pub fn blocked(user: &UserReading) -> bool {
    matches!(user.activity, Activity::PageWait | Activity::IoWait)
}

/// The catalogue's word for a place in the scheduler.
pub fn word(status: Status) -> &'static str {
    match status {
        Status::LoggedOff => "logged-off",
        Status::Dormant => "dormant",
        Status::Q1Candidate => "q1-candidate",
        Status::Q1 => "q1",
        Status::Q2Candidate => "q2-candidate",
        Status::Q2 => "q2",
    }
}
