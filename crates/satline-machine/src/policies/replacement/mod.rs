//! Which pages leave storage when frames are wanted.
//!
//! The free list is refilled whenever it is shorter than its threshold, one frame at a time: the first of the flush list
//! is taken if there is one, else the policy is asked. A policy that needs more than [`Replacement::victim`] also hears
//! of queue-adds, queue-drops and faults, has a tick of its own, and does what [`Storage`] can do with frames.

mod core_table_scan;
mod random;
mod traced;
mod working_set_sampling;

use std::fmt::Debug;

use satline_traces::policies::{Arc, Fifo, Generations, Lru, Policy, S3Fifo, Sieve, TwoList};

use self::traced::{Touches, traced};
use super::Entry;
use crate::configuration::Sampling;
use crate::engine::{Span, Streams};
use crate::readings::SystemReading;
use crate::storage::Storage;

/// Which pages leave storage.
pub trait Replacement: Debug + Send {
    /// A frame to take from its user: one that is takeable. `None`: there is none.
    fn victim(&mut self, storage: &mut Storage) -> Option<u32>;

    /// Frames are wanted: at least one is to be given up or written out, if one can be.
    fn refill(&mut self, storage: &mut Storage) {
        // One whose page has no slot and can get none is passed over; after all frames there is no other.
        for _ in 0..storage.frames() {
            match self.victim(storage) {
                Some(frame) if !storage.give_up(frame) => self.came(frame, storage.page_in(frame)),
                _ => return,
            }
        }
    }

    /// A page came into use in this frame. Pages are numbered through, those of one user after those of the one before
    /// him, shared ones last: below [`Setup::pages`].
    fn came(&mut self, _frame: u32, _page: u32) {}

    /// The same of a page that nobody has asked for yet.
    fn came_ahead(&mut self, frame: u32, page: u32) {
        self.came(frame, page);
    }

    /// The same, where the policy looks at more than the frame: a page that was read, or that a user got back from the free
    /// or flush list or on its way out.
    fn arrived(&mut self, storage: &mut Storage, frame: u32) {
        let page = storage.page_in(frame);
        match storage.is_ahead(frame) {
            true => self.came_ahead(frame, page),
            false => self.came(frame, page),
        }
    }

    /// The frame's page went out of use without the policy.
    fn left(&mut self, _frame: u32) {}

    /// Whether every touch must be told, and not only the first one after a bit was reset.
    fn every_touch(&self) -> bool {
        false
    }

    /// The page in this frame was touched; only for [`Replacement::every_touch`].
    fn touched(&mut self, _frame: u32) {}

    /// A user came into queue; `interactive`: into Q1.
    fn queue_add(&mut self, _storage: &mut Storage, _user: u32, _interactive: bool) {}

    /// A user left the queue; [`Storage::touched_in_stay`] has the pages of his stay. What is left of them in his page table
    /// is the business of [`super::queue_drop`].
    fn queue_drop(&mut self, _storage: &mut Storage, _user: u32, _interactive: bool) {}

    /// A user needs a page that is not in storage: a shared one (`None`), or this one of his own. It is read after this, if
    /// the policy has not begun to.
    fn fault(&mut self, _storage: &mut Storage, _user: u32, _page: Option<u32>) {}

    /// Frames that the policy waits for, to read pages of its choice; they are wanted beside the free list's threshold.
    fn wanted_frames(&self) -> u32 {
        0
    }

    /// Frames are free, and no user waits for one.
    fn feed(&mut self, _storage: &mut Storage) {}

    /// A user logs off; after this his frames and slots are taken from him.
    fn log_off(&mut self, _storage: &mut Storage, _user: u32) {}

    /// How often [`Replacement::tick`] is wanted.
    fn tick_interval(&self) -> Option<Span> {
        None
    }

    fn tick(&mut self, _storage: &mut Storage) {}

    /// Fills in the counters that only this policy has.
    fn read(&self, _into: &mut SystemReading) {}

    /// What the policy knows agrees with storage.
    ///
    /// # Errors
    /// It does not: a mistake of the program.
    fn check(&self, _storage: &Storage) -> Result<(), String> {
        Ok(())
    }
}

/// Resets the reference bits of the pages that a user touched in his stay; all others of his are off.
pub fn reset_touched(storage: &mut Storage, user: u32) {
    for at in 0..storage.touched_in_stay(user).len() {
        let page = storage.touched_in_stay(user)[at];
        storage.reset_own(user, page);
    }
}

/// What a policy is made from.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    pub frames: u32,
    /// Pages of all users and background programs, and shared ones.
    pub pages: u32,
    pub sampling: Sampling,
    pub streams: &'a Streams,
}

/// Makes one.
pub type Make = fn(Setup) -> Box<dyn Replacement>;

/// Those of which traces are replayed too are of that crate: one code for both.
#[rustfmt::skip]
pub const POLICIES: &[Entry<Make>] = &[
    Entry { name: "core-table-scan", source: include_str!("core_table_scan.rs"), make: core_table_scan::make },
    Entry { name: "fifo", source: Fifo::SOURCE, make: |setup| traced::<Fifo>(setup, Touches::None) },
    Entry { name: "lru", source: Lru::SOURCE, make: |setup| traced::<Lru>(setup, Touches::All) },
    Entry { name: "random", source: include_str!("random.rs"), make: random::make },
    Entry { name: "two-list", source: TwoList::SOURCE, make: |setup| traced::<TwoList>(setup, Touches::All) },
    Entry { name: "multi-generational", source: Generations::SOURCE, make: |setup| traced::<Generations>(setup, Touches::All) },
    Entry { name: "arc", source: Arc::SOURCE, make: |setup| traced::<Arc>(setup, Touches::Further) },
    Entry { name: "s3-fifo", source: S3Fifo::SOURCE, make: |setup| traced::<S3Fifo>(setup, Touches::Further) },
    Entry { name: "sieve", source: Sieve::SOURCE, make: |setup| traced::<Sieve>(setup, Touches::Further) },
    Entry { name: "working-set-sampling", source: include_str!("working_set_sampling.rs"), make: working_set_sampling::make },
];
