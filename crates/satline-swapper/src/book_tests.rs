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

/// These of a hundred pages are present, and the others are outside.
fn of_100(present: impl IntoIterator<Item = u64>) -> Census {
    let present: BTreeSet<u64> = present.into_iter().collect();
    census(
        present.iter().copied(),
        (0..100).filter(|page| !present.contains(page)),
    )
}

#[test]
fn a_process_that_was_never_outside_has_no_working_set() {
    let mut known = Knowledge::default();
    known.drop_from_queue(&census(0..100, []), &one_stay());
    known.drop_from_queue(&census(0..200, []), &one_stay());
    assert_eq!(known.working, None);
    assert_eq!(known.trimmable(&census(0..100, [])), None);
    assert!(known.cold(&census(0..100, [])).is_empty());
}

#[test]
fn what_comes_back_after_a_swap_out_is_the_working_set() {
    let mut known = Knowledge::default();
    known.swapped_out(&census([], 0..100), &Runs::default());
    known.add_to_queue(&census([3], (0..100).filter(|p| *p != 3)));
    let stay = census([3, 10, 11, 200], 20..100);
    known.drop_from_queue(&stay, &one_stay());
    assert_eq!(
        known.working,
        Some(runs([3, 10, 11])),
        "3 came back before the resume was seen; 200 is new"
    );
    let now = census([3, 10, 50, 300], []);
    assert_eq!(known.trimmable(&now), Some(runs([50, 300])));
    assert_eq!(known.cold(&now), runs([50]), "of 300 nothing is known");
    assert_eq!(known.wanted(&census([3], [10, 60, 200])), runs([10]));
}

#[test]
fn a_short_stay_adds_and_a_long_one_replaces() {
    let mut known = Knowledge::default();
    known.swapped_out(&of_100([]), &Runs::default());
    known.drop_from_queue(&of_100(0..40), &one_stay());
    known.swapped_out(&of_100([]), &Runs::default());
    let mut heartbeat = known.clone();
    heartbeat.drop_from_queue(&of_100([70]), &one_stay());
    assert_eq!(heartbeat.working, Some(runs((0..40).chain([70]))));
    known.drop_from_queue(&of_100(50..80), &one_stay());
    assert_eq!(known.working, Some(runs(50..80)));
}

#[test]
fn what_only_one_stay_touched_is_no_part_of_it() {
    let mut known = Knowledge::default();
    let policy = QueueDrop::default();
    assert_eq!(policy.working_set_stays, 2);
    let mut stay = |touched: &[u64]| {
        known.swapped_out(&of_100([]), &Runs::default());
        known.drop_from_queue(&of_100(touched.iter().copied()), &policy);
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
}

#[test]
fn a_page_that_was_present_all_the_time_is_neither_touched_nor_missed() {
    let policy = QueueDrop::default();
    let mut known = Knowledge::default();
    known.swapped_out(&of_100([]), &Runs::default());
    known.drop_from_queue(&of_100(0..20), &policy);
    // From here on the working set stays in storage, and each line touches another page beside it.
    let mut present: BTreeSet<u64> = (0..20).collect();
    for page in 30..40 {
        known.add_to_queue(&of_100(present.iter().copied()));
        present.insert(page);
        let now = of_100(present.iter().copied());
        known.drop_from_queue(&now, &policy);
        assert_eq!(known.working, Some(runs(0..20)), "after page {page}");
        assert_eq!(known.cold(&now), runs(30..=page));
    }
    // A trim takes what was touched once, and next time a part of the working set goes out and comes back.
    known.swapped_out(&of_100(0..20), &Runs::default());
    known.swapped_out(&of_100(10..20), &Runs::default());
    known.drop_from_queue(&of_100((0..8).chain(10..20).chain([50])), &policy);
    assert_eq!(known.working, Some(runs((0..8).chain(10..20))));
}

#[test]
fn what_was_never_outside_is_proven_by_one_return() {
    let policy = QueueDrop::default();
    let mut known = Knowledge::default();
    // Half of what he works on was outside in his first stay.
    known.swapped_out(&of_100(10..30), &Runs::default());
    known.drop_from_queue(&of_100(0..30), &policy);
    assert_eq!(known.working, Some(runs(0..10)));
    assert!(known.cold(&of_100(0..30)).is_empty());
    known.swapped_out(&of_100(0..10), &Runs::default());
    known.drop_from_queue(&of_100(0..20), &policy);
    assert_eq!(known.working, Some(runs(0..20)));
    assert_eq!(known.cold(&of_100(0..30)), runs(20..30));
}

#[test]
fn what_was_touched_in_an_earlier_stay_is_not_touched_again_by_being_there() {
    let policy = QueueDrop::default();
    let mut known = Knowledge::default();
    known.swapped_out(&of_100([]), &Runs::default());
    known.drop_from_queue(&of_100(0..20), &policy);
    known.drop_from_queue(&of_100(0..21), &policy);
    known.drop_from_queue(&of_100(0..21), &policy);
    assert_eq!(known.working, Some(runs(0..20)));
}

#[test]
fn a_stay_that_touched_nothing_tells_nothing() {
    let policy = QueueDrop::default();
    let mut known = Knowledge::default();
    known.swapped_out(&of_100([]), &Runs::default());
    known.drop_from_queue(&of_100(0..20), &policy);
    // What he works on now is something else; between two lines he only looks at the clock.
    for again in 0..3 {
        known.swapped_out(&of_100(0..20), &Runs::default());
        known.drop_from_queue(&of_100((0..20).chain(30..40)), &policy);
        let expected = if again == 0 {
            runs(0..20)
        } else {
            runs((0..20).chain(30..40))
        };
        assert_eq!(known.working, Some(expected), "line {again}");
        known.swapped_out(&of_100(0..20), &Runs::default());
        known.drop_from_queue(&of_100(0..20), &policy);
    }
}

#[test]
fn what_is_new_is_not_known() {
    let policy = QueueDrop::default();
    let mut known = Knowledge::default();
    known.swapped_out(&of_100([]), &Runs::default());
    known.drop_from_queue(&of_100(0..20), &policy);
    let grown = census((0..20).chain(100..900), 20..100);
    known.drop_from_queue(&grown, &policy);
    assert_eq!(known.working, Some(runs(0..20)));
    assert!(known.cold(&grown).is_empty());
    assert_eq!(known.trimmable(&grown), Some(runs(100..900)));
}

#[test]
fn what_was_refused_is_not_asked_again_in_this_stay() {
    let policy = QueueDrop::default();
    let mut known = Knowledge::default();
    known.swapped_out(&of_100([]), &Runs::default());
    known.drop_from_queue(&of_100(0..20), &policy);
    known.swapped_out(&of_100(0..20), &Runs::default());
    let now = of_100((0..20).chain(30..40));
    known.drop_from_queue(&now, &policy);
    assert_eq!(known.cold(&now), runs(30..40));
    // Pages that are shared with a child, or locked.
    let after = of_100((5..20).chain(35..40));
    known.swapped_out(&after, &runs((0..10).chain(30..40)));
    assert!(known.cold(&after).is_empty());
    assert_eq!(known.trimmable(&after), Some(Runs::default()));
    assert_eq!(known.part(Part::Working, &after), runs(10..20));
    known.add_to_queue(&after);
    assert_eq!(known.part(Part::Working, &after), runs(5..20));
    assert_eq!(known.part(Part::Cold, &after), runs(35..40));
}

#[test]
fn a_swapoff_teaches_nothing() {
    let mut known = Knowledge::default();
    known.swapped_out(&of_100([]), &Runs::default());
    known.drop_from_queue(&of_100(0..10), &one_stay());
    known.swapped_out(&of_100([]), &Runs::default());
    known.brought_back(&of_100(0..90));
    known.drop_from_queue(&of_100(0..90), &one_stay());
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

#[test]
fn a_process_goes_in_parts() {
    let mut known = Knowledge::default();
    let now = census((0..20).chain(30..40).chain(100..110), []);
    assert_eq!(known.part(Part::Working, &now), now.present, "nothing is known");
    known.swapped_out(&of_100([]), &Runs::default());
    known.drop_from_queue(&of_100(0..20), &one_stay());
    assert_eq!(known.part(Part::Cold, &now), runs(30..40));
    assert_eq!(known.part(Part::Unknown, &now), runs(100..110));
    assert_eq!(known.part(Part::Working, &now), runs(0..20));
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
            known.swapped_out(&census([], 0..50), &Runs::default());
        }
    }
}
