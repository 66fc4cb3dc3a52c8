//! Which pages leave storage when frames are wanted.
//!
//! The free list is refilled whenever it is shorter than its threshold, one frame at a time: the first of the flush list
//! is taken if there is one, else the policy is asked. A policy that needs more than [`Replacement::victim`] also hears
//! of queue-adds, queue-drops and faults, has a tick of its own, and does what [`Storage`] can do with frames.

mod core_table_scan;
mod traced;
mod working_set_sampling;

use satline_traces::policies::{Arc, Fifo, Generations, Lru, Policy, Random, S3Fifo, Sieve, TwoList};

use self::traced::{Touches, adapted, traced};
use super::Entry;
use crate::engine::Stream;
use crate::storage::Storage;
pub use crate::storage::{Replacement, Setup};

/// Resets the reference bits of the pages that a user touched in his stay; all others of his are off.
pub fn reset_touched(storage: &mut Storage, user: u32) {
    for at in 0..storage.touched_in_stay(user).len() {
        let page = storage.touched_in_stay(user)[at];
        storage.reset_own(user, page);
    }
}

/// Its draws are a stream of their own.
fn random(setup: &Setup) -> Random<Stream> {
    Random::of(setup.streams.stream(0, "random replacement"), setup.frames)
}

/// Makes one.
pub type Make = fn(Setup) -> Box<dyn Replacement>;

/// Those of which traces are replayed too are of that crate: one code for both.
#[rustfmt::skip]
pub const POLICIES: &[Entry<Make>] = &[
    Entry { name: "core-table-scan", source: include_str!("core_table_scan.rs"), make: core_table_scan::make },
    Entry { name: "fifo", source: Fifo::SOURCE, make: |setup| traced::<Fifo>(setup, Touches::None) },
    Entry { name: "lru", source: Lru::SOURCE, make: |setup| traced::<Lru>(setup, Touches::All) },
    Entry { name: "random", source: <Random>::SOURCE, make: |setup| adapted(random(&setup), &setup, Touches::None) },
    Entry { name: "two-list", source: TwoList::SOURCE, make: |setup| traced::<TwoList>(setup, Touches::All) },
    Entry { name: "multi-generational", source: Generations::SOURCE, make: |setup| traced::<Generations>(setup, Touches::All) },
    Entry { name: "arc", source: Arc::SOURCE, make: |setup| traced::<Arc>(setup, Touches::Further) },
    Entry { name: "s3-fifo", source: S3Fifo::SOURCE, make: |setup| traced::<S3Fifo>(setup, Touches::Further) },
    Entry { name: "sieve", source: Sieve::SOURCE, make: |setup| traced::<Sieve>(setup, Touches::Further) },
    Entry { name: "working-set-sampling", source: include_str!("working_set_sampling.rs"), make: working_set_sampling::make },
];
