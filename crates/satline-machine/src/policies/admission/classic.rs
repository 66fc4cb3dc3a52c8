//! Admission by projected working sets.
//!
//! What: a candidate gets in while his projected working set and those in queue fit in the available frames, times a
//! factor for Q1, and while the caps allow.
//! Why: more users than storage has room for steal each other's pages; interactive ones should hardly feel the limit.
//! Reference: [Bard]; [T87], base system: SUMWSS + projection ≤ APAGES, ≤ 1.25 APAGES for Q1.

use super::{Admission, Candidate, InQueue, cap::Cap};
use crate::configuration::SchedulerFigures;

#[derive(Debug)]
struct Classic {
    cap: Cap,
    q1_frames_factor: f64,
}

pub fn make(figures: &SchedulerFigures) -> Box<dyn Admission> {
    Box::new(Classic {
        cap: Cap::new(figures),
        q1_frames_factor: figures.q1_frames_factor,
    })
}

impl Admission for Classic {
    fn admits(&self, candidate: &Candidate, queue: &InQueue) -> bool {
        let factor = if candidate.interactive {
            self.q1_frames_factor
        } else {
            1.0
        };
        let wanted = queue.pages + u64::from(candidate.pages);
        wanted as f64 <= f64::from(queue.available_frames) * factor && self.cap.admits(candidate, queue)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{candidate, figures, queue};
    use super::*;

    #[test]
    fn working_sets_fit_exactly_and_those_of_q1_a_quarter_more() {
        let policy = make(&figures(None, None));
        // 80 of 100 frames are spoken for.
        let queue = queue(1, 1, 80);
        for (interactive, pages, admitted) in [
            (false, 20, true),
            (false, 21, false),
            (true, 45, true),
            (true, 46, false),
        ] {
            assert_eq!(
                policy.admits(&candidate(interactive, pages), &queue),
                admitted,
                "{pages}"
            );
        }
    }

    #[test]
    fn caps_hold_here_too() {
        let policy = make(&figures(Some(2), None));
        assert!(!policy.admits(&candidate(true, 1), &queue(1, 1, 0)));
    }
}
