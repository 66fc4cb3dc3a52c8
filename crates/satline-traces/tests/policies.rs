//! Every policy against its naive form, against the rules that hold for all, and against another program's counts.

mod support;

use std::collections::HashMap;
use std::fs::File;

use proptest::prelude::*;
use satline_traces::policies::{
    Arc, Clock, Fifo, Generations, Lfu, Lru, POLICIES, Policy, Random, S3Fifo, Setup, Sieve, TwoList,
};
use satline_traces::replay::replay_all;
use satline_traces::{Builder, Trace, compact, distances};

fn trace(pages: &[u32]) -> Trace {
    Trace::of(pages.iter().map(|&page| u64::from(page))).unwrap()
}

/// By policy and size.
fn all_misses(trace: &Trace, sizes: &[u32]) -> HashMap<&'static str, Vec<u64>> {
    let all: Vec<_> = POLICIES.iter().collect();
    let outcomes = replay_all(trace, &all, sizes, 1, 2, &|_| ());
    let names = all.iter().map(|entry| entry.name);
    names
        .zip(
            outcomes
                .iter()
                .map(|of| of.iter().map(|one| one.misses).collect()),
        )
        .collect()
}

/// References with loops, a hot part and strangers.
fn references(most: usize) -> impl Strategy<Value = Vec<u32>> {
    let part = prop_oneof![
        (0..20_u32, 1..12_u32, 1..4_usize).prop_map(|(from, len, times)| {
            let once: Vec<u32> = (from..from + len).collect();
            once.repeat(times)
        }),
        prop::collection::vec(0..6_u32, 1..12),
        prop::collection::vec(0..60_u32, 1..12),
    ];
    prop::collection::vec(part, 1..most).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn each_policy_misses_what_its_naive_form_misses(pages in references(30), size in 1..30_u32) {
        let found = all_misses(&trace(&pages), &[size]);
        for entry in POLICIES.iter().filter(|entry| !matches!(entry.name, "random" | "working-set")) {
            let naive = support::misses(entry.name, &pages, size as usize);
            prop_assert_eq!(found[entry.name][0], naive, "{} at {}", entry.name, size);
        }
    }

    #[test]
    fn the_working_set_is_the_naive_one(pages in references(4), size in 1..12_u32) {
        let found = all_misses(&trace(&pages), &[size]);
        prop_assert_eq!(found["working-set"][0], support::misses("working-set", &pages, size as usize));
    }

    #[test]
    fn nobody_beats_opt_and_nobody_misses_less_than_the_footprint(pages in references(40)) {
        let trace = trace(&pages);
        let sizes: Vec<u32> = (1..=trace.pages + 1).collect();
        let found = all_misses(&trace, &sizes);
        for entry in POLICIES.iter().filter(|entry| entry.bounded) {
            for (at, &misses) in found[entry.name].iter().enumerate() {
                prop_assert!(misses >= found["opt"][at], "{} at {}", entry.name, sizes[at]);
                prop_assert!(misses >= u64::from(trace.pages) && misses <= pages.len() as u64);
            }
            // All pages fit: only first references miss.
            prop_assert_eq!(found[entry.name][trace.pages as usize - 1], u64::from(trace.pages), "{}", entry.name);
        }
    }

    #[test]
    fn stack_policies_include_their_smaller_selves(pages in references(40)) {
        let trace = trace(&pages);
        let sizes: Vec<u32> = (1..=trace.pages).collect();
        let found = all_misses(&trace, &sizes);
        for name in ["lru", "opt"] {
            prop_assert!(found[name].is_sorted_by(|more, fewer| more >= fewer), "{}", name);
        }
        let curve = distances::lru_misses(&trace);
        prop_assert_eq!(curve[0], pages.len() as u64);
        prop_assert_eq!(&curve[1..], &found["lru"][..]);
    }

    #[test]
    fn a_policy_gives_frames_that_are_in_use_and_may_be_taken(steps in prop::collection::vec((0..5_u8, 0..24_u32, any::<u8>()), 1..400)) {
        obeys::<Fifo>(&steps)?;
        obeys::<Random>(&steps)?;
        obeys::<Clock>(&steps)?;
        obeys::<Lru>(&steps)?;
        obeys::<Lfu>(&steps)?;
        obeys::<TwoList>(&steps)?;
        obeys::<Generations>(&steps)?;
        obeys::<Arc>(&steps)?;
        obeys::<S3Fifo>(&steps)?;
        obeys::<Sieve>(&steps)?;
    }
}

/// A machine of eight frames that takes pages away by itself too, fixes some, and does not always say what is wanted.
fn obeys<P: Policy>(steps: &[(u8, u32, u8)]) -> Result<(), TestCaseError> {
    let mut policy = P::new(&Setup {
        frames: 8,
        pages: 24,
        seed: 7,
    });
    let mut page_in: Vec<Option<u32>> = vec![None; 8];
    for &(what, page, fixed) in steps {
        let at = page_in.iter().position(|&held| held == Some(page));
        match (what, at) {
            (0, Some(frame)) => {
                policy.left(frame as u32);
                page_in[frame] = None;
            }
            (_, Some(frame)) => policy.touched(frame as u32),
            (_, None) => {
                let free = match page_in.iter().position(Option::is_none) {
                    Some(free) => free,
                    None => {
                        let takeable = |frame: u32| fixed & (1 << frame) == 0;
                        let wanted = (what > 1).then_some(page);
                        let Some(victim) = policy.victim(wanted, &mut |frame| takeable(frame)) else {
                            prop_assert_eq!(fixed, u8::MAX, "a frame could have been taken");
                            continue;
                        };
                        prop_assert!(page_in[victim as usize].is_some(), "frame {} is empty", victim);
                        prop_assert!(takeable(victim), "frame {} is fixed", victim);
                        page_in[victim as usize] = None;
                        victim as usize
                    }
                };
                page_in[free] = Some(page);
                policy.came(free as u32, page);
            }
        }
    }
    Ok(())
}

/// `tests/data/README.md` says how both files were made.
#[test]
fn a_real_trace_misses_as_often_as_in_another_simulator() {
    let file = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sort.trace")).unwrap();
    let mut builder = Builder::default();
    let ended = compact::open(file, "sort.trace")
        .unwrap()
        .into_storage(&mut builder, &mut |_| ())
        .unwrap();
    assert_eq!(ended.tail, None);
    let trace = builder.finish();
    let text = include_str!("data/libcachesim.json");
    let expected: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(expected["references"], trace.references.len());
    let sizes: Vec<u32> = serde_json::from_value(expected["sizes"].clone()).unwrap();
    let found = all_misses(&trace, &sizes);
    let policies = expected["misses"].as_object().unwrap();
    assert_eq!(policies.len(), 7);
    for (name, misses) in policies {
        let misses: Vec<u64> = serde_json::from_value(misses.clone()).unwrap();
        assert_eq!(found[name.as_str()], misses, "{name}");
    }
}

#[test]
fn every_policy_says_what_it_does() {
    for entry in POLICIES {
        assert!(entry.what().len() > 20, "{}", entry.name);
        assert!(
            entry.source.contains("//! Why:") && entry.source.contains("//! Reference:"),
            "{}",
            entry.name
        );
    }
}

#[test]
fn a_page_read_ahead_that_nobody_touches_leaves_before_those_that_were_asked_for() {
    fn first_victim<P: Policy>() -> Option<u32> {
        let mut policy = P::new(&Setup {
            frames: 3,
            pages: 9,
            seed: 1,
        });
        policy.came(0, 3);
        policy.came_ahead(1, 4);
        policy.came(2, 5);
        policy.victim(None, &mut |_| true)
    }
    assert_eq!(first_victim::<TwoList>(), Some(1));
    assert_eq!(first_victim::<Generations>(), Some(1));
    // The others know no such thing.
    assert_eq!(first_victim::<Lru>(), Some(0));
}

#[test]
fn bits_read_in_passing_are_told_once() {
    let mut policy = Generations::new(&Setup {
        frames: 3,
        pages: 9,
        seed: 1,
    });
    (0..3).for_each(|frame| policy.came(frame, frame));
    assert!(policy.victim(None, &mut |_| true).is_some());
    // At least one walk over all frames.
    assert!(policy.looked() >= 3);
    assert_eq!(policy.looked(), 0);
}
