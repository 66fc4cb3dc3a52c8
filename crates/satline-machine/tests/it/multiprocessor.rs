//! Processors that differ: who starts an I/O, who takes an interrupt, who gets whom.

use crate::support::files::{machine_path, workload_path};
use crate::support::machines::{at, background, class, kind, machine, run, s, simulation, units, workload};
use satline_machine::configuration::read::read_files;
use satline_machine::configuration::{
    Interrupts, LockPlan, LockWait, Machine, Multiprocessor, PagingRate, ProcessorRole, ProcessorUnit, Role,
    Work, Workload,
};
use satline_machine::engine::{Distribution, Span};
use satline_machine::readings::{ProcessorReading, Reading};

fn us(us: u64) -> Span {
    Span::from_ns(us * 1000)
}

/// These processors, each with its channels; what they cost each other is nothing.
fn of(units: &[(ProcessorRole, &[u16])]) -> Machine {
    let mut made = machine();
    made.processors.count = units.len() as u32;
    made.multiprocessor = Some(Multiprocessor {
        units: units
            .iter()
            .map(|&(role, channels)| ProcessorUnit {
                role,
                channels: channels.to_vec(),
            })
            .collect(),
        interrupts: Interrupts::Starter,
        signal: false,
        redispatch: false,
        main_only: Vec::new(),
        deferred_start: Span::ZERO,
        signalled: Span::ZERO,
        cache_reload: Span::ZERO,
        cache_move: Span::ZERO,
    });
    made
}

/// A main processor and an attached one.
fn attached() -> Machine {
    of(&[(ProcessorRole::Main, &[1, 2, 3]), (ProcessorRole::Attached, &[])])
}

fn plan(machine: &mut Machine) -> &mut Multiprocessor {
    machine.multiprocessor.as_mut().unwrap()
}

/// Users who do I/O, so many of them compute-bound.
fn users(think_s: f64, cpu_s: f64, io_s: f64, loops: u32) -> Workload {
    let exponential = |mean_s| Distribution::exponential(mean_s).unwrap();
    let mut work = kind(exponential(cpu_s));
    work.cpu_between_ios = Some(s(io_s));
    let mut made = workload(vec![class(exponential(think_s), vec![work])]);
    made.background = vec![background(loops, kind(exponential(1000.0)))];
    made
}

fn last(machine: &Machine, workload: &Workload, count: u32, end_s: f64) -> Reading {
    let mut simulation = simulation(machine, workload, count, end_s);
    run(&mut simulation, end_s);
    simulation.reading().clone()
}

#[test]
fn an_attached_processor_starts_no_io_and_takes_no_interrupt() {
    let reading = last(&attached(), &users(1.0, 0.3, 0.02, 0), 20, 200.0);
    let [main, attached] = &reading.processors[..] else {
        panic!("two processors")
    };
    assert!(attached.problem_ns > 20_000_000_000, "{attached:?}");
    assert_eq!((attached.ios, main.io_defers), (0, 0));
    assert_eq!(main.ios, reading.system.user_ios);
    assert!(attached.io_defers > 1000);
    assert_eq!(reading.system.io_defers, Some(attached.io_defers));
    // Whom a completion readies, the main processor readies: it alone is interrupted.
    assert!(main.interruptions > 1000);
    assert_eq!(attached.interruptions, 0);
    // Control-program work costs nothing; the wait for the main one to come to it does.
    assert!(reading.system.deferred_ns.unwrap() > 0);
}

/// Users who page, in storage for a third of them; they do no I/O.
fn paging() -> Workload {
    let exponential = |mean_s| Distribution::exponential(mean_s).unwrap();
    let mut work = kind(exponential(0.6));
    work.locality.working_set_pages = 20.0;
    work.locality.phase = s(0.2);
    let mut load = workload(vec![class(exponential(1.0), vec![work])]);
    load.classes[0].space_pages = 60;
    load
}

#[test]
fn page_ins_are_put_off_too_and_count_where_their_user_ran() {
    let mut machine = attached();
    machine.storage.pageable_frames = 150;
    machine.scheduler.projection_factor = 0.3;
    let reading = last(&machine, &paging(), 12, 100.0);
    let [main, attached] = &reading.processors[..] else {
        panic!("two processors")
    };
    assert!(attached.page_waits > 200 && main.page_waits > 200, "{attached:?}");
    // Whose page came while he was put off waits for none; who waits for one that is on its way was not put off.
    assert!(attached.io_defers > attached.page_waits / 2, "{attached:?}");
    assert_eq!(main.io_defers, 0);
}

#[test]
fn what_is_put_off_waits_for_the_main_processor_unless_it_is_signalled() {
    let load = users(0.5, 0.2, 0.05, 2);
    let mean_ns = |signal| {
        let mut machine = attached();
        plan(&mut machine).signal = signal;
        let reading = last(&machine, &load, 4, 400.0);
        let system = &reading.system;
        // An idle processor is woken in any case.
        let signals = system.signals.unwrap();
        assert!(if signal { signals > 500 } else { signals < 100 }, "{signals}");
        system.deferred_ns.unwrap() as f64 / system.io_defers.unwrap() as f64
    };
    let (off, on) = (mean_ns(false), mean_ns(true));
    // The main processor's user is compute-bound: quanta of 50 and 200 ms, cut by interrupts.
    assert!(off > 1e6, "{off}");
    assert_eq!(on, 0.0);
}

#[test]
fn a_looping_user_keeps_an_attached_processor_to_the_end_of_his_quantum() {
    // Both processors are busy most of the time, and one user never waits.
    let load = users(1.0, 0.2, 0.2, 1);
    let share = |machine: &Machine, count| {
        let reading = last(machine, &load, count, 400.0);
        let looper = reading.users.iter().find(|user| user.background).unwrap();
        looper.problem_ns as f64 * 1e-9 / 400.0
    };
    let mut alike = machine();
    alike.processors.count = 2;
    // Half of the machine's power, as long as the others leave it to him.
    assert!(share(&attached(), 2) > 0.95);
    let (attached, alike) = (share(&attached(), 12), share(&alike, 12));
    assert!(attached > 1.05 * alike && attached < 0.9, "{attached} {alike}");
}

#[test]
fn channels_decide_who_starts_an_io() {
    // The second processor reaches the second disk only, and not the drum.
    let machine = of(&[
        (ProcessorRole::Symmetric, &[1, 2, 3]),
        (ProcessorRole::Symmetric, &[3]),
    ]);
    let reading = last(&machine, &users(1.0, 0.3, 0.02, 0), 20, 200.0);
    let [first, second] = &reading.processors[..] else {
        panic!("two processors")
    };
    assert_eq!(first.io_defers, 0);
    // Half of its I/Os go to the disk that it reaches.
    let share = second.io_defers as f64 / (second.io_defers + second.ios) as f64;
    assert!((0.45..0.55).contains(&share), "{share}");
    assert!(second.interruptions > 0);
}

#[test]
fn work_of_the_main_processor_is_done_there_only() {
    let mut machine = of(&[
        (ProcessorRole::Main, &[1, 2, 3]),
        (ProcessorRole::Symmetric, &[1, 2, 3]),
    ]);
    machine.costs.user_io_start = us(2000);
    plan(&mut machine).main_only = vec![Work::UserIoStart];
    let reading = last(&machine, &users(1.0, 0.3, 0.02, 0), 20, 200.0);
    let [main, other] = &reading.processors[..] else {
        panic!("two processors")
    };
    assert_eq!(other.ios, 0);
    assert!(reading.system.left_to_main > Some(1000));
    assert_eq!(main.ios, reading.system.user_ios);
    let all_ns = main.supervisor_ns + other.supervisor_ns;
    assert_eq!(
        (other.supervisor_ns, all_ns / 2_000_000),
        (0, reading.system.user_ios)
    );
}

#[test]
fn an_interrupted_q1_user_goes_on_where_that_is_wanted() {
    let switches = |redispatch| {
        let mut machine = attached();
        plan(&mut machine).redispatch = redispatch;
        let reading = last(&machine, &users(0.5, 0.3, 0.02, 0), 20, 200.0);
        assert!(reading.system.preemptions > 0 || redispatch);
        let system = reading.system;
        (system.user_switches.unwrap() + system.processor_moves.unwrap()) as f64 / system.transactions as f64
    };
    let (off, on) = (switches(false), switches(true));
    assert!(on < 0.9 * off, "{on} {off}");
}

#[test]
fn a_transaction_stays_on_its_processor_with_affinity_and_moves_without() {
    let moves = |policy: &str| {
        let mut machine = of(&[
            (ProcessorRole::Symmetric, &[1, 2, 3]),
            (ProcessorRole::Symmetric, &[1, 2, 3]),
        ]);
        machine.policies.dispatch = policy.into();
        last(&machine, &users(1.0, 0.3, 0.02, 0), 12, 200.0)
            .system
            .processor_moves
            .unwrap()
    };
    assert_eq!(moves("affinity"), 0);
    let (stolen, free) = (moves("active-wait"), moves("priority"));
    assert!(stolen > 0 && stolen < free / 4, "{stolen} {free}");
}

#[test]
fn a_switch_costs_the_reload_of_the_cache_and_a_signal_its_price() {
    let supervisor = |set: fn(&mut Multiprocessor)| {
        let mut machine = attached();
        set(plan(&mut machine));
        let reading = last(&machine, &users(1.0, 0.3, 0.02, 0), 20, 200.0);
        let ns: u64 = reading.processors.iter().map(|one| one.supervisor_ns).sum();
        (ns, reading.system)
    };
    assert_eq!(supervisor(|_| {}).0, 0);
    let (ns, system) = supervisor(|plan| (plan.cache_reload, plan.cache_move) = (us(10), us(30)));
    let moves = system.processor_moves.unwrap();
    // Who comes from another processor is mostly another user there too, and pays for the way only.
    assert!(moves > 0 && ns >= moves * 30_000, "{ns} {moves}");
    assert!(ns <= moves * 30_000 + system.user_switches.unwrap() * 10_000 + 60_000);
    let (ns, system) = supervisor(|plan| (plan.signalled, plan.signal) = (us(20), true));
    let signals = system.signals.unwrap();
    assert!(
        signals > 0 && (signals - 2) * 20_000 <= ns && ns <= signals * 20_000,
        "{ns} {signals}"
    );
}

#[test]
fn a_control_program_that_divides_its_paging_rate_lets_in_more() {
    let files = (machine_path("155-II-1mb"), workload_path("paging-heavy"));
    // Projections are far too small: the rate alone keeps users out.
    let sets = [("processors.count", "2"), ("scheduler.projection_factor", "0.2")];
    let sets = sets.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let (machine, workload) = read_files(&files.0, &files.1, &sets).unwrap();
    let system = |rate: Option<(f64, bool)>| {
        let mut machine = machine.machine.clone();
        if let Some((limit_per_s, divided)) = rate {
            machine.policies.admission = "paging-rate".into();
            machine.scheduler.paging_rate = Some(PagingRate {
                limit_per_s,
                interval: s(1.0),
                divided,
            });
        }
        last(&machine, &workload.workload, 30, 600.0).system
    };
    let (classic, unlimited) = (system(None), system(Some((1e9, false))));
    assert_eq!(
        classic, unlimited,
        "a limit that is never reached changes nothing"
    );
    let whole = system(Some((80.0, false)));
    // Of two processors: half the rate against half the limit.
    assert_eq!(whole, system(Some((40.0, true))));
    let divided = system(Some((80.0, true)));
    let [classic, whole, divided] = [classic, whole, divided].map(|system| system.q2_ns as f64);
    assert!(
        whole < 0.9 * divided && divided < classic,
        "{whole} {divided} {classic}"
    );
}

#[test]
fn compute_bound_is_who_did_no_io_in_so_many_quanta() {
    // Two loopers on one processor, 1 s each in turn.
    let load = users(1000.0, 0.1, 1000.0, 2);
    let dispatches = |after| {
        let mut machine = machine();
        machine.scheduler.compute_bound_after = after;
        machine.scheduler.q2_slice = s(0.25);
        last(&machine, &load, 0, 100.0).system.dispatches as f64
    };
    // Stays of 0.25 s are quanta of 50 and 200 ms; or 50, 50 and 150; without the factor five of 50.
    let [first, second, never] = [1, 2, 1000].map(dispatches);
    assert!((first / never - 0.4).abs() < 0.02, "{first} {never}");
    assert!((second / never - 0.6).abs() < 0.02, "{second} {never}");
}

#[test]
fn locks_are_counted_by_lock_and_processor_and_one_processor_finds_them_free() {
    let mut machine = machine();
    machine.costs.user_io_start = us(1000);
    machine.costs.user_io_end = us(700);
    machine.costs.dispatch = us(500);
    let lock = |name: &str, wait, holds: &[(Work, f64)]| LockPlan {
        name: name.into(),
        wait,
        holds: holds.to_vec(),
    };
    machine.locks = vec![
        lock(
            "SYSTEM",
            LockWait::Spin,
            &[(Work::UserIoStart, 0.5), (Work::Dispatch, 0.2)],
        ),
        lock("IO", LockWait::Suspend, &[(Work::UserIoEnd, 1.0)]),
    ];
    let load = users(1.0, 0.3, 0.01, 0);
    let one = last(&machine, &load, 20, 100.0);
    let (ios, dispatches) = (one.system.user_ios, one.system.dispatches);
    let [system, io] = &one.locks[..] else {
        panic!("two locks on one processor")
    };
    assert_eq!((system.spins, io.defers, one.processors[0].spin_ns), (0, 0, 0));
    // What is under way at the end is in one count and not yet in the other: an I/O for each user at most.
    assert!(system.holds.abs_diff(ios + dispatches) <= 1 && io.holds.abs_diff(ios) <= 20);
    let expected = ios * 500_000 + dispatches * 100_000;
    assert!(
        system.hold_ns.abs_diff(expected) <= 1_000_000,
        "{} {expected}",
        system.hold_ns
    );

    machine.processors.count = 2;
    machine.devices.extend(units("3330-1", 6, Role::Files, 10));
    let two = last(&machine, &load, 40, 100.0);
    let on = |lock: usize, processor: usize| two.locks[2 * lock + processor];
    let spin_ns = |one: &ProcessorReading| one.spin_ns;
    for (processor, reading) in two.processors.iter().enumerate() {
        assert!(on(0, processor).spins > 100 && on(0, processor).defers == 0);
        assert!(on(1, processor).defers > 50 && on(1, processor).spins == 0);
        assert_eq!(on(0, processor).spin_ns, spin_ns(reading));
        assert!(on(1, processor).wait_ns > 0);
    }
}

#[test]
fn the_end_of_an_io_interrupts_its_starter_or_any_processor() {
    let interruptions = |interrupts| {
        let mut machine = of(&[
            (ProcessorRole::Symmetric, &[1, 2, 3]),
            (ProcessorRole::Symmetric, &[1, 2, 3]),
        ]);
        plan(&mut machine).interrupts = interrupts;
        // One looper for each processor, and users who mostly wait for I/O.
        let reading = last(&machine, &users(0.5, 0.05, 0.005, 2), 6, at(200.0).seconds());
        [0, 1].map(|number| reading.processors[number].interruptions as f64)
    };
    let [a, b] = interruptions(Interrupts::Starter);
    assert!((0.3..3.0).contains(&(a / b)), "both start I/O: {a} {b}");
    let [a, b] = interruptions(Interrupts::Any);
    assert!(a + b > 1000.0, "{a} {b}");
}
