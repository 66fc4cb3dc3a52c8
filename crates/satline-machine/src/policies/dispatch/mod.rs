//! Who of the users in queue gets a processor.
//!
//! A policy is the list of those who are ready. The model takes a user off his processor at every interrupt (a
//! completion, work of the control program) and enters him as interrupted; then every free processor takes the next.
//! So a policy that gives an interrupted user his place back behind better ones is preemptive, and one that puts him
//! first is not.

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
}

/// The list of those who are ready.
pub trait Dispatch: Debug + Send {
    fn enter(&mut self, ready: Ready);

    /// Takes the best off the list.
    fn next(&mut self) -> Option<u32>;

    /// Whether an interrupt should rather stop the first of two who run, each on a processor. On a tie it stops the one on
    /// the processor of the higher number.
    fn yields(&self, first: &Ready, second: &Ready) -> bool;
}

/// Makes an empty list; up to so many users it allocates nothing later.
pub type Make = fn(users: usize) -> Box<dyn Dispatch>;

#[rustfmt::skip]
pub const POLICIES: &[Entry<Make>] = &[
    Entry { name: "priority", source: include_str!("priority.rs"), make: priority::make },
    Entry { name: "round-robin", source: include_str!("round_robin.rs"), make: round_robin::make },
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
        }
    }

    pub fn order(list: &mut dyn Dispatch) -> Vec<u32> {
        std::iter::from_fn(|| list.next()).collect()
    }
}
