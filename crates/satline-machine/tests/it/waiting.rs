//! Nobody waits in vain, and the audits find who would.

use crate::support::bare_storage::Bare;
use crate::support::machines::{Kept, at, background, class, kind, machine, run, s, simulation, workload};
use crate::support::small_system;
use satline_machine::configuration::{Machine, Workload};
use satline_machine::engine::{Distribution, Span, Streams};
use satline_machine::model::{Plan, Simulation, Step};
use satline_machine::policies::dispatch::{Dispatch, Ready};
use satline_machine::policies::replacement::{Replacement, Setup};
use satline_machine::policies::{admission, dispatch, replacement};
use satline_machine::readings::{Activity, Status};
use satline_machine::storage::{Fault, Memory, Storage};

fn fixed(seconds: f64) -> Distribution {
    Distribution::fixed(seconds).unwrap()
}

/// Users who compute without end, on one page each.
fn endless() -> Workload {
    let mut all = workload(vec![class(fixed(0.1), vec![kind(fixed(1e5))])]);
    all.classes[0].space_pages = 1;
    all
}

#[test]
fn who_waits_for_a_frame_gets_it_when_another_has_run() {
    let mut machine = machine();
    machine.storage.pageable_frames = 8;
    machine.policies.admission = "cap".into();
    machine.policies.dispatch = "round-robin".into();
    machine.scheduler.q1_slice = s(500.0);
    let mut users = endless();
    users.classes[0].transactions[0].cpu_between_ios = Some(s(0.3));
    let locality = &mut users.classes[0].transactions[0].locality;
    (locality.reference_interval, locality.phase) = (s(1e5), s(1e5));
    let mut full = simulation(&machine, &users, 40, 60.0);
    run(&mut full, 60.0);
    // Each has touched his page.
    assert_eq!(full.reading().system.page_reads, 40);
}

#[test]
fn who_waits_for_a_frame_gets_it_when_another_logs_off() {
    let mut bare = Bare::new(
        &small_system::machine(1),
        &small_system::workload(small_system::locality()),
        2,
    );
    let limit = small_system::ms(1.0);
    bare.begin(0, 0, limit);
    assert_eq!(bare.fault_within(0, limit).0, Some(Fault::Waits));
    bare.settle();
    // The only frame is held for him who has not run since.
    bare.begin(1, 0, limit);
    assert_eq!(bare.fault_within(1, limit).0, Some(Fault::Waits));
    assert!(bare.calendar.is_empty() && !bare.memory.starved());
    bare.memory.log_off(0);
    assert!(bare.memory.starved());
    bare.memory.feed(&mut bare.subsystem, &mut bare.calendar);
    bare.woken.clear();
    bare.settle();
    assert_eq!(bare.woken, [1]);
}

/// Forgets everybody who is interrupted.
#[derive(Debug)]
struct Forgetful(Box<dyn Dispatch>);

impl Dispatch for Forgetful {
    fn enter(&mut self, ready: Ready) {
        if !ready.interrupted {
            self.0.enter(ready);
        }
    }

    fn next(&mut self, processor: usize) -> Option<u32> {
        self.0.next(processor)
    }

    fn waiting(&self) -> usize {
        self.0.waiting()
    }

    fn has_for(&self, processor: usize) -> bool {
        self.0.has_for(processor)
    }

    fn yields(&self, first: &Ready, second: &Ready) -> bool {
        self.0.yields(first, second)
    }
}

#[test]
fn a_policy_that_loses_users_is_found_out() {
    let machine = machine();
    let mut users = endless();
    users.classes[0].transactions[0].cpu_between_ios = Some(s(0.1));
    let mut lost = Simulation::with_policies(
        &machine,
        &users,
        &Plan::constant(3, at(50.0)),
        Streams::new(1, 0),
        (admission::POLICIES[0].make)(&machine.scheduler),
        Box::new(Forgetful((dispatch::POLICIES[0].make)(3, 1))),
        replacement::POLICIES[0].make,
    )
    .unwrap();
    lost.run_until(at(50.0), &mut ());
    let failures = lost.audit().unwrap_err();
    assert!(
        failures.iter().any(|line| line.contains("users who are ready")),
        "{failures:?}"
    );
}

/// At a user's fault it takes whatever frames are free for other pages of his; not for ever, else nothing else happened.
#[derive(Debug)]
struct Greedy(Box<dyn Replacement>, u32);

impl Replacement for Greedy {
    fn victim(&mut self, storage: &mut Storage) -> Option<u32> {
        self.0.victim(storage)
    }

    fn fault(&mut self, storage: &mut Storage, user: u32, page: Option<u32>) {
        if self.1 == 0 {
            return;
        }
        self.1 -= 1;
        let others: Vec<u32> = (0..60).filter(|&other| Some(other) != page).collect();
        storage.read_in(user, &others);
    }
}

#[test]
fn who_loses_his_frame_to_the_policys_choice_still_waits() {
    let mut locality = small_system::locality();
    (locality.changed, locality.shared_pages) = (1.0, 0);
    let users = small_system::workload(locality);
    let machine = small_system::machine(6);
    let mut bare = Bare::new(&machine, &users, 3);
    let greedy = |setup: Setup| -> Box<dyn Replacement> {
        Box::new(Greedy((replacement::POLICIES[0].make)(setup), 500))
    };
    bare.memory = Memory::with_policy(&machine, &users, 3, &Streams::new(1, 0), greedy).unwrap();
    let limit = small_system::ms(100.0);
    (0..3).for_each(|user| bare.begin(user, 0, limit));
    // By turns, all faulting before any page comes; each fault is followed by a wake.
    for _ in 0..60 {
        let mut wait: Vec<u32> = Vec::new();
        for user in 0..3 {
            if bare.fault_within(user, limit).0 == Some(Fault::Waits) {
                wait.push(user);
            }
        }
        bare.woken.clear();
        bare.settle();
        while bare.memory.starved() {
            bare.memory.feed(&mut bare.subsystem, &mut bare.calendar);
            bare.memory.take_woken(&mut bare.woken);
            bare.settle();
        }
        for user in wait {
            let woken = bare.woken.iter().filter(|&&one| one == user).count();
            assert_eq!(woken, 1, "user {user}");
        }
    }
}

#[test]
fn a_reclaim_is_no_io_for_the_length_of_a_quantum() {
    // All of its pages stay in storage, but some always on the free list.
    let mut machine = machine();
    machine.storage.pageable_frames = 12;
    machine.storage.free_list_minimum = 5;
    let mut loops = kind(fixed(1e6));
    loops.locality.working_set_pages = 10.0;
    loops.locality.phase = s(1e6);
    loops.locality.growth = 0.01;
    let mut alone = workload(vec![class(fixed(1e6), vec![kind(fixed(1.0))])]);
    alone.background = vec![background(1, loops)];
    let mut lone = simulation(&machine, &alone, 1, 100.0);
    run(&mut lone, 50.0);
    let before = lone.reading().system;
    run(&mut lone, 100.0);
    let after = lone.reading().system;
    assert_eq!(after.page_reads, before.page_reads);
    assert!(after.reclaims > before.reclaims + 1000, "{}", after.reclaims);
    // 50 s in quanta of 0.2 s, and ten stays.
    let dispatches = after.dispatches - before.dispatches;
    assert!((250..265).contains(&dispatches), "{dispatches}");
}

#[test]
fn a_queue_add_by_a_processor_that_is_soon_free_interrupts_no_other() {
    let mut machine = machine();
    machine.processors.count = 2;
    machine.scheduler.mpl_cap = Some(2);
    machine.scheduler.quantum = s(100.0);
    machine.scheduler.q2_slice = s(0.4);
    machine.costs.queue_add = Span::from_ns(1_000_000);
    let mut three = simulation(&machine, &endless(), 3, 60.0);
    run(&mut three, 10.0);
    let before = three.reading().system;
    run(&mut three, 60.0);
    let after = three.reading().system;
    let adds = after.q2_adds - before.q2_adds;
    assert!(adds > 200, "{adds}");
    assert!(adds.abs_diff(after.dispatches - before.dispatches) <= 2);
    assert_eq!(after.preemptions, before.preemptions);
}

#[test]
fn a_page_that_came_for_another_meanwhile_is_no_fault() {
    let mut machine = machine();
    machine.processors.count = 4;
    // One burst goes from page to page, so that the page comes in the middle of one.
    (machine.scheduler.quantum, machine.scheduler.q1_slice) = (s(100.0), s(100.0));
    let mut sharing = endless();
    sharing.shared_pages = 5;
    let of = &mut sharing.classes[0].transactions[0];
    of.cpu = fixed(1.0);
    of.locality.shared_pages = 5;
    of.locality.working_set_pages = 3.0;
    sharing.classes[0].think = fixed(1.0);
    sharing.classes[0].space_pages = 5;
    for seed in 0..8 {
        let step = Step {
            from: at(0.0),
            users: 4,
        };
        let plan = Plan {
            steps: vec![step],
            sample_every: s(0.0005),
            audit: false,
            ..Plan::constant(4, at(4.0))
        };
        let mut four = Simulation::new(&machine, &sharing, &plan, Streams::new(seed, 0)).unwrap();
        let mut kept = Kept::default();
        four.run_until(at(4.0), &mut kept);
        let mut waits = 0;
        for pair in kept.samples.windows(2) {
            for (was, is) in pair[0].users.iter().zip(&pair[1].users) {
                waits += u64::from(was.activity != Activity::PageWait && is.activity == Activity::PageWait);
            }
        }
        assert_eq!(four.reading().system.page_faults, waits, "seed {seed}");
    }
}

#[test]
fn background_work_goes_on_when_its_part_and_its_slice_end_at_an_interrupt() {
    let machine = machine();
    let mut loops = endless();
    loops.classes[0].think = fixed(0.3);
    loops.background = vec![background(1, kind(fixed(0.4)))];
    let user = |from_s: Span| Plan {
        steps: vec![Step {
            from: at(0.0) + from_s,
            users: 1,
        }],
        ..Plan::constant(1, at(9.0))
    };
    let start = |plan: &Plan| Simulation::new(&machine, &loops, plan, Streams::new(1, 0)).unwrap();
    // Alone: its first page comes, then it computes.
    let mut alone = start(&user(s(8.0)));
    alone.run_until(at(0.3), &mut ());
    let wait = Span::from_ns(alone.reading().users[1].page_wait_ns);
    assert!(wait > Span::ZERO && wait < s(0.1));
    // A user is ready just when the first part of its work and its Q1 slice end.
    let mut both = start(&user(wait + s(0.1)));
    let kept = run(&mut both, 9.0);
    assert!(kept.records.iter().all(|record| record.user == 0));
    let its = both.reading().users[1];
    assert!(matches!(its.status, Status::Q2 | Status::Q2Candidate), "{its:?}");
    assert_eq!(its.dormant_ns, 0);
}

/// Each user has 30 pages, and changes all.
fn filling() -> Workload {
    let mut users = workload(vec![class(fixed(0.1), vec![kind(fixed(1.0))])]);
    let locality = &mut users.classes[0].transactions[0].locality;
    (locality.working_set_pages, locality.changed) = (30.0, 1.0);
    locality.phase = s(0.1);
    users
}

/// Three drum cylinders of 24 slots, and 12 frames.
fn small_area() -> Machine {
    let mut machine = machine();
    machine.storage.pageable_frames = 12;
    machine.paging.areas[0].cylinders = 3;
    machine
}

#[test]
fn full_paging_areas_are_no_mistake_of_the_books() {
    let mut full = simulation(&small_area(), &filling(), 4, 60.0);
    full.run_until(at(60.0), &mut ());
    assert!(full.overflow());
    full.audit().unwrap();
}
