//! The scheduler, the dispatcher and the time accounts, by hand.

use crate::support::machines::{at, background, class, kind, machine, run, s, simulation, workload};
use satline_machine::configuration::class_of;
use satline_machine::configuration::{Machine, Workload};
use satline_machine::engine::{Distribution, Span, Streams};
use satline_machine::model::{Plan, Simulation, Step};
use satline_machine::readings::{Activity, Status};

fn fixed(seconds: f64) -> Distribution {
    Distribution::fixed(seconds).unwrap()
}

/// Storage where the whole program is, after its first transaction.
fn one_user(think_s: f64, cpu_s: f64) -> Workload {
    workload(vec![class(fixed(think_s), vec![kind(fixed(cpu_s))])])
}

fn us(us: u64) -> Span {
    Span::from_ns(us * 1000)
}

/// Costs without those of paging.
fn costly() -> Machine {
    let mut machine = machine();
    machine.costs.dispatch = us(100);
    machine.costs.queue_add = us(1000);
    machine.costs.queue_drop = us(2000);
    machine
}

#[test]
fn a_lone_transaction_takes_its_cpu_time_and_its_paths() {
    let kept = run(&mut simulation(&costly(), &one_user(1.0, 0.12), 1, 30.0), 30.0);
    // Page faults of the first one apart: 120 ms in quanta of 50 ms, then 4 × 50 ms: two dispatches.
    let record = kept.records[1];
    assert_eq!(record.problem_ns, us(120_000).ns());
    assert_eq!(record.supervisor_ns, us(1000 + 2 * 100 + 2000).ns());
    assert_eq!(
        (record.ended - record.started).ns(),
        record.problem_ns + record.supervisor_ns
    );
    assert_eq!((record.stays, record.ios, record.page_reads), (1, 0, 0));
    assert!(record.interactive);
    assert_eq!(record.think, s(1.0));
    let previous = kept.records[0];
    assert_eq!(record.started, previous.ended + s(1.0));
}

#[test]
fn a_long_transaction_goes_from_q1_to_q2_and_cycles() {
    let kept = run(&mut simulation(&machine(), &one_user(1.0, 11.0), 1, 40.0), 40.0);
    let places: Vec<Status> = kept
        .transitions
        .iter()
        .map(|transition| transition.to)
        .take(10)
        .collect();
    use Status::{Dormant, Q1, Q1Candidate, Q2, Q2Candidate};
    // 0.4 s in Q1, then 5 s, 5 s and 0.6 s in Q2.
    assert_eq!(
        places,
        [
            Dormant,
            Q1Candidate,
            Q1,
            Q2Candidate,
            Q2,
            Q2Candidate,
            Q2,
            Q2Candidate,
            Q2,
            Dormant
        ]
    );
    assert_eq!(kept.records[0].stays, 4);
    assert!(!kept.records[0].interactive);
    let second: Vec<_> = kept
        .transitions
        .iter()
        .skip(10)
        .take(3)
        .map(|transition| transition.time)
        .collect();
    assert_eq!(second[2] - second[1], s(0.4));
}

#[test]
fn a_compute_bound_user_gets_quanta_four_times_as_long() {
    let mut workload = one_user(1000.0, 1.0);
    workload.background = vec![background(1, kind(fixed(1e6)))];
    let mut machine = machine();
    machine.scheduler.q1_slice = s(1000.0);
    let mut lone = simulation(&machine, &workload, 1, 10.0);
    run(&mut lone, 5.0);
    let before = lone.reading().system.dispatches;
    run(&mut lone, 10.0);
    // 5 s in quanta of 0.2 s.
    assert_eq!(lone.reading().system.dispatches - before, 25);
}

#[test]
fn quanta_take_turns_between_equals_and_cpu_wait_is_accounted() {
    let mut workload = one_user(1000.0, 1.0);
    workload.background = vec![background(3, kind(fixed(1e6)))];
    let mut three = simulation(&machine(), &workload, 1, 100.0);
    run(&mut three, 10.0);
    let before = three.reading().users.clone();
    run(&mut three, 100.0);
    for (was, is) in before.iter().zip(&three.reading().users).skip(1) {
        assert_eq!((is.status, is.background), (Status::Q2, true));
        let problem_s = (is.problem_ns - was.problem_ns) as f64 * 1e-9;
        // A Q2 stay is 5 s; its end lets the others in between.
        assert!((problem_s - 30.0).abs() < 0.5, "{problem_s}");
        let wait_s = (is.cpu_wait_ns - was.cpu_wait_ns + is.eligible_ns - was.eligible_ns) as f64 * 1e-9;
        assert!((wait_s - 60.0).abs() < 0.5, "{wait_s}");
    }
    let processor = three.reading().processors[0];
    assert!(processor.idle_ns + processor.page_wait_ns < s(0.5).ns());
    let system = three.reading().system;
    assert_eq!(
        (system.q2, system.logged_on, system.transactions),
        (0, 1, 0),
        "background is no user"
    );
}

#[test]
fn an_interactive_user_preempts_and_a_noninteractive_one_does_not() {
    for (policy, waits) in [("priority", false), ("round-robin", true)] {
        let mut machine = machine();
        machine.policies.dispatch = policy.into();
        let mut workload = one_user(1.03, 0.01);
        workload.background = vec![background(1, kind(fixed(1e6)))];
        let kept = run(&mut simulation(&machine, &workload, 1, 100.0), 100.0);
        let late = &kept.records[20..];
        let waited = late.iter().filter(|record| record.cpu_wait_ns > 0).count();
        assert_eq!(
            waited == late.len(),
            waits,
            "{policy}: {waited} of {}",
            late.len()
        );
        assert!(waits || waited == 0, "{policy}");
    }
}

#[test]
fn two_processors_run_two_users() {
    let mut machine = machine();
    machine.processors.count = 2;
    let mut workload = one_user(1000.0, 1.0);
    workload.background = vec![background(2, kind(fixed(1e6)))];
    let mut two = simulation(&machine, &workload, 1, 100.0);
    run(&mut two, 100.0);
    for processor in &two.reading().processors {
        assert!(processor.problem_ns > s(99.0).ns(), "{processor:?}");
    }
    let running = two
        .reading()
        .users
        .iter()
        .filter(|user| user.activity == Activity::Running);
    assert_eq!(running.count(), 2);
}

#[test]
fn a_switch_to_another_user_checks_the_shared_pages() {
    let mut machine = machine();
    machine.costs.shared_page_check = us(10);
    let mut workload = one_user(1000.0, 1.0);
    workload.shared_pages = 30;
    let mut work = kind(fixed(1e6));
    work.locality.shared_pages = 30;
    let supervisor = |count| {
        let mut workload = workload.clone();
        workload.background = vec![background(count, work.clone())];
        let mut simulation = simulation(&machine, &workload, 1, 60.0);
        run(&mut simulation, 60.0);
        (
            simulation.reading().processors[0].supervisor_ns,
            simulation.reading().system.dispatches,
        )
    };
    // A lone user pays while his pages come in; two of them pay 300 µs at every switch.
    let (alone, _) = supervisor(1);
    let (both, dispatches) = supervisor(2);
    assert!(dispatches > 200);
    let each_us = (both - alone) as f64 * 1e-3 / dispatches as f64;
    assert!((250.0..=300.0).contains(&each_us), "{each_us}");
}

#[test]
fn simulated_instructions_are_supervisor_time_in_proportion() {
    let mut machine = machine();
    machine.costs.simulation = us(200);
    machine.processors.speed = 2.0;
    let mut work = kind(fixed(1.0));
    work.cpu_between_simulations = Some(us(4000));
    let kept = run(
        &mut simulation(&machine, &workload(vec![class(fixed(1.0), vec![work])]), 1, 20.0),
        20.0,
    );
    let record = kept.records[2];
    // 1 s on the reference is 0.5 s here; 200 µs for every 2 ms: a tenth.
    assert_eq!(record.problem_ns, s(0.5).ns());
    assert!(
        record.supervisor_ns.abs_diff(s(0.05).ns()) < 100,
        "{}",
        record.supervisor_ns
    );
}

#[test]
fn io_is_waited_for_and_counted() {
    let mut work = kind(fixed(0.2));
    work.cpu_between_ios = Some(us(10_000));
    work.io.blocks = 4;
    let mut machine = machine();
    machine.costs.user_io_start = us(500);
    machine.costs.user_io_end = us(300);
    let mut one = simulation(&machine, &workload(vec![class(fixed(0.5), vec![work])]), 1, 200.0);
    let kept = run(&mut one, 200.0);
    let reading = one.reading();
    let devices = &reading.devices[1..];
    let blocks: u64 = devices.iter().map(|device| device.user_blocks).sum();
    let ios: u64 = devices.iter().map(|device| device.user_ios).sum();
    assert!(reading.system.user_ios - ios <= 1 && ios > 2000, "{ios}");
    assert_eq!(blocks, 4 * ios);
    assert!(
        devices.iter().all(|device| device.user_ios > ios / 3),
        "an even skew"
    );
    // 20 per transaction; the wait is that of the devices but for the paths.
    let mean = kept
        .records
        .iter()
        .map(|record| f64::from(record.ios))
        .sum::<f64>()
        / kept.records.len() as f64;
    assert!((mean - 20.0).abs() < 1.0, "{mean}");
    let served: u128 = devices
        .iter()
        .map(|d| d.queue_ns + d.pend_ns + d.disconnect_ns + d.connect_ns)
        .sum();
    assert!(reading.processors[0].io_wait_ns > 0);
    assert!(u128::from(reading.users[0].io_wait_ns).abs_diff(served) < u128::from(s(0.1).ns()));
    for record in &kept.records {
        let paths = u64::from(record.ios) * us(800).ns();
        assert_eq!(record.supervisor_ns, paths);
    }
}

#[test]
fn skew_prefers_the_first_device() {
    let mut work = kind(fixed(0.2));
    work.cpu_between_ios = Some(us(10_000));
    work.io.skew = 1.0;
    let mut one = simulation(
        &machine(),
        &workload(vec![class(fixed(0.5), vec![work])]),
        1,
        200.0,
    );
    run(&mut one, 200.0);
    let devices = &one.reading().devices;
    let share = devices[1].user_ios as f64 / (devices[1].user_ios + devices[2].user_ios) as f64;
    assert!((share - 2.0 / 3.0).abs() < 0.03, "{share}");
}

#[test]
fn users_log_on_and_off_as_they_are_wanted() {
    let plan = Plan {
        users: 5,
        steps: [(10.0, 5), (50.0, 2), (80.0, 4)]
            .map(|(from, users)| Step {
                from: at(from),
                users,
            })
            .into(),
        ..Plan::constant(5, at(100.0))
    };
    let mut some = Simulation::new(&machine(), &one_user(3.0, 0.3), &plan, Streams::new(1, 0)).unwrap();
    let mut seen = Vec::new();
    for time in [5.0, 40.0, 75.0, 100.0] {
        run(&mut some, time);
        let reading = some.reading();
        let on = reading
            .users
            .iter()
            .filter(|user| user.status != Status::LoggedOff);
        seen.push((reading.system.logged_on, on.count()));
    }
    assert_eq!(seen, [(0, 0), (5, 5), (2, 2), (4, 4)]);
    // 40 s × 5, then at most a transaction's time longer than 30 s × 2, and 20 s × 4.
    let integral_s = some.reading().system.logged_on_ns as f64 * 1e-9;
    assert!((340.0..345.0).contains(&integral_s), "{integral_s}");
}

#[test]
fn caps_hold_users_back() {
    let mut machine = machine();
    machine.scheduler.mpl_cap = Some(2);
    let kept = run(&mut simulation(&machine, &one_user(1.0, 0.3), 6, 60.0), 60.0);
    assert!(
        kept.samples
            .iter()
            .all(|sample| sample.system.q1 + sample.system.q2 <= 2)
    );
    assert!(kept.samples.iter().any(|sample| sample.system.q1_candidates > 0));
    assert!(kept.records.iter().any(|record| record.eligible_ns > 0));
}

#[test]
fn the_first_users_have_the_mix_of_classes_for_any_number() {
    let mut classes: Vec<_> = [0.6, 0.3, 0.1]
        .iter()
        .map(|&share| {
            let mut class = class(fixed(1.0), vec![kind(fixed(1.0))]);
            class.share = share;
            class
        })
        .collect();
    classes[1].name = "others".into();
    let workload = workload(classes);
    for users in [10, 37, 100, 310] {
        for (class, share) in [0.6, 0.3, 0.1].iter().enumerate() {
            let found = (0..users)
                .filter(|&user| class_of(&workload, user) == class)
                .count();
            let wanted = share * f64::from(users);
            assert!(
                (found as f64 - wanted).abs() < 2.0,
                "{users}: {found} of {wanted}"
            );
        }
    }
}
