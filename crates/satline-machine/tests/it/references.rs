//! Page references against what the workload states.

use std::collections::{HashMap, HashSet};

use crate::support::small_system::{locality, ms, workload};
use proptest::prelude::*;
use satline_machine::configuration::Locality;
use satline_machine::engine::{Span, Streams};
use satline_machine::references::{Kind, Program};

fn kind(locality: Locality) -> Kind {
    let workload = workload(locality);
    Kind::new(&workload.classes[0].transactions[0], 1.0).unwrap()
}

fn program(space: u32, shared: u32, seed: u64) -> Program {
    Program::new(space, shared, false, &Streams::new(seed, 0), 7)
}

/// Runs for so long in steps, everything present; (time, page) of the touches.
fn touches(program: &mut Program, kind: &Kind, length: Span, step: Span) -> Vec<(u64, u32)> {
    let mut touched = Vec::new();
    let mut left = length;
    while left > Span::ZERO {
        let run = left.min(step);
        assert_eq!(program.until_missing(kind, run, |_| true), None);
        program.run(run, |_| true, |at, page, _| touched.push((at, page)));
        left = left - run;
    }
    touched
}

fn own_pages(touched: &[(u64, u32)], space: u32) -> HashSet<u32> {
    let pages = touched.iter().map(|touch| touch.1);
    pages.filter(|&page| page < space).collect()
}

#[test]
fn transactions_touch_as_many_pages_as_stated_and_repeat_the_stated_part() {
    let (space, transactions) = (500, 2000);
    let kind = kind(locality());
    let mut program = program(space, 10, 1);
    let mut sizes = Vec::new();
    let (mut same, mut of) = (0, 0);
    let mut before = HashSet::new();
    for _ in 0..transactions {
        program.begin(&kind, ms(100.0));
        let touched = touches(&mut program, &kind, ms(100.0), ms(7.0));
        program.end();
        let set = own_pages(&touched, space);
        assert_eq!(touched.len(), set.len() + 3, "3 shared pages, and none twice");
        // Of a larger set no more can be the same than the one before had.
        if set.len() <= before.len() {
            same += set.intersection(&before).count();
            of += set.len();
        }
        sizes.push(set.len() as f64);
        before = set;
    }
    let count = f64::from(transactions);
    let mean = sizes.iter().sum::<f64>() / count;
    let sd = (sizes.iter().map(|size| (size - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
    assert!((mean - 20.0).abs() < 4.0 * 5.0 / count.sqrt(), "mean {mean}");
    assert!((sd - 5.0).abs() < 0.4, "standard deviation {sd}");
    let repeated = same as f64 / of as f64;
    assert!((repeated - 0.8).abs() < 0.01, "repeated {repeated}");
}

#[test]
fn the_working_set_grows_as_the_stated_power_of_the_phase() {
    for growth in [0.5, 1.0, 2.0] {
        let kind = kind(Locality {
            working_set_pages: 100.0,
            working_set_sd: 0.0,
            shared_pages: 0,
            growth,
            ..locality()
        });
        let mut program = program(400, 0, 2);
        program.begin(&kind, ms(100.0));
        let touched = touches(&mut program, &kind, ms(100.0), ms(1.0));
        for part in [0.1, 0.25, 0.5, 0.9, 1.0] {
            let reached = touched
                .iter()
                .filter(|touch| touch.0 < ms(part * 100.0).ns())
                .count() as f64;
            assert!(
                (reached - 100.0 * f64::powf(part, growth)).abs() <= 1.0,
                "{growth}: {reached} at {part}"
            );
        }
    }
}

#[test]
fn a_long_transaction_has_phases_of_the_stated_length_each_with_its_set() {
    let kind = kind(Locality {
        working_set_sd: 0.0,
        repeatability: 0.5,
        shared_pages: 0,
        ..locality()
    });
    let mut program = program(500, 0, 3);
    // 3.2 phases of 300 ms: three of 320 ms.
    program.begin(&kind, ms(960.0));
    let touched = touches(&mut program, &kind, ms(960.0), ms(50.0));
    let sets: Vec<HashSet<u32>> = (0..3)
        .map(|phase| {
            let within = |touch: &&(u64, u32)| touch.0 / ms(320.0).ns() == phase;
            touched.iter().filter(within).map(|touch| touch.1).collect()
        })
        .collect();
    assert_eq!(sets.iter().map(HashSet::len).collect::<Vec<_>>(), [20, 20, 20]);
    assert_eq!(sets[0].intersection(&sets[1]).count(), 10);
    assert_eq!(sets[1].intersection(&sets[2]).count(), 10);
}

#[test]
fn a_page_whose_bit_was_reset_is_touched_again_after_the_stated_interval() {
    let kind = kind(Locality {
        working_set_pages: 1.0,
        working_set_sd: 0.0,
        phase: ms(1e12),
        shared_pages: 0,
        ..locality()
    });
    let mut program = program(1, 0, 4);
    program.begin(&kind, ms(1e9));
    touches(&mut program, &kind, ms(1.0), ms(1.0));
    let (count, mut sum) = (20_000, 0.0);
    for _ in 0..count {
        // Taken away: its next touch is a fault.
        program.unsee(0);
        let until = program.until_missing(&kind, ms(1e6), |_| false).unwrap();
        sum += until.seconds() * 1e3;
        program.run(until, |_| true, |_, _, _| {});
        // Not known until somebody asks again.
        assert_eq!(program.until_missing(&kind, ms(1e6), |_| false), None);
    }
    let mean = sum / f64::from(count);
    assert!(
        (mean - 5.0).abs() < 4.0 * 5.0 / f64::from(count).sqrt(),
        "mean {mean} ms"
    );
}

#[test]
fn a_bit_that_was_reset_in_the_middle_of_a_run_comes_on_again_in_it() {
    let kind = kind(Locality {
        working_set_pages: 1.0,
        working_set_sd: 0.0,
        phase: ms(1e12),
        shared_pages: 0,
        ..locality()
    });
    let mut program = program(1, 0, 4);
    program.begin(&kind, ms(1e9));
    // It runs on another processor: nobody asks for its next fault.
    assert_eq!(program.until_missing(&kind, ms(1000.0), |_| true), None);
    program.run(ms(10.0), |_| true, |_, _, _| {});
    program.unsee(0);
    let mut again = Vec::new();
    program.run(ms(200.0), |_| true, |at, page, _| again.push((at, page)));
    let [(at, 0)] = again[..] else { panic!("{again:?}") };
    assert!((ms(10.0).ns()..ms(210.0).ns()).contains(&at), "{at}");
}

#[test]
fn shared_pages_are_never_changed() {
    let kind = kind(Locality {
        changed: 1.0,
        shared_pages: 10,
        ..locality()
    });
    let mut program = program(60, 10, 4);
    program.begin(&kind, ms(300.0));
    assert_eq!(program.until_missing(&kind, ms(300.0), |_| true), None);
    let (mut own, mut shared) = (0, 0);
    program.run(
        ms(300.0),
        |_| true,
        |_, page, changes| {
            assert_eq!(changes, page < 60);
            *if page < 60 { &mut own } else { &mut shared } += 1;
        },
    );
    assert!(own > 0 && shared == 10, "{own} {shared}");
}

#[test]
fn every_touch_comes_at_the_stated_rate_where_all_are_wanted() {
    let kind = kind(Locality {
        working_set_pages: 10.0,
        working_set_sd: 0.0,
        shared_pages: 0,
        phase: ms(1e9),
        growth: 1.0,
        ..locality()
    });
    let mut program = Program::new(50, 0, true, &Streams::new(5, 0), 0);
    // All ten are in use after nine tenths of the phase at the latest; count after that.
    program.begin(&kind, ms(100_000.0));
    let touched = touches(&mut program, &kind, ms(100_000.0), ms(50.0));
    let late: Vec<_> = touched
        .iter()
        .filter(|touch| touch.0 >= ms(90_000.0).ns())
        .collect();
    let wanted = 10.0 * 10_000.0 / 5.0;
    assert!(
        (late.len() as f64 - wanted).abs() < 4.0 * wanted.sqrt(),
        "{} touches",
        late.len()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What is touched first, and when, does not depend on what is in storage, nor on how long the bursts are.
    #[test]
    fn first_touches_do_not_depend_on_paging(seed: u64, absent in 0.0..1.0_f64, step_us in 1.0..200_000.0_f64) {
        let kind = kind(locality());
        let (mut calm, mut driven) = (program(60, 10, seed), program(60, 10, seed));
        let mut chance = Streams::new(seed, 1).stream(0, "absent");
        for _ in 0..4 {
            let demand = ms(700.0);
            calm.begin(&kind, demand);
            driven.begin(&kind, demand);
            let wanted = touches(&mut calm, &kind, demand, ms(1e6));
            let (mut seen, mut left) = (Vec::new(), demand);
            let mut missing: HashSet<u32> = HashSet::new();
            loop {
                let limit = left.min(ms(step_us * 1e-3));
                let until = driven.until_missing(&kind, limit, |page| !missing.contains(&page));
                let run = until.unwrap_or(limit);
                driven.run(run, |page| !missing.contains(&page), |at, page, _| seen.push((at, page)));
                left = left - run;
                if until.is_some() {
                    let page = driven.missing(|page| !missing.contains(&page)).unwrap();
                    prop_assert!(missing.remove(&page));
                    driven.run(Span::ZERO, |page| !missing.contains(&page), |at, page, _| seen.push((at, page)));
                } else if left == Span::ZERO {
                    break;
                }
                for page in 0..70 {
                    use rand::RngExt;
                    if chance.random::<f64>() < absent * 0.2 && missing.insert(page) {
                        driven.unsee(page);
                    }
                }
            }
            let mut first: HashMap<(u64, u32), u64> = HashMap::new();
            for &(at, page) in &seen {
                // A page may come again in each phase of 350 ms.
                let start = wanted[0].0;
                first.entry(((at - start) / ms(350.0).ns(), page)).or_insert(at);
            }
            let mut first: Vec<(u64, u32)> = first.into_iter().map(|((_, page), at)| (at, page)).collect();
            first.sort_unstable();
            let mut wanted = wanted;
            wanted.sort_unstable();
            prop_assert_eq!(first, wanted);
        }
    }

    /// What was found holds until pages move, over interrupted bursts, reset bits, phases and transactions: whoever looks
    /// anew each time finds the same and draws the same.
    #[test]
    fn what_was_found_holds_until_pages_move(
        seed: u64, absent in 0.0..0.3_f64, steps in prop::collection::vec((0..4_u8, 0.0..1.0_f64, 1.0..80_000.0_f64), 1..120),
    ) {
        use rand::RngExt;
        let kind = kind(locality());
        let mut both = [program(60, 10, seed), program(60, 10, seed)];
        both.iter_mut().for_each(|one| one.begin(&kind, ms(700.0)));
        let mut chance = Streams::new(seed, 1).stream(0, "absent");
        let (mut missing, mut moves, mut left) = (HashSet::<u32>::new(), 0_u32, ms(700.0));
        for (what, part, limit_us) in steps {
            let limit = left.min(ms(limit_us * 1e-3));
            let present = |page: u32| !missing.contains(&page);
            let [anew, kept] = &mut both;
            let until = anew.until_missing(&kind, limit, present);
            if !kept.foresees(moves, limit) {
                kept.look(moves, &kind, limit, present);
            }
            prop_assert_eq!(kept.next_missing(limit), until);
            let most = until.unwrap_or(limit);
            let run = if what == 0 { most } else { Span::from_ns((most.ns() as f64 * part) as u64) };
            let mut seen = [Vec::new(), Vec::new()];
            for (one, seen) in both.iter_mut().zip(&mut seen) {
                one.run(run, present, |at, page, _| seen.push((at, page)));
            }
            prop_assert_eq!(&seen[0], &seen[1]);
            left = left - run;
            match what {
                // He stands at his fault, and the page comes; or his transaction ends.
                0 => match both[0].missing(present) {
                    Some(page) if until.is_some() => { missing.remove(&page); moves += 1; }
                    _ if left == Span::ZERO => {
                        left = ms(700.0);
                        both.iter_mut().for_each(|one| one.begin(&kind, left));
                    }
                    _ => {}
                },
                1 => for page in 0..70 {
                    if chance.random::<f64>() < absent && missing.insert(page) {
                        moves += 1;
                        both.iter_mut().for_each(|one| one.unsee(page));
                    }
                },
                // Bits of pages that stay are reset.
                2 => for page in (0..70).filter(|page| !missing.contains(page)) {
                    both.iter_mut().for_each(|one| one.unsee(page));
                },
                _ => {}
            }
        }
    }

    /// The answer is the time of the first touch that is missing: nothing before it was.
    #[test]
    fn nothing_is_missed_before_the_fault(seed: u64, absent in prop::collection::hash_set(0..70_u32, 1..70)) {
        let kind = kind(locality());
        let (mut asked, mut run) = (program(60, 10, seed), program(60, 10, seed));
        asked.begin(&kind, ms(700.0));
        run.begin(&kind, ms(700.0));
        let all = touches(&mut run, &kind, ms(700.0), ms(700.0));
        let first = all.iter().filter(|touch| absent.contains(&touch.1)).map(|touch| touch.0).min();
        let until = asked.until_missing(&kind, ms(700.0), |page| !absent.contains(&page));
        prop_assert_eq!(until.map(Span::ns), first);
        prop_assert_eq!(asked.until_missing(&kind, ms(700.0), |page| !absent.contains(&page)), until);
    }
}
