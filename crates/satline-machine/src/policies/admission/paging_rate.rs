//! Admission by projected working sets and the paging rate.
//!
//! What: as `classic`, and no candidate for Q2 gets in while the paging rate that the control program believes is above the limit.
//! Why: where projections are too small the rate shows it; a control program that believes a part of the rate lets in too many.
//! Reference: [TB84], the attached processor's fault: it divided the rate by the number of processors.

use super::{Admission, Candidate, InQueue, classic};
use crate::configuration::SchedulerFigures;

#[derive(Debug)]
struct PagingRate {
    classic: Box<dyn Admission>,
    limit_per_s: f64,
}

pub fn make(figures: &SchedulerFigures) -> Box<dyn Admission> {
    Box::new(PagingRate {
        classic: classic::make(figures),
        limit_per_s: figures.paging_rate.map_or(f64::INFINITY, |rate| rate.limit_per_s),
    })
}

impl Admission for PagingRate {
    fn admits(&self, candidate: &Candidate, queue: &InQueue) -> bool {
        let bears = candidate.interactive || queue.paging_rate_per_s <= self.limit_per_s;
        bears && self.classic.admits(candidate, queue)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{candidate, figures, queue};
    use super::*;
    use crate::configuration::PagingRate;
    use crate::engine::Span;

    #[test]
    fn q2_stays_out_while_the_rate_is_above_the_limit() {
        let rate = PagingRate {
            limit_per_s: 50.0,
            interval: Span::from_seconds(1.0),
            divided: false,
        };
        let policy = make(&SchedulerFigures {
            paging_rate: Some(rate),
            ..figures(None, None)
        });
        let at = |paging_rate_per_s| InQueue {
            paging_rate_per_s,
            ..queue(1, 1, 80)
        };
        assert!(policy.admits(&candidate(false, 20), &at(50.0)));
        assert!(!policy.admits(&candidate(false, 20), &at(50.1)));
        assert!(policy.admits(&candidate(true, 20), &at(500.0)));
        assert!(!policy.admits(&candidate(false, 21), &at(0.0)), "no room");
    }
}
