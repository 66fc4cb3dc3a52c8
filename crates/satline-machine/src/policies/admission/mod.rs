//! Who gets into queue, so that storage is not overcommitted.
//!
//! The model keeps the candidates in order: Q1 before Q2, then who was served longest ago. It asks of the first one
//! only, and again after every change; a policy says yes or no. When nobody is in queue the first one is let in
//! unasked: else one who needs more than there is would stop everything.

mod cap;
mod classic;
mod paging_rate;

use std::fmt::Debug;

use super::Entry;
use crate::configuration::SchedulerFigures;

/// The first in line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    pub user: u32,
    /// For Q1; else for Q2.
    pub interactive: bool,
    /// His projected working set.
    pub pages: u32,
}

/// What is in queue, background programs included.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct InQueue {
    pub q1: u32,
    pub q2: u32,
    /// SUMWSS: the projected working sets.
    pub pages: u64,
    /// APAGES: frames that users' pages may have.
    pub available_frames: u32,
    /// Pages read per second, as the control program believes; 0 where it does not look.
    pub paging_rate_per_s: f64,
}

/// Who gets into queue.
pub trait Admission: Debug + Send {
    fn admits(&self, candidate: &Candidate, queue: &InQueue) -> bool;
}

/// Makes one from the machine's figures.
pub type Make = fn(&SchedulerFigures) -> Box<dyn Admission>;

#[rustfmt::skip]
pub const POLICIES: &[Entry<Make>] = &[
    Entry { name: "classic", source: include_str!("classic.rs"), make: classic::make },
    Entry { name: "cap", source: include_str!("cap.rs"), make: cap::make },
    Entry { name: "paging-rate", source: include_str!("paging_rate.rs"), make: paging_rate::make },
];

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::engine::Span;

    pub fn figures(mpl_cap: Option<u32>, q2_cap: Option<u32>) -> SchedulerFigures {
        SchedulerFigures {
            q1_slice: Span::from_seconds(0.4),
            q2_slice: Span::from_seconds(5.0),
            quantum: Span::from_seconds(0.05),
            compute_bound_factor: 4,
            compute_bound_after: 1,
            q1_frames_factor: 1.25,
            mpl_cap,
            q2_cap,
            minimum_working_set: 1,
            projection_factor: 1.0,
            paging_rate: None,
        }
    }

    pub fn candidate(interactive: bool, pages: u32) -> Candidate {
        let user = 7;
        Candidate {
            user,
            interactive,
            pages,
        }
    }

    pub fn queue(q1: u32, q2: u32, pages: u64) -> InQueue {
        let available_frames = 100;
        InQueue {
            q1,
            q2,
            pages,
            available_frames,
            paging_rate_per_s: 0.0,
        }
    }
}
