//! Admission by numbers only.
//!
//! What: a candidate gets in while fewer users than the caps are in queue; working sets do not count.
//! Why: with the multiprogramming level as a parameter, throughput against it shows what overcommitment costs.
//! Reference: [Bard], throughput against MPL; [T87], the fixed limit of Q2 users.

use super::{Admission, Candidate, InQueue};
use crate::configuration::SchedulerFigures;

#[derive(Debug)]
pub(super) struct Cap {
    mpl: u32,
    q2: u32,
}

impl Cap {
    pub fn new(figures: &SchedulerFigures) -> Self {
        Self {
            mpl: figures.mpl_cap.unwrap_or(u32::MAX),
            q2: figures.q2_cap.unwrap_or(u32::MAX),
        }
    }
}

pub fn make(figures: &SchedulerFigures) -> Box<dyn Admission> {
    Box::new(Cap::new(figures))
}

impl Admission for Cap {
    fn admits(&self, candidate: &Candidate, queue: &InQueue) -> bool {
        queue.q1 + queue.q2 < self.mpl && (candidate.interactive || queue.q2 < self.q2)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{candidate, figures, queue};
    use super::*;

    #[test]
    fn numbers_count_and_working_sets_do_not() {
        let policy = make(&figures(Some(3), Some(1)));
        let huge = 1_000_000;
        assert!(policy.admits(&candidate(true, huge), &queue(1, 1, huge.into())));
        assert!(
            !policy.admits(&candidate(false, 1), &queue(1, 1, 0)),
            "Q2 is full"
        );
        assert!(policy.admits(&candidate(false, 1), &queue(2, 0, 0)));
        assert!(
            !policy.admits(&candidate(true, 1), &queue(2, 1, 0)),
            "the queue is full"
        );
    }

    #[test]
    fn without_caps_everybody_gets_in() {
        assert!(make(&figures(None, None)).admits(&candidate(false, 1), &queue(500, 500, 0)));
    }
}
