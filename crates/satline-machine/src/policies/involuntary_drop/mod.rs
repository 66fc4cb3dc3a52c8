//! Whether a user who is to wait for a page has to leave the queue: the involuntary queue-drop.
//!
//! Admission keeps SUMWSS ≤ APAGES by *projected* working sets; a stay that outgrows its projection breaks that, and then users
//! in queue steal each other's pages. The model asks at every page fault that waits for I/O or for a frame, unless nobody else is
//! in queue. Whoever is dropped becomes a Q2 candidate, his page still comes, and his projection is renewed: the pages that he
//! held and the one that he asked for, seen and not estimated, so that neither `projection_factor` nor the shortness of his
//! stay makes it less.
//!
//! **Like CP**: a projection is made at queue-drop, the sum over users in queue is the load, and who is too large for what there
//! is waits until nobody else is in queue (VM/370 Release 6: System Logic and Problem Determination, SY20-0886, and System
//! Programmer's Guide, GC20-1807). **Chosen**: the moment, the test and the renewed projection. Spec page 7 says that the means
//! exists and not how it decides; in Release 6's list of status changes a page wait leaves a user in queue, whatever he holds.
//!
//! **Nobody is kept from going on.** He is dropped only if he holds more than his projection, and each drop renews it with more
//! than he held. So between two ends of his slice or transaction a user is dropped at most half as often as he has pages, and in
//! the end somebody in queue uses up his slice. Candidates stand in order of last service: each comes to be the first, and then
//! gets in when so much is free, or when the others have left, for an empty queue lets him in unasked. In queue he waits
//! for his page, which is not taken before he has run; unless he has grown by then, nobody drops him.

mod never;
mod outgrown;

use std::fmt::Debug;

use super::Entry;
use super::admission::{Admission, Candidate, InQueue};
use crate::configuration::INVOLUNTARY_DROPS;

/// A user in queue who is to wait for a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stay {
    /// The projected working set by which he was let in, pages.
    pub projected: u32,
    /// He as a candidate for the place that he has, with the pages that he holds.
    pub holds: Candidate,
}

/// Whether a user has to leave the queue at a page fault.
pub trait InvoluntaryDrop: Debug + Send {
    /// `others` is what is in queue without him; there is somebody.
    fn drops(&self, stay: &Stay, others: &InQueue, admission: &dyn Admission) -> bool;
}

/// Makes one; `None`: nobody is ever asked.
pub type Make = fn() -> Option<Box<dyn InvoluntaryDrop>>;

/// The first is the default.
#[rustfmt::skip]
pub const POLICIES: &[Entry<Make>] = &[
    Entry { name: INVOLUNTARY_DROPS[0], source: include_str!("never.rs"), make: never::make },
    Entry { name: INVOLUNTARY_DROPS[1], source: include_str!("outgrown.rs"), make: outgrown::make },
];
