//! Who of the users in queue gets a processor.
//!
//! A policy is the list of those who are ready. The model takes a user off his processor at every interrupt (a
//! completion, work of the control program) and enters him as interrupted; then every free processor takes the next.
//! So a policy that gives an interrupted user his place back behind better ones is preemptive, and one that puts him
//! first is not. Which processor takes an interrupt, and who is interrupted by another processor's signal, is the machine's.

mod active_wait;
mod affinity;
mod ap_release_5;
mod priority;
mod round_robin;

use std::fmt::Debug;

use super::Entry;
use crate::engine::Time;

/// One who is ready to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    pub user: u32,
    /// In Q1; else in Q2.
    pub interactive: bool,
    /// When he last left the queue or ended a quantum: who was served longest ago goes first.
    pub served: Time,
    /// He was taken off a processor and has done nothing since.
    pub interrupted: bool,
    /// The processor that he had last in this transaction.
    pub last: Option<u16>,
}

/// The list of those who are ready.
pub trait Dispatch: Debug + Send {
    fn enter(&mut self, ready: Ready);

    /// Takes the best for a processor off the list; the processor runs nobody.
    fn next(&mut self, processor: usize) -> Option<u32>;

    /// How many wait.
    fn waiting(&self) -> usize;

    /// Whether [`Dispatch::next`] would have one for this processor.
    fn has_for(&self, processor: usize) -> bool;

    /// Whether an interrupt should rather stop the first of two who run, each on a processor. On a tie it stops the one on
    /// the processor of the higher number.
    fn yields(&self, first: &Ready, second: &Ready) -> bool;

    /// Whether one who waits for this processor goes before the one who runs on it: then a signal interrupts him.
    fn outranks(&self, _processor: usize, _running: &Ready) -> bool {
        false
    }

    /// An idle processor looks for work by itself: nobody has to wake it.
    fn looks(&self) -> bool {
        false
    }
}

/// Makes an empty list for so many processors; up to so many users it allocates nothing later.
pub type Make = fn(users: usize, processors: usize) -> Box<dyn Dispatch>;

#[rustfmt::skip]
pub const POLICIES: &[Entry<Make>] = &[
    Entry { name: "priority", source: include_str!("priority.rs"), make: priority::make },
    Entry { name: "round-robin", source: include_str!("round_robin.rs"), make: round_robin::make },
    Entry { name: "ap-release-5", source: include_str!("ap_release_5.rs"), make: ap_release_5::make },
    Entry { name: "affinity", source: include_str!("affinity.rs"), make: affinity::make },
    Entry { name: "active-wait", source: include_str!("active_wait.rs"), make: active_wait::make },
];

#[cfg(test)]
mod tests {
    use super::*;

    pub fn ready(user: u32, interactive: bool, served_ns: u64, interrupted: bool) -> Ready {
        let served = Time::from_ns(served_ns);
        Ready {
            user,
            interactive,
            served,
            interrupted,
            last: None,
        }
    }

    pub fn order(list: &mut dyn Dispatch) -> Vec<u32> {
        std::iter::from_fn(|| list.next(0)).collect()
    }
}
