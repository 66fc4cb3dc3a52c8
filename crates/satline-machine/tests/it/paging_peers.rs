//! Readahead, record and prefetch, migration and compressed storage on small machines.

use crate::support::paging_load::device;
use crate::support::small_system::{SmallSystem, locality, machine, ms, outcome, workload};
use proptest::prelude::*;
use satline_machine::configuration::{
    Compression, DeviceUnit, Locality, Machine, Migration, MigrationOrder, Neighbours, Prefetch, Readahead,
    Role, Sampling, Window,
};
use satline_machine::engine::{Span, Streams, Time, run};
use satline_machine::policies::{page_out_device, replacement, slot};
use satline_machine::readings::SystemReading;

fn readahead(pages: u32, by: Neighbours, window: Window) -> Option<Readahead> {
    Some(Readahead { pages, by, window })
}

fn migration(interval_ms: f64, pages: u32, order: MigrationOrder) -> Option<Migration> {
    Some(Migration {
        interval: ms(interval_ms),
        pages,
        order,
    })
}

/// The first tier, a drum, gives way to compressed pages.
fn compress(machine: &mut Machine, cylinders: u32) {
    machine.devices[0] = DeviceUnit {
        name: "pool".into(),
        model: device("compressed-storage"),
        role: Role::Paging,
        paths: vec![(9, 9)],
    };
    machine.paging.areas[0].cylinders = cylinders;
    machine.paging.areas[1].tier = 1;
    machine.paging.peers.compression = Some(Compression {
        pages_per_frame: 3.0,
        compress: ms(0.4),
        decompress: ms(0.2),
    });
}

/// What a run of some users on a machine gave, of three seeds in all.
fn sums<const N: usize>(machine: &Machine, of: fn(&SystemReading) -> [u64; N]) -> [f64; N] {
    let working = Locality {
        working_set_pages: 30.0,
        ..locality()
    };
    let mut all = [0.0; N];
    for seed in 0..3 {
        let (_, reading) = outcome(machine, &workload(working.clone()), 14, seed, 60.0);
        for (sum, count) in all.iter_mut().zip(of(&reading)) {
            *sum += count as f64;
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is switched on, with whatever policies: books agree at every completion, and a run repeats.
    #[test]
    fn all_books_agree(
        names in (0..replacement::POLICIES.len(), 0..page_out_device::POLICIES.len(), 0..slot::POLICIES.len()),
        (frames, users, most, minimum) in (40..250_u32, 1..15_u32, 1..16_u32, 0..9_u32),
        (pages, shared) in (1.0..50.0_f64, 0..12_u32),
        ahead in prop::option::of((2..20_u32, any::<bool>(), any::<bool>())),
        prefetch in prop::option::of(prop::option::of(1..20_u32)),
        moves in prop::option::of((20.0..800.0_f64, 1..300_u32, any::<bool>())),
        (compressed, cylinders) in (prop::option::of(1..2_u32), 1..4_u32),
        seed: u64,
    ) {
        let mut machine = machine(frames);
        machine.policies.replacement = replacement::POLICIES[names.0].name.into();
        machine.policies.page_out_device = page_out_device::POLICIES[names.1].name.into();
        machine.policies.slot = slot::POLICIES[names.2].name.into();
        machine.paging.most_pages_per_sio = most;
        machine.storage.free_list_minimum = minimum;
        for area in &mut machine.paging.areas[..2] {
            area.cylinders = cylinders;
        }
        if let Some(cylinders) = compressed {
            compress(&mut machine, cylinders);
        }
        let peers = &mut machine.paging.peers;
        peers.readahead = ahead.and_then(|(pages, slot, fixed)| readahead(
            pages,
            if slot { Neighbours::Slot } else { Neighbours::VirtualAddress },
            if fixed { Window::Fixed } else { Window::Adaptive },
        ));
        peers.prefetch = prefetch.map(|most_pages| Prefetch { most_pages });
        peers.migration = moves.and_then(|(interval_ms, pages, lru)| {
            migration(interval_ms, pages, if lru { MigrationOrder::Lru } else { MigrationOrder::PoorLru })
        });
        peers.sampling = Sampling { interval: ms(100.0), idle_samples: 3 };
        let workload = workload(Locality { working_set_pages: pages, shared_pages: shared, ..locality() });
        let reading = |checks| -> (SystemReading, u64) {
            let (mut system, mut calendar) =
                SmallSystem::start(&machine, &workload, users, Streams::new(seed, 0)).unwrap();
            system.checks = checks;
            run(&mut system, &mut calendar, Time::START + ms(3000.0));
            system.memory.check().unwrap();
            (system.reading(), system.transactions)
        };
        let (first, transactions) = reading(true);
        prop_assert_eq!((first, transactions), reading(false));
        prop_assert_eq!(first.ahead_pages.is_some(), ahead.is_some() || prefetch.is_some());
        prop_assert_eq!(first.migrated_pages.is_some(), moves.is_some());
        prop_assert!(first.page_reads > 0 || first.page_faults <= u64::from(users));
    }
}

#[test]
fn what_is_off_counts_nothing_and_what_is_on_counts_all() {
    let (_, off) = outcome(&machine(200), &workload(locality()), 10, 1, 20.0);
    assert_eq!((off.ahead_pages, off.migrated_pages), (None, None));
    let mut on = machine(200);
    on.paging.peers.readahead = readahead(8, Neighbours::VirtualAddress, Window::Fixed);
    let (_, on) = outcome(&on, &workload(locality()), 10, 1, 20.0);
    let [ahead, used, wasted] = [on.ahead_pages, on.ahead_used, on.ahead_wasted].map(Option::unwrap);
    assert!(used > 0 && wasted > 0 && used + wasted <= ahead && ahead < on.page_reads);
    assert!(ahead - used - wasted <= u64::from(on.frames));
}

#[test]
fn neighbours_by_address_are_wanted_more_often_than_those_by_scattered_slots() {
    let used = |by| {
        let mut machine = machine(300);
        machine.paging.peers.readahead = readahead(8, by, Window::Fixed);
        let [ahead, used, faults, transactions] = sums(&machine, |end| {
            [
                end.ahead_pages.unwrap(),
                end.ahead_used.unwrap(),
                end.page_faults,
                end.page_reads,
            ]
        });
        assert!(ahead > 1000.0 && transactions > 0.0 && faults > 0.0);
        used / ahead
    };
    let (slot, address) = (used(Neighbours::Slot), used(Neighbours::VirtualAddress));
    assert!(address > 1.2 * slot, "by slot {slot}, by address {address}");
}

#[test]
fn an_adaptive_window_reads_less_in_vain() {
    let wasted = |window| {
        let mut machine = machine(300);
        machine.paging.peers.readahead = readahead(8, Neighbours::Slot, window);
        let [wasted, faults] = sums(&machine, |end| [end.ahead_wasted.unwrap(), end.page_faults]);
        wasted / faults
    };
    let (fixed, adaptive) = (wasted(Window::Fixed), wasted(Window::Adaptive));
    assert!(adaptive < 0.3 * fixed, "fixed {fixed}, adaptive {adaptive}");
}

#[test]
fn a_recorded_working_set_comes_back_before_it_is_asked_for() {
    let run = |most: Option<Option<u32>>| {
        let mut machine = machine(250);
        machine.paging.peers.prefetch = most.map(|most_pages| Prefetch { most_pages });
        sums(&machine, |end| {
            [
                end.page_faults,
                end.ahead_pages.unwrap_or(0),
                end.ahead_used.unwrap_or(0),
            ]
        })
    };
    let ([none, ..], [some, few, _], [all, many, used]) = (run(None), run(Some(Some(4))), run(Some(None)));
    assert!(
        all < some && some < none,
        "faults: none {none}, four {some}, all {all}"
    );
    assert!(few < many && used > 0.25 * many, "{few} {many} {used}");
}

#[test]
fn a_page_that_must_go_goes_to_the_slower_tier_and_good_order_keeps_reads_on_the_fast_one() {
    let fast = |plan: Option<Migration>| {
        let mut machine = machine(200);
        // The drums hold a third of all pages.
        machine.paging.areas[0].cylinders = 6;
        machine.paging.areas[1].cylinders = 6;
        machine.paging.peers.migration = plan;
        let [reads, of_fast, moved] = sums(&machine, |end| {
            [
                end.page_reads,
                end.page_reads_fast,
                end.migrated_pages.unwrap_or(0),
            ]
        });
        assert_eq!(moved > 0.0, plan.is_some());
        (of_fast - moved) / (reads - moved)
    };
    let none = fast(None);
    let old = fast(migration(5000.0, 150, MigrationOrder::PoorLru));
    let new = fast(migration(500.0, 15, MigrationOrder::Lru));
    assert!(
        new > old + 0.02 && new > none + 0.02,
        "none {none}, old {old}, new {new}"
    );
}

#[test]
fn migration_of_equal_pace_is_better_by_lru_than_by_one_bit() {
    let fast = |order| {
        let mut machine = machine(200);
        machine.paging.areas[0].cylinders = 6;
        machine.paging.areas[1].cylinders = 6;
        machine.paging.peers.migration = migration(2000.0, 100, order);
        let [reads, of_fast, moved] = sums(&machine, |end| {
            [end.page_reads, end.page_reads_fast, end.migrated_pages.unwrap()]
        });
        (of_fast - moved) / (reads - moved)
    };
    let (lru, poor) = (fast(MigrationOrder::Lru), fast(MigrationOrder::PoorLru));
    assert!(lru > poor, "lru {lru}, poor {poor}");
}

#[test]
fn compressed_pages_take_frames_and_processor_time() {
    let mut machine = machine(300);
    compress(&mut machine, 3);
    let (mut system, reading) = outcome(&machine, &workload(locality()), 12, 1, 20.0);
    // Three cylinders of 64 slots, three to a frame.
    assert_eq!(reading.frames, 300 - 64);
    assert!(reading.page_reads_fast > 0 && reading.page_writes_fast > 0);
    let time = system.memory.take_work().compression_ns;
    let each = |count: u64, ms: f64| count * Span::from_seconds(ms * 1e-3).ns();
    assert_eq!(
        time,
        each(reading.page_writes_fast, 0.4) + each(reading.page_reads_fast, 0.2)
    );
}

#[test]
fn idle_pages_are_reclaimed_before_their_frames_are_wanted() {
    let flushed = |idle_samples| {
        let mut machine = machine(900);
        machine.policies.replacement = "working-set-sampling".into();
        machine.paging.peers.sampling = Sampling {
            interval: ms(500.0),
            idle_samples,
        };
        // Everything fits: no frame is ever wanted.
        let (_, reading) = outcome(&machine, &workload(locality()), 10, 1, 30.0);
        assert_eq!(
            reading.steals + reading.page_writes == 0,
            reading.flushed_pages == 0
        );
        reading.flushed_pages
    };
    let (soon, late, never) = (flushed(2), flushed(8), flushed(100));
    assert!(soon > late && late > never, "{soon} {late} {never}");
    assert_eq!(never, 0);
}
