//! What a device counts.

use super::Service;
use crate::engine::{Level, Time};

/// Counters of one device since the start of the run.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeviceCounters {
    /// Start-I/Os that ended.
    pub sios: u64,
    pub pages: u64,
    pub queue_ns: u128,
    pub pend_ns: u128,
    pub disconnect_ns: u128,
    pub connect_ns: u128,
    pub rps_misses: u64,
    /// Requests that the device has accepted.
    pub accepted: Level,
    /// 1 while there is one.
    pub busy: Level,
    /// Requests before the device.
    pub queued: Level,
}

impl DeviceCounters {
    /// A start-I/O of so many pages ended.
    pub(super) fn add(&mut self, service: &Service, pages: usize, now: Time) {
        self.sios += 1;
        self.pages += pages as u64;
        self.queue_ns += u128::from(service.queue.ns());
        self.pend_ns += u128::from(service.pend.ns());
        self.disconnect_ns += u128::from(service.disconnect.ns());
        self.connect_ns += u128::from(service.connect.ns());
        self.accepted.lower(now);
    }
}
