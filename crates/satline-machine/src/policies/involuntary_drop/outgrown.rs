//! Whoever has outgrown his projection leaves, if there is no room for him.
//!
//! What: a user who waits for a page and holds more pages than projected is dropped if admission would not let him in
//! now with what he holds; Q1 users by their own factor of frames.
//! Why: projections that are too small let in more users than storage holds; here those leave who made them wrong, and the
//! others keep their pages.
//! Reference: spec page 7 has the means; the test is this simulator's, as the folder's head says.

use super::{InvoluntaryDrop, Stay};
use crate::policies::admission::{Admission, InQueue};

#[derive(Debug)]
struct Outgrown;

pub fn make() -> Option<Box<dyn InvoluntaryDrop>> {
    Some(Box::new(Outgrown))
}

impl InvoluntaryDrop for Outgrown {
    fn drops(&self, stay: &Stay, others: &InQueue, admission: &dyn Admission) -> bool {
        stay.holds.pages > stay.projected && !admission.admits(&stay.holds, others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::admission::POLICIES;
    use crate::policies::admission::tests::{candidate, figures, queue};

    /// Whether one is dropped who was let in for `projected` and holds `pages`, beside others with 80 of 100 frames.
    fn drops(admission: &str, interactive: bool, projected: u32, pages: u32) -> bool {
        let entry = POLICIES.iter().find(|entry| entry.name == admission).unwrap();
        let holds = candidate(interactive, pages);
        let stay = Stay { projected, holds };
        let policy = make().unwrap();
        policy.drops(
            &stay,
            &queue(1, 1, 80),
            &*(entry.make)(&figures(Some(3), Some(2))),
        )
    }

    #[test]
    fn he_leaves_who_holds_more_than_projected_and_more_than_there_is_room_for() {
        for (interactive, projected, pages, dropped) in [
            (false, 10, 20, false),
            (false, 10, 21, true),
            // Let in with too much, when nobody else was there: he has not outgrown it.
            (false, 21, 21, false),
            (false, 30, 29, false),
            // A quarter of the frames more for Q1.
            (true, 10, 45, false),
            (true, 10, 46, true),
            (true, 46, 46, false),
        ] {
            assert_eq!(
                drops("classic", interactive, projected, pages),
                dropped,
                "{interactive} {projected} {pages}"
            );
        }
    }

    #[test]
    fn where_working_sets_do_not_count_nobody_outgrows_his() {
        assert!(!drops("cap", false, 10, 1000));
    }

    /// Whoever was dropped is not let in as a Q2 candidate beside the same others.
    #[test]
    fn who_is_dropped_does_not_come_back_at_once() {
        let admission = (POLICIES[0].make)(&figures(None, None));
        for pages in (1..200).filter(|&pages| drops("classic", true, 0, pages)) {
            assert!(
                !admission.admits(&candidate(false, pages + 1), &queue(1, 1, 80)),
                "{pages}"
            );
        }
    }
}
