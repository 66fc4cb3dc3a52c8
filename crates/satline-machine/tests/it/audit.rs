//! Whatever the machine and the workload, the accounts hold to the last nanosecond, and a run repeats exactly.

use crate::support::machines::{Kept, at, background, class, kind, machine, s, units, workload};
use proptest::prelude::*;
use satline_machine::configuration::{
    FreeStoragePlan, Interrupts, LockPlan, LockWait, Machine, Migration, MigrationOrder, Moment,
    Multiprocessor, Neighbours, PageArea, PagingRate, Peers, PeriodicScan, Prefetch, ProcessorRole,
    ProcessorUnit, Purpose, Readahead, Role, StorageRequest, Window, Work, Workload,
};
use satline_machine::engine::{Distribution, Span, Streams};
use satline_machine::model::{Plan, Simulation, Step};
use satline_machine::policies::{
    admission, dispatch, free_storage, involuntary_drop, page_out_device, queue_drop, replacement, slot,
};

const END_S: f64 = 20.0;

/// One of a table's policies.
fn name<M>(table: &'static [satline_machine::policies::Entry<M>], by: usize) -> String {
    table[by % table.len()].name.to_owned()
}

prop_compose! {
    fn peers()(
        readahead in prop::option::of((2..20_u32, any::<bool>(), any::<bool>())),
        prefetch in prop::option::of(prop::option::of(1..30_u32)),
        migration in prop::option::of((0.05..5.0, 1..200_u32, any::<bool>())),
    ) -> Peers {
        Peers {
            readahead: readahead.map(|(pages, slot, fixed)| Readahead {
                pages,
                by: if slot { Neighbours::Slot } else { Neighbours::VirtualAddress },
                window: if fixed { Window::Fixed } else { Window::Adaptive },
            }),
            prefetch: prefetch.map(|most_pages| Prefetch { most_pages }),
            migration: migration.map(|(interval_s, pages, lru)| Migration {
                interval: s(interval_s),
                pages,
                order: if lru { MigrationOrder::Lru } else { MigrationOrder::PoorLru },
            }),
            ..Peers::default()
        }
    }
}

prop_compose! {
    /// Up to eight processors, with all channels, some or none; the first has all.
    fn multiprocessors()(
        units in prop::collection::vec(0..1024_u32, 0..8),
        (main, any, signal, redispatch) in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        main_only in 0..64_u32,
        costs_us in prop::array::uniform4(0..400_u64),
    ) -> Multiprocessor {
        let channels = |bits: u32| (0..10_u16).filter(|channel| bits >> channel & 1 == 1).collect::<Vec<_>>();
        let first = if main { ProcessorRole::Main } else { ProcessorRole::Symmetric };
        let mut made = vec![ProcessorUnit { role: first, channels: (0..10).collect() }];
        made.extend(units.iter().map(|&bits| ProcessorUnit {
            role: if main && bits % 3 == 0 { ProcessorRole::Attached } else { ProcessorRole::Symmetric },
            channels: if main && bits % 3 == 0 { Vec::new() } else { channels(bits) },
        }));
        let us = |at: usize| Span::from_ns(costs_us[at] * 1000);
        let movable = Work::MOVABLE.iter().enumerate();
        Multiprocessor {
            units: made,
            interrupts: if any { Interrupts::Any } else { Interrupts::Starter },
            signal,
            redispatch,
            main_only: movable.filter(|(bit, _)| main && main_only >> bit & 1 == 1).map(|(_, work)| *work).collect(),
            deferred_start: us(0), signalled: us(1), cache_reload: us(2), cache_move: us(3),
        }
    }
}

/// All work that a path is of.
const WORKS: [Work; 10] = [
    Work::Dispatch,
    Work::PageFault,
    Work::PageInEnd,
    Work::UserIoStart,
    Work::UserIoEnd,
    Work::QueueAdd,
    Work::QueueDrop,
    Work::Reclaim,
    Work::Storage,
    Work::DeferredStart,
];

prop_compose! {
    /// Up to four locks, each with a share of some work.
    fn locks()(
        plans in prop::collection::vec((any::<bool>(), prop::array::uniform10(0.0..0.25)), 0..4),
    ) -> Vec<LockPlan> {
        plans.iter().enumerate().map(|(number, (suspends, parts))| LockPlan {
            name: format!("lock-{number}"),
            wait: if *suspends { LockWait::Suspend } else { LockWait::Spin },
            // A tenth of all works is not under it; who dispatches does not suspend.
            holds: WORKS.iter().zip(parts)
                .filter(|(work, part)| **part > 0.025 && !(*suspends && **work == Work::Dispatch))
                .map(|(&work, &part)| (work, part)).collect(),
        }).collect()
    }
}

/// Pairs of moments; a block may also be given back at once.
const MOMENTS: [(Moment, Option<Moment>); 10] = [
    (Moment::LogOn, Some(Moment::LogOff)),
    (Moment::TransactionStart, Some(Moment::TransactionEnd)),
    (Moment::TransactionEnd, Some(Moment::TransactionStart)),
    (Moment::QueueAdd, Some(Moment::QueueDrop)),
    (Moment::QueueDrop, None),
    (Moment::Dispatch, None),
    (Moment::PageFault, Some(Moment::PageInEnd)),
    (Moment::PageInEnd, None),
    (Moment::UserIoStart, Some(Moment::UserIoEnd)),
    (Moment::UserIoEnd, None),
];

prop_compose! {
    /// Free storage that is mostly too small, asked for at any moments.
    fn free_storages()(
        (doublewords, policy) in (64..3000_u32, 0..100_usize),
        requests in prop::collection::vec((0..10_usize, any::<bool>(), 1..4_u32, 1..60_u32, 0..300_u32), 1..8),
        prices_ns in prop::array::uniform3(0..20_000_u64),
    ) -> FreeStoragePlan {
        FreeStoragePlan {
            doublewords,
            subpools: name(free_storage::POLICIES, policy),
            lock: None,
            subpool_request: Span::from_ns(prices_ns[0]),
            main_request: Span::from_ns(prices_ns[1]),
            block_searched: Span::from_ns(prices_ns[2] / 20),
            requests: requests.iter().map(|&(moment, at_once, blocks, least, more)| StorageRequest {
                at: MOMENTS[moment].0,
                until: MOMENTS[moment].1.filter(|_| !at_once),
                blocks,
                doublewords: (least, least + more),
            }).collect(),
        }
    }
}

prop_compose! {
    /// The same machines with processors that differ, and locks.
    fn guarded()(
        machine in machines(), multiprocessor in prop::option::weighted(0.8, multiprocessors()), locks in locks(),
        storage in prop::option::weighted(0.7, free_storages()),
        compute_bound_after in 1..4_u32, rate in prop::option::of((0.0..200.0, 0.1..5.0, any::<bool>())),
    ) -> Machine {
        let mut made = machine;
        if let Some(plan) = &multiprocessor {
            made.processors.count = plan.units.len() as u32;
        }
        made.multiprocessor = multiprocessor;
        made.free_storage = storage;
        if let Some(plan) = &mut made.free_storage {
            // The last of those that may be.
            plan.lock = locks.iter().rposition(|lock| lock.wait == LockWait::Spin);
        }
        made.locks = locks;
        made.scheduler.compute_bound_after = compute_bound_after;
        if let Some((limit_per_s, interval_s, divided)) = rate {
            made.policies.admission = "paging-rate".into();
            made.scheduler.paging_rate = Some(PagingRate { limit_per_s, interval: s(interval_s), divided });
        }
        made
    }
}

prop_compose! {
    /// Small storage, slow and fast paging, one to three processors, paths of every length.
    fn machines()(
        (processors, frames, speed) in (1..4_u32, 30..400_u32, 0.5..4.0),
        costs in prop::array::uniform12(0..600_u64),
        (q1_ms, q2_ms, quantum_ms) in (20..500_u64, 100..5000_u64, 5..100_u64),
        (mpl_cap, q2_cap) in (prop::option::of(1..8_u32), prop::option::of(1..4_u32)),
        (projection_factor, minimum) in (0.2..2.0, 1..20_u32),
        policies in prop::array::uniform3(0..100_usize),
        (tiers, most_pages_per_sio) in (any::<bool>(), 1..9_u32),
        page_out in prop::array::uniform4(0..100_usize),
        (write_unchanged, scan) in (any::<bool>(), prop::option::of((0.05..3.0, 0.01..=1.0))),
        (exposures, across) in (1..9_usize, any::<bool>()),
        peers in peers(),
    ) -> Machine {
        let mut made = machine();
        made.processors.count = processors;
        made.processors.speed = speed;
        made.storage.pageable_frames = frames;
        let us = |at: usize| Span::from_ns(costs[at] * 1000);
        made.costs = satline_machine::configuration::Costs {
            dispatch: us(0), page_fault: us(1), page_in_end: us(2), page_out: us(3), user_io_start: us(4), user_io_end: us(5),
            queue_add: us(6), queue_drop: us(7), reclaim: us(8), simulation: us(9),
            // For every frame or page: a thousandth.
            queue_page: Span::from_ns(costs[10]), scan_frame: Span::from_ns(costs[11]), shared_page_check: Span::from_ns(costs[0]),
        };
        made.scheduler.q1_slice = Span::from_ns(q1_ms * 1_000_000);
        made.scheduler.q2_slice = Span::from_ns(q2_ms * 1_000_000);
        made.scheduler.quantum = Span::from_ns(quantum_ms * 1_000_000);
        (made.scheduler.mpl_cap, made.scheduler.q2_cap) = (mpl_cap, q2_cap);
        made.scheduler.projection_factor = projection_factor;
        made.scheduler.minimum_working_set = minimum;
        made.policies.admission = name(admission::POLICIES, policies[0]);
        made.policies.dispatch = name(dispatch::POLICIES, policies[1]);
        made.policies.replacement = name(replacement::POLICIES, policies[2]);
        made.policies.page_out_device = name(page_out_device::POLICIES, page_out[0]);
        made.policies.slot = name(slot::POLICIES, page_out[1]);
        made.policies.queue_drop = name(queue_drop::POLICIES, page_out[2]);
        made.policies.involuntary_drop = name(involuntary_drop::POLICIES, page_out[3]);
        made.paging.most_pages_per_sio = most_pages_per_sio;
        made.paging.write_unchanged = write_unchanged;
        made.paging.periodic_scan = scan.map(|(interval_s, part)| PeriodicScan { interval: s(interval_s), part });
        made.devices[0].model = made.devices[0].model.driven(exposures, across);
        if tiers {
            // The drum holds little; the rest goes to a disk with files.
            made.paging.areas[0].cylinders = 5;
            made.paging.areas.push(PageArea { device: made.devices.len(), first_cylinder: 100, cylinders: 60, tier: 1, purpose: Purpose::Paging });
            made.devices.extend(units("3330-1", 1, Role::Both, 9));
            made.paging.peers = peers;
        } else {
            made.paging.peers = Peers { migration: None, ..peers };
        }
        made
    }
}

prop_compose! {
    fn workloads()(
        (think_s, cpu_s, long_s) in (0.0..4.0, 0.001..0.4, 0.0..3.0),
        (io_ms, simulation_ms) in (prop::option::of(2.0..60.0), prop::option::of(0.5..20.0)),
        (pages, sd, repeatability, growth) in (0.0..50.0, 0.0..10.0, 0.0..1.0, 0.2..1.0),
        (shared, loops, blocks, skew) in (0..40_u32, 0..3_u32, 1..9_u32, 0.0..1.5),
    ) -> Workload {
        let mut short = kind(Distribution::exponential(cpu_s).unwrap());
        short.cpu_between_ios = io_ms.map(|ms| s(ms * 1e-3));
        short.cpu_between_simulations = simulation_ms.map(|ms| s(ms * 1e-3));
        (short.io.blocks, short.io.skew) = (blocks, skew);
        short.locality.working_set_pages = pages;
        short.locality.working_set_sd = sd;
        short.locality.repeatability = repeatability;
        short.locality.growth = growth;
        short.locality.changed = 0.5;
        short.locality.phase = s(0.2);
        short.locality.shared_pages = shared.min(20);
        let mut long = short.clone();
        long.cpu = Distribution::fixed(long_s).unwrap();
        long.weight = 0.3;
        let mut made = workload(vec![class(Distribution::exponential(think_s).unwrap(), vec![short, long.clone()])]);
        made.classes[0].space_pages = 60;
        made.shared_pages = shared;
        made.background = vec![background(loops, long)];
        made
    }
}

/// Comes, goes, comes again.
fn plan(users: u32, sample_s: f64) -> Plan {
    let step = |from, users| Step {
        from: at(from),
        users,
    };
    Plan {
        users,
        steps: vec![step(0.0, users), step(8.0, users / 3), step(11.0, users)],
        sample_every: s(sample_s),
        end: at(END_S),
        audit: true,
    }
}

fn start(machine: &Machine, workload: &Workload, users: u32, sample_s: f64) -> Simulation {
    Simulation::new(machine, workload, &plan(users, sample_s), Streams::new(7, 0)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn accounts_hold_on_every_run(machine in machines(), workload in workloads(), users in 1..16_u32) {
        let mut simulation = start(&machine, &workload, users, 0.777);
        let mut kept = Kept::default();
        simulation.run_until(at(END_S), &mut kept);
        if let Err(failures) = simulation.audit() {
            prop_assert!(false, "{failures:#?}");
        }
        for record in &kept.records {
            let parts = [
                record.problem_ns, record.supervisor_ns, record.cpu_wait_ns, record.page_wait_ns, record.io_wait_ns, record.eligible_ns,
            ];
            prop_assert_eq!(parts.iter().sum::<u64>(), (record.ended - record.started).ns());
            prop_assert!(record.stays > 0);
        }
        // Nothing that counts up ever falls.
        for pair in kept.samples.windows(2) {
            for (was, is) in pair[0].users.iter().zip(&pair[1].users) {
                prop_assert!(was.problem_ns <= is.problem_ns && was.supervisor_ns <= is.supervisor_ns, "{was:?} {is:?}");
            }
        }
        let processed = kept.samples.last().is_none_or(|last| last.users.iter().any(|user| user.problem_ns > 0));
        prop_assert!(processed, "nobody got anywhere");
    }

    #[test]
    fn accounts_hold_with_processors_that_differ_and_locks(machine in guarded(), workload in workloads(), users in 1..24_u32) {
        let mut simulation = start(&machine, &workload, users, 0.333);
        let mut kept = Kept::default();
        simulation.run_until(at(END_S), &mut kept);
        if let Err(failures) = simulation.audit() {
            prop_assert!(false, "{failures:#?}");
        }
        let last = kept.samples.last().unwrap();
        let processed = last.users.iter().any(|user| user.problem_ns > 0);
        prop_assert!(processed, "nobody got anywhere");
        prop_assert_eq!(last.locks.len(), machine.locks.len() * last.processors.len());
        // One processor alone finds every lock free.
        if last.processors.len() == 1 {
            prop_assert!(last.locks.iter().all(|lock| lock.spins + lock.defers == 0));
        }
    }

    #[test]
    fn a_run_with_locks_repeats(machine in guarded(), workload in workloads(), users in 1..10_u32) {
        let end = |sample_s: f64| {
            let mut simulation = start(&machine, &workload, users, sample_s);
            let mut kept = Kept::default();
            simulation.run_until(at(END_S), &mut kept);
            (format!("{:?}", simulation.reading()), kept.records, kept.transitions)
        };
        prop_assert_eq!(&end(1.0), &end(0.137));
    }

    #[test]
    fn a_run_repeats_and_looking_at_it_changes_nothing(machine in machines(), workload in workloads(), users in 1..10_u32) {
        let end = |sample_s: f64, stops: &[f64]| {
            let mut simulation = start(&machine, &workload, users, sample_s);
            let mut kept = Kept::default();
            for &stop in stops {
                simulation.run_until(at(stop), &mut kept);
            }
            simulation.run_until(at(END_S), &mut kept);
            (format!("{:?}", simulation.reading()), kept.records, kept.transitions)
        };
        let once = end(1.0, &[]);
        prop_assert_eq!(&once, &end(1.0, &[]));
        prop_assert_eq!(&once, &end(0.0137, &[3.3, 3.3, 9.87]));
    }
}

#[test]
fn a_policy_shifts_nobodys_draws() {
    let mut workload = workload(vec![class(
        Distribution::exponential(1.0).unwrap(),
        vec![kind(Distribution::exponential(0.1).unwrap())],
    )]);
    workload.classes[0].transactions[0].cpu_between_ios = Some(s(0.01));
    let records = |policy: &str, frames: u32| {
        let mut machine = machine();
        machine.policies.dispatch = policy.into();
        machine.storage.pageable_frames = frames;
        let mut simulation = start(&machine, &workload, 8, 1.0);
        let mut kept = Kept::default();
        simulation.run_until(at(END_S), &mut kept);
        let of = |user| {
            let his = kept.records.iter().filter(move |record| record.user == user);
            his.map(|record| (record.think, record.kind, record.problem_ns, record.ios))
                .collect::<Vec<_>>()
        };
        // Until users come and go.
        (0..2).map(of).collect::<Vec<_>>()
    };
    let (one, other) = (records("priority", 2000), records("round-robin", 12));
    for (a, b) in one.iter().zip(&other) {
        let common = a.len().min(b.len());
        assert!(common > 3, "{common}");
        assert_eq!(a[..common], b[..common]);
    }
}

#[test]
fn another_seed_gives_another_run() {
    let workload = workload(vec![class(
        Distribution::exponential(2.0).unwrap(),
        vec![kind(Distribution::exponential(0.3).unwrap())],
    )]);
    let events = |streams| {
        let mut simulation = Simulation::new(&machine(), &workload, &plan(9, 1.0), streams).unwrap();
        simulation.run_until(at(END_S), &mut ());
        simulation.reading().system.events
    };
    assert_eq!(events(Streams::new(1, 0)), events(Streams::new(1, 0)));
    assert_ne!(events(Streams::new(1, 0)), events(Streams::new(2, 0)));
    assert_ne!(events(Streams::new(1, 0)), events(Streams::new(1, 1)));
}
