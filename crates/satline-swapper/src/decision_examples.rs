//! What the tests of decisions begin with.

use crate::decision::{Event, StorageSeen, UserId};
use crate::policy::Policy;

pub(crate) const MB: u64 = 1 << 20;
pub(crate) const SECOND: i64 = 1_000_000;

/// Users drop from the queue after 10 s; more may be said.
pub(crate) fn policy(more: &str) -> Policy {
    let text = format!("[[watch]]\npid = 9\n[queue_drop]\nidle_seconds = 10.0\n{more}");
    toml::from_str(&text).unwrap()
}

/// So many MB of 1000 are free; short below 100, and up to 200.
pub(crate) fn storage(free: u64) -> Option<StorageSeen> {
    Some(StorageSeen {
        total_bytes: 1000 * MB,
        free_bytes: free * MB,
        low_bytes: 100 * MB,
        high_bytes: 200 * MB,
        pressed: false,
        swap_free_bytes: 1000 * MB,
        swap_reserve_bytes: 10 * MB,
    })
}

/// A working set of so many MB, of which so many are outside, and so many beside it; 80 MB in storage.
pub(crate) fn recorded(id: UserId, set: Option<u64>, wanted: u64, trimmable: u64) -> Event {
    Event::Recorded {
        id,
        working_set_bytes: set.map(|mb| mb * MB),
        wanted_bytes: wanted * MB,
        trimmable_bytes: trimmable * MB,
        cold_bytes: 0,
        resident_bytes: 80 * MB,
        prepaged_pages: 0,
        prepage_errors: 0,
    }
}
