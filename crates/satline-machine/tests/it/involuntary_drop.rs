//! Involuntary queue-drop: who leaves, what he is let in for next, that everybody goes on, and what it does to an
//! overcommitted machine.

use crate::support::files;
use crate::support::machines::{at, class, kind, machine, s, workload};
use crate::support::swapping::plans;
use proptest::prelude::*;
use satline_machine::configuration::{Machine, Prefetch, Workload, explain};
use satline_machine::engine::{Distribution, Span, Streams};
use satline_machine::model::{Plan, Simulation};
use satline_machine::policies::{dispatch, listings, queue_drop, replacement};
use satline_machine::readings::{Observer, Reading, Status, Transition, UserReading};
use satline_machine::summary::{Steps, Summary};

/// Users who hardly think, each with a working set of so many pages.
fn pressing(pages: f64, cpu: Distribution) -> Workload {
    let mut work = kind(cpu);
    work.locality.working_set_pages = pages;
    work.locality.working_set_sd = pages / 5.0;
    work.locality.repeatability = 0.7;
    work.locality.changed = 0.3;
    work.locality.phase = s(0.3);
    let mut made = workload(vec![class(Distribution::exponential(0.5).unwrap(), vec![work])]);
    made.classes[0].space_pages = 60;
    made
}

/// Projections are so much of what they should be.
fn overcommitted(frames: u32, projection_factor: f64, policy: &str) -> Machine {
    let mut machine = machine();
    machine.storage.pageable_frames = frames;
    machine.scheduler.projection_factor = projection_factor;
    machine.policies.involuntary_drop = policy.into();
    machine
}

fn in_queue(status: Status) -> bool {
    matches!(status, Status::Q1 | Status::Q2)
}

/// Transitions since they were last looked at.
#[derive(Default)]
struct Changes(Vec<Transition>);

impl Observer for Changes {
    fn transition(&mut self, transition: &Transition) {
        self.0.push(*transition);
    }
}

/// Looks every half millisecond: of a drop that nothing else came near, what was before it and what is after it.
fn lone_drops(
    machine: &Machine,
    workload: &Workload,
    users: u32,
    end_s: f64,
) -> Vec<(Reading, Reading, usize)> {
    let plan = Plan::constant(users, at(end_s));
    let mut simulation = Simulation::new(machine, workload, &plan, Streams::new(3, 0)).unwrap();
    let mut found = Vec::new();
    let mut was = simulation.reading().clone();
    for step in 1..(end_s * 2000.0) as u64 {
        let mut changes = Changes::default();
        simulation.run_until(at(0.0) + Span::from_ns(step * 500_000), &mut changes);
        let is = simulation.reading();
        let involuntary = is.system.involuntary_drops.unwrap() - was.system.involuntary_drops.unwrap();
        if let ([change], 1) = (&changes.0[..], involuntary) {
            found.push((was.clone(), is.clone(), change.user as usize));
        }
        was.clone_from(is);
    }
    simulation.audit().unwrap();
    found
}

#[test]
fn who_is_dropped_had_outgrown_his_projection_and_there_was_no_room() {
    let machine = overcommitted(60, 0.3, "outgrown");
    let work = pressing(20.0, Distribution::exponential(1.0).unwrap());
    let drops = lone_drops(&machine, &work, 14, 60.0);
    assert!(drops.len() > 20, "{}", drops.len());
    let (mut of_q1, mut of_q2) = (0, 0);
    for (was, is, user) in &drops {
        let (before, after) = (was.users[*user], is.users[*user]);
        let interactive = before.status == Status::Q1;
        (of_q1, of_q2) = (of_q1 + u32::from(interactive), of_q2 + u32::from(!interactive));
        assert!(in_queue(before.status) && after.status == Status::Q2Candidate);
        // What he held and the page that he asked for.
        let held = after.projected_pages - 1;
        assert!(held > before.projected_pages, "{before:?} {after:?}");
        let others = is.users.iter().filter(|user| in_queue(user.status));
        let others: Vec<u32> = others.map(|user: &UserReading| user.projected_pages).collect();
        assert!(!others.is_empty());
        let factor = if interactive { 1.25 } else { 1.0 };
        assert!(f64::from(others.iter().sum::<u32>() + held) > 60.0 * factor);
    }
    assert!(of_q1 > 0 && of_q2 > 0, "{of_q1} {of_q2}");
}

#[test]
fn who_is_dropped_goes_on_when_the_page_for_which_he_was_has_come() {
    let machine = overcommitted(60, 0.3, "outgrown");
    let work = pressing(20.0, Distribution::exponential(1.0).unwrap());
    let end_s = 60.0;
    let plan = Plan::constant(14, at(end_s));
    let mut simulation = Simulation::new(&machine, &work, &plan, Streams::new(3, 0)).unwrap();
    // Of those who were dropped and have not run since, what they were then, and before the page.
    let mut out: Vec<Option<UserReading>> = vec![None; 14];
    let mut was = simulation.reading().clone();
    let (mut came_outside, mut went_on) = (0, 0);
    for step in 1..(end_s * 1000.0) as u64 {
        let mut changes = Changes::default();
        simulation.run_until(at(step as f64 * 1e-3), &mut changes);
        let is = simulation.reading();
        let involuntary = is.system.involuntary_drops.unwrap() - was.system.involuntary_drops.unwrap();
        let left = |change: &&Transition| in_queue(change.from);
        for (number, at_drop) in out.iter_mut().enumerate() {
            let (before, now) = (was.users[number], is.users[number]);
            if let Some(then) = at_drop {
                if now.problem_ns > then.problem_ns {
                    assert!(now.page_reads > then.page_reads, "{then:?} {now:?}");
                    went_on += 1;
                    *at_drop = None;
                } else if now.status == Status::Q2Candidate && now.page_reads > before.page_reads {
                    came_outside += 1;
                }
            }
        }
        // Whoever left did so against his will.
        if changes.0.iter().filter(left).count() as u64 == involuntary {
            for change in changes.0.iter().filter(left) {
                let user = change.user as usize;
                out[user] = Some(UserReading {
                    page_reads: was.users[user].page_reads,
                    ..is.users[user]
                });
            }
        }
        was.clone_from(is);
    }
    simulation.audit().unwrap();
    assert!(went_on > 20 && came_outside > 20, "{went_on} {came_outside}");
}

/// Mean users in queue, steals from them per s, and transactions per s after the warm-up.
fn effect(policy: &str, seed: u64) -> (f64, f64, f64) {
    let machine = overcommitted(100, 0.3, policy);
    let work = pressing(20.0, Distribution::exponential(0.6).unwrap());
    let plan = Plan {
        sample_every: s(100.0),
        ..Plan::constant(40, at(500.0))
    };
    let mut simulation = Simulation::new(&machine, &work, &plan, Streams::new(seed, 0)).unwrap();
    simulation.run_until(at(100.0), &mut ());
    let from = simulation.reading().system;
    simulation.run_until(at(500.0), &mut ());
    simulation.audit().unwrap();
    let to = simulation.reading().system;
    let mpl = (to.q1_ns + to.q2_ns - from.q1_ns - from.q2_ns) as f64 * 1e-9 / 400.0;
    let per_s = |count: u64| count as f64 / 400.0;
    (
        mpl,
        per_s(to.steals - from.steals),
        per_s(to.transactions - from.transactions),
    )
}

/// Projections of a third let in three times as many working sets as there is room for.
#[test]
fn an_overcommitted_machine_has_fewer_users_in_queue_and_steals_less_from_them() {
    for seed in 0..4 {
        let (off, on) = (effect("never", seed), effect("outgrown", seed));
        assert!(on.0 < 0.9 * off.0, "users in queue: {on:?} {off:?}");
        assert!(on.1 < 0.9 * off.1, "steals: {on:?} {off:?}");
    }
}

prop_compose! {
    fn short_machines()(
        (frames, factor, minimum) in (12..120_u32, 0.05..1.5, 1..10_u32),
        (processors, q2_ms, quantum_ms) in (1..4_u32, 50..400_u64, 5..60_u64),
        (q1_factor, free) in (0.5..1.5, 0..6_u32),
        policies in prop::array::uniform3(0..100_usize),
        (swapping, recorded) in (prop::option::of(plans()), prop::option::of(1..20_u32)),
    ) -> Machine {
        let mut made = overcommitted(frames, factor, "outgrown");
        made.processors.count = processors;
        made.storage.free_list_minimum = free;
        made.scheduler.minimum_working_set = minimum;
        made.scheduler.q1_frames_factor = q1_factor;
        made.scheduler.q1_slice = Span::from_ns(50_000_000);
        made.scheduler.q2_slice = Span::from_ns(q2_ms * 1_000_000);
        made.scheduler.quantum = Span::from_ns(quantum_ms * 1_000_000);
        made.policies.replacement = replacement::POLICIES[policies[0] % replacement::POLICIES.len()].name.into();
        made.policies.queue_drop = queue_drop::POLICIES[policies[1] % queue_drop::POLICIES.len()].name.into();
        made.policies.dispatch = dispatch::POLICIES[policies[2] % dispatch::POLICIES.len()].name.into();
        // Sets go and come as wholes: pages are read ahead only without.
        made.paging.peers.prefetch = recorded.filter(|_| swapping.is_none()).map(|most| Prefetch { most_pages: Some(most) });
        made.swapping = swapping;
        made
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    /// However small the storage and wrong the projections: everybody computes, and drops are as few as they must be.
    #[test]
    fn everybody_goes_on(machine in short_machines(), users in 2..12_u32, pages in 4.0..45.0_f64, shared in 0..8_u32, seed: u64) {
        let mut work = pressing(pages, Distribution::fixed(0.5).unwrap());
        work.classes[0].think = Distribution::exponential(0.05).unwrap();
        work.shared_pages = shared;
        let kind = &mut work.classes[0].transactions[0];
        kind.locality.shared_pages = shared;
        kind.locality.reference_interval = s(0.05);
        kind.cpu_between_ios = Some(s(0.1));
        let plan = Plan { sample_every: s(1.7), ..Plan::constant(users, at(800.0)) };
        let mut simulation = Simulation::new(&machine, &work, &plan, Streams::new(seed, 0)).unwrap();
        simulation.run_until(at(400.0), &mut ());
        let half = simulation.reading().clone();
        simulation.run_until(at(800.0), &mut ());
        prop_assert_eq!(simulation.audit(), Ok(()));
        let whole = simulation.reading();
        for (number, (was, is)) in half.users.iter().zip(&whole.users).enumerate() {
            prop_assert!(is.problem_ns > was.problem_ns, "user {number}: {was:?} {is:?}");
        }
        // Between two other drops of a user at most half as many as he has pages.
        let system = whole.system;
        let involuntary = system.involuntary_drops.unwrap();
        let others = system.q1_drops + system.q2_drops - involuntary + u64::from(users);
        prop_assert!(involuntary <= 30 * others, "{involuntary} {others}");
    }
}

/// Pages that came for those who are out of queue do not fill storage.
#[test]
fn more_users_than_frames_go_on() {
    let mut machine = overcommitted(10, 0.1, "outgrown");
    machine.scheduler.q1_slice = s(0.05);
    machine.scheduler.q2_slice = s(0.1);
    let mut work = pressing(9.0, Distribution::fixed(0.5).unwrap());
    work.classes[0].space_pages = 30;
    work.classes[0].transactions[0].locality.reference_interval = s(0.05);
    let mut simulation = Simulation::new(
        &machine,
        &work,
        &Plan::constant(70, at(1000.0)),
        Streams::new(1, 0),
    )
    .unwrap();
    simulation.run_until(at(500.0), &mut ());
    let half = simulation.reading().clone();
    simulation.run_until(at(1000.0), &mut ());
    simulation.audit().unwrap();
    let whole = simulation.reading();
    assert!(whole.system.involuntary_drops > Some(1000), "{:?}", whole.system);
    for (was, is) in half.users.iter().zip(&whole.users) {
        assert!(is.problem_ns > was.problem_ns, "{was:?} {is:?}");
    }
}

#[test]
fn the_last_user_in_queue_stays() {
    // 40 pages, and 20 frames for them.
    let machine = overcommitted(20, 0.1, "outgrown");
    let mut work = pressing(40.0, Distribution::fixed(1.0).unwrap());
    work.classes[0].transactions[0].locality.working_set_sd = 0.0;
    let mut alone =
        Simulation::new(&machine, &work, &Plan::constant(1, at(300.0)), Streams::new(1, 0)).unwrap();
    alone.run_until(at(300.0), &mut ());
    alone.audit().unwrap();
    let system = alone.reading().system;
    assert!(system.steals > 1000 && system.transactions > 0, "{system:?}");
    assert_eq!(system.involuntary_drops, Some(0));
}

#[test]
fn drops_are_counted_where_there_may_be_any() {
    let measures = |policy| {
        let work = pressing(20.0, Distribution::exponential(0.6).unwrap());
        let plan = Plan {
            sample_every: s(10.0),
            ..Plan::constant(40, at(100.0))
        };
        let machine = overcommitted(100, 0.3, policy);
        let mut simulation = Simulation::new(&machine, &work, &plan, Streams::new(1, 0)).unwrap();
        let steps = Steps::of_loads(&[40], s(100.0), s(20.0), s(10.0)).unwrap();
        let mut summary = Summary::new(
            steps,
            machine.devices.iter().map(|unit| unit.name.clone()).collect(),
        );
        summary.sample(simulation.reading());
        simulation.run_until(at(100.0), &mut summary);
        summary.steps().remove(0).measures
    };
    let on = measures("outgrown");
    let of = |name: &str| on[name].unwrap();
    let involuntary = of("involuntary_drops_per_s");
    assert!(involuntary > 0.0 && involuntary < of("q1_drops_per_s") + of("q2_drops_per_s"));
    assert!(!measures("never").contains_key("involuntary_drops_per_s"));
}

#[test]
fn a_machine_file_names_it() {
    let text = files::text(&files::machine_path("3081D"));
    let with = |sets: &[(&str, &str)]| files::machine(&text, sets);
    assert_eq!(with(&[]).unwrap().machine.policies.involuntary_drop, "never");
    let file = with(&[("scheduler.involuntary_drop", "outgrown")]).unwrap();
    assert_eq!(file.machine.policies.involuntary_drop, "outgrown");
    let what = |table: &str, name: &str| {
        let listing = listings().into_iter().find(|listing| listing.key == table)?;
        let policy = listing.policies.into_iter().find(|policy| policy.0 == name)?;
        Some(policy.1)
    };
    let shown = explain::machine(&file, &what);
    let mut lines = shown.lines().filter(|line| line.contains("involuntary_drop"));
    assert!(lines.next().unwrap().contains("set for this run"), "{shown}");
    assert!(lines.next().unwrap().contains("outgrown"), "{shown}");
    let table = listings()
        .into_iter()
        .find(|listing| listing.key == "involuntary_drop")
        .unwrap();
    assert_eq!(table.table, "scheduler");
}

#[test]
fn a_wrong_name_is_refused_with_its_line_and_a_remedy() {
    let good = files::text(&files::machine_path("3081D"));
    for (value, why, hint) in [
        (
            "\"outgrow\"",
            "scheduler.involuntary_drop is \"outgrow\"",
            "did you mean outgrown?",
        ),
        (
            "\"\\u001b[2J\"",
            "is \"\\u{1b}[2J\"",
            "give one of never, outgrown",
        ),
        ("true", "scheduler.involuntary_drop is true or false", "in quotes"),
    ] {
        let to = format!("involuntary_drop = {value}\nprojection_factor = 1.0");
        let bad = files::spoilt(&good, "projection_factor = 1.0", &to);
        let error = files::machine(&bad, &[]).map(|_| ()).unwrap_err();
        assert!(
            error.message.contains(".toml, line ") && error.message.contains(why),
            "{error}"
        );
        assert!(error.hint.contains(hint), "{}", error.hint);
    }
    // As a policy's name it has a place of its own.
    let error = files::machine(&good, &[("policies.involuntary_drop", "outgrown")]).map(|_| ());
    assert!(
        error
            .unwrap_err()
            .message
            .contains("policies.involuntary_drop is not known")
    );
}
