//! What is known of one process's pages: its working set, and what a look at the page tables adds to it.
//!
//! No Linux interface tells which present pages of another process were referenced. But a page that was outside and is present
//! now was touched, since reading ahead and prepaging fill the swap cache and not the page tables. So working sets are learnt
//! from what came back after a swap-out, and a process that never was outside has none.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::pages::Census;
use crate::policy::QueueDrop;
use crate::process::Process;
use crate::runs::Runs;

/// The book of one process.
#[derive(Debug)]
pub struct Book {
    pub process: Arc<Process>,
    pub knowledge: Knowledge,
    /// Swap space when the last swap-out ended, bytes.
    pub swap_total_bytes: Option<u64>,
}

/// The pages of a process, by what is known of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Knowledge {
    /// The working set: what each of the last stays touched; none while nothing of it has been learnt.
    pub working: Option<Runs>,
    /// What the last stays touched, the last one first.
    stays: VecDeque<Runs>,
    /// Pages that were present when the last swap-out ended or the last stay began: that they are present tells nothing.
    pub kept: Option<Runs>,
    /// Pages that were prepaged at the last queue-add.
    pub prepaged: Runs,
}

/// What a queue-drop told of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drop {
    pub prepaged_pages: u64,
    /// Prepaged, but not touched in the stay. [T87] prepage error.
    pub prepage_errors: u64,
}

impl Knowledge {
    /// Queue-drop: learns the working set of the stay from what is present.
    pub fn drop_from_queue(&mut self, now: &Census, policy: &QueueDrop) -> Drop {
        let told = Drop {
            prepaged_pages: self.prepaged.pages(),
            prepage_errors: self.prepaged.difference(&now.present).pages(),
        };
        self.prepaged = Runs::default();
        if let Some(kept) = &self.kept {
            let touched = now.present.difference(kept);
            self.working = match self.working.take() {
                None if touched.is_empty() => None,
                None => {
                    self.stays.push_front(touched.clone());
                    Some(touched)
                }
                Some(before) if is_short(&touched, &before, policy) => {
                    if let Some(last) = self.stays.front_mut() {
                        *last = last.union(&touched);
                    }
                    Some(before.union(&touched))
                }
                Some(before) => {
                    let stayed = before.intersection(kept).intersection(&now.present);
                    let mut working = stayed.union(&touched);
                    self.stays.truncate(policy.working_set_stays - 1);
                    self.stays.push_front(working.clone());
                    for stay in self.stays.iter().skip(1) {
                        working = working.intersection(stay);
                    }
                    Some(working)
                }
            };
        }
        told
    }

    /// Queue-add: from here on, what is present beyond this was touched.
    pub fn add_to_queue(&mut self, now: &Census) {
        self.kept = Some(match self.kept.take() {
            Some(kept) => kept.intersection(&now.present),
            None => now.present.clone(),
        });
    }

    /// A swapoff brought pages back into the page tables: none of them tells anything.
    pub fn brought_back(&mut self, now: &Census) {
        self.kept = Some(now.present.clone());
    }

    /// A swap-out has ended.
    pub fn swapped_out(&mut self, now: &Census) {
        self.kept = Some(now.present.clone());
    }

    /// Present pages outside the working set; none where no working set is known.
    pub fn trimmable(&self, now: &Census) -> Option<Runs> {
        self.working
            .as_ref()
            .map(|working| now.present.difference(working))
    }

    /// What a resume would read: pages of the working set that are outside.
    pub fn wanted(&self, now: &Census) -> Runs {
        self.working
            .as_ref()
            .map_or_else(Runs::default, |working| working.intersection(&now.swapped))
    }
}

/// Whether a stay touched too little to tell what a stay of this user touches.
fn is_short(touched: &Runs, before: &Runs, policy: &QueueDrop) -> bool {
    (touched.pages() as f64) < policy.short_stay_share * before.pages() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::Run;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn runs(pages: impl IntoIterator<Item = u64>) -> Runs {
        let sorted: BTreeSet<u64> = pages.into_iter().collect();
        sorted
            .into_iter()
            .map(|page| Run {
                start: page,
                end: page + 1,
            })
            .collect()
    }

    /// The last stay alone tells the working set.
    fn one_stay() -> QueueDrop {
        QueueDrop {
            working_set_stays: 1,
            ..QueueDrop::default()
        }
    }

    fn census(present: impl IntoIterator<Item = u64>, swapped: impl IntoIterator<Item = u64>) -> Census {
        Census {
            present: runs(present),
            swapped: runs(swapped),
        }
    }

    #[test]
    fn a_process_that_was_never_outside_has_no_working_set() {
        let mut known = Knowledge::default();
        known.drop_from_queue(&census(0..100, []), &one_stay());
        assert_eq!(known.working, None);
        assert_eq!(known.trimmable(&census(0..100, [])), None);
    }

    #[test]
    fn what_comes_back_after_a_swap_out_is_the_working_set() {
        let mut known = Knowledge::default();
        known.swapped_out(&census([], 0..100));
        known.add_to_queue(&census([3], (0..100).filter(|p| *p != 3)));
        let stay = census([3, 10, 11, 200], 20..100);
        known.drop_from_queue(&stay, &one_stay());
        assert_eq!(
            known.working,
            Some(runs([3, 10, 11, 200])),
            "3 came back before the resume was seen"
        );
        assert_eq!(known.trimmable(&census([3, 10, 50], [])), Some(runs([50])));
        assert_eq!(known.wanted(&census([3], [10, 60, 200])), runs([10, 200]));
    }

    #[test]
    fn a_short_stay_adds_and_a_long_one_replaces() {
        let mut known = Knowledge {
            working: Some(runs(0..40)),
            ..Knowledge::default()
        };
        known.swapped_out(&census([], 0..100));
        let mut heartbeat = known.clone();
        heartbeat.drop_from_queue(&census([70], []), &one_stay());
        assert_eq!(heartbeat.working, Some(runs((0..40).chain([70]))));
        known.drop_from_queue(&census(50..80, []), &one_stay());
        assert_eq!(known.working, Some(runs(50..80)));
    }

    #[test]
    fn what_only_one_stay_touched_is_no_part_of_it() {
        let mut known = Knowledge::default();
        let policy = QueueDrop::default();
        assert_eq!(policy.working_set_stays, 2);
        let mut stay = |touched: &[u64]| {
            known.swapped_out(&census([], 0..100));
            known.drop_from_queue(&census(touched.iter().copied(), []), &policy);
            known.working.clone().unwrap()
        };
        assert_eq!(stay(&[1, 2, 3, 4, 50]), runs([1, 2, 3, 4, 50]), "the first: all");
        assert_eq!(stay(&[1, 2, 3, 4, 60]), runs([1, 2, 3, 4]));
        assert_eq!(
            stay(&[2, 3, 4, 70, 60]),
            runs([2, 3, 4, 60]),
            "60 twice in a row, 1 not"
        );
        assert_eq!(stay(&[1, 2, 3, 4, 70]), runs([2, 3, 4, 70]));
        assert_eq!(stay(&[1, 2, 3, 4, 80]), runs([1, 2, 3, 4]));
        assert_eq!(known.stays.len(), 2);
    }

    #[test]
    fn after_a_trim_the_working_set_stays_and_grows() {
        let mut known = Knowledge {
            working: Some(runs(0..10)),
            ..Knowledge::default()
        };
        known.swapped_out(&census(0..10, 10..90));
        known.drop_from_queue(&census((0..10).chain(30..40), []), &one_stay());
        assert_eq!(known.working, Some(runs((0..10).chain(30..40))));
    }

    #[test]
    fn a_swapoff_teaches_nothing() {
        let mut known = Knowledge {
            working: Some(runs(0..10)),
            ..Knowledge::default()
        };
        known.swapped_out(&census([], 0..90));
        let now = census(0..90, []);
        known.brought_back(&now);
        known.drop_from_queue(&now, &one_stay());
        assert_eq!(known.working, Some(runs(0..10)));
    }

    #[test]
    fn prepaged_pages_that_were_not_touched_are_errors() {
        let mut known = Knowledge {
            prepaged: runs(0..10),
            ..Knowledge::default()
        };
        let told = known.drop_from_queue(&census(0..7, 7..10), &one_stay());
        assert_eq!((told.prepaged_pages, told.prepage_errors), (10, 3));
        assert_eq!(
            known.drop_from_queue(&census([], []), &one_stay()),
            Drop::default(),
            "counted once"
        );
    }

    proptest! {
        #[test]
        fn a_resume_never_reads_more_than_the_recorded_set_or_what_is_present(
            stays in proptest::collection::vec(proptest::collection::btree_set(0u64..50, 0..30), 1..6),
        ) {
            let mut known = Knowledge::default();
            for present in stays {
                let all: BTreeSet<u64> = (0..50).collect();
                let now = census(present.iter().copied(), all.difference(&present).copied());
                known.drop_from_queue(&now, &one_stay());
                let wanted = known.wanted(&now);
                prop_assert!(wanted.intersection(&now.present).is_empty());
                prop_assert!(wanted.difference(&known.working.clone().unwrap_or_default()).is_empty());
                known.swapped_out(&census([], 0..50));
            }
        }
    }
}
