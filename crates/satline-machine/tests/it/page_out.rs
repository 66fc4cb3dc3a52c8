//! What leaves storage, and how: queue-drop, blocked page-out, the periodic scan; worked examples.

use crate::support::bare_storage::Bare;
use crate::support::small_system::{SmallSystem, locality, machine, ms, once, workload};
use proptest::prelude::*;
use satline_machine::configuration::{Locality, Machine, PeriodicScan};
use satline_machine::engine::{Streams, Time, run};
use satline_machine::policies::{page_out_device, queue_drop, replacement, slot};
use satline_machine::readings::SystemReading;
use satline_machine::storage::State;

fn with_queue_drop(frames: u32, policy: &str) -> Machine {
    let mut machine = machine(frames);
    machine.policies.queue_drop = policy.into();
    machine
}

fn round_turkey(frames: u32) -> Machine {
    let mut machine = machine(frames);
    machine.policies.page_out_device = "round-turkey".into();
    machine.policies.slot = "moving-cursor".into();
    machine.paging.write_unchanged = true;
    machine
}

fn count(bare: &Bare, wanted: State) -> usize {
    bare.states().iter().filter(|&&state| state == wanted).count()
}

#[test]
fn kept_bits_make_the_scan_pass_over_pages_of_who_has_left() {
    // User 0 leaves six pages, user 1 takes more than are free.
    let scanned = |policy: &str| {
        let mut bare = Bare::new(&with_queue_drop(10, policy), &workload(once(6.0, 0.0)), 2);
        bare.transaction(0, 0, ms(6.0));
        bare.begin(1, 0, ms(6.0));
        bare.run(1, ms(6.0));
        bare.reading()
    };
    let (reset, kept) = (scanned("reset-bits"), scanned("keep-bits"));
    assert_eq!((reset.steals, reset.flushed_pages), (0, 0));
    // Frames 0 to 5 had their bits off: one look for each frame taken.
    assert_eq!(reset.frames_scanned, 3);
    assert!(
        kept.frames_scanned > reset.frames_scanned + 6,
        "{}",
        kept.frames_scanned
    );
    // Whoever comes back finds his pages either way.
    for policy in ["reset-bits", "keep-bits"] {
        let mut bare = Bare::new(&with_queue_drop(10, policy), &workload(once(6.0, 0.0)), 1);
        assert_eq!(bare.transaction(0, 0, ms(6.0)), 6);
        assert_eq!(bare.transaction(0, 0, ms(6.0)), 0, "{policy}");
        assert_eq!(bare.memory.projected(0), 6, "{policy}");
    }
}

#[test]
fn flushed_pages_are_taken_before_all_others_in_order_or_the_last_first() {
    let mut workload = workload(once(4.0, 0.0));
    let mut more = workload.classes[0].transactions[0].clone();
    more.locality = once(8.0, 0.0);
    workload.classes[0].transactions.push(more);
    for (policy, spared, taken) in [("flush-fifo", 1, 0), ("flush-lifo", 0, 1)] {
        let after = |user: u32| {
            let mut bare = Bare::new(&with_queue_drop(12, policy), &workload, 3);
            bare.transaction(0, 0, ms(4.0));
            bare.transaction(1, 0, ms(4.0));
            assert_eq!(count(&bare, State::Flush), 8, "{policy}");
            assert_eq!((bare.memory.resident(0), bare.memory.resident(1)), (0, 0));
            // Four frames are free. User 2 takes these and four of the list, and a fifth goes to the free list.
            bare.begin(2, 1, ms(8.0));
            bare.run(2, ms(8.0));
            let before = bare.reading();
            assert_eq!((before.frames_scanned, before.steals), (0, 0));
            assert_eq!(count(&bare, State::Flush), 3, "{policy}");
            bare.transaction(user, 0, ms(4.0));
            let after = bare.reading();
            (
                after.page_reads - before.page_reads,
                after.reclaims - before.reclaims,
            )
        };
        assert_eq!(after(spared), (0, 4), "{policy}");
        assert_eq!(after(taken), (4, 0), "{policy}");
    }
}

#[test]
fn a_flushed_page_is_had_back_without_io_and_counted() {
    let mut bare = Bare::new(&with_queue_drop(12, "flush-fifo"), &workload(once(5.0, 1.0)), 1);
    bare.transaction(0, 0, ms(5.0));
    let before = bare.reading();
    assert_eq!((before.flushed_pages, before.flush_reclaims), (5, 0));
    bare.transaction(0, 0, ms(5.0));
    let after = bare.reading();
    assert_eq!((after.flushed_pages, after.flush_reclaims), (10, 5));
    assert_eq!((after.page_reads, after.page_writes), (before.page_reads, 0));
}

#[test]
fn blocks_of_eight_go_out_in_one_start_io_to_each_device_in_turn() {
    let mut bare = Bare::new(&round_turkey(40), &workload(once(59.0, 1.0)), 1);
    bare.transaction(0, 0, ms(59.0));
    let reading = bare.reading();
    // Three blocks fill a cylinder of 24 slots, so no boundary cuts one.
    assert!(reading.page_writes >= 16, "{}", reading.page_writes);
    assert_eq!(reading.page_writes, 8 * reading.page_out_sios);
    assert_eq!(
        reading.page_in_sios, reading.page_reads,
        "pages are read one by one"
    );
    assert_eq!(reading.paging_sios, reading.page_in_sios + reading.page_out_sios);
    let writes = [0, 1].map(|number| bare.device(number).page_writes);
    assert!(writes[0] - writes[1] <= 8 && writes[1] > 0, "{writes:?}");

    // The base writes one page at a time, and nothing beyond what is wanted.
    let mut base = Bare::new(&machine(40), &workload(once(59.0, 1.0)), 1);
    base.transaction(0, 0, ms(59.0));
    let base = base.reading();
    assert_eq!(base.page_out_sios, base.page_writes);
    assert!(base.page_writes <= reading.page_writes && base.page_writes + 8 > reading.page_writes);
}

#[test]
fn a_cylinder_boundary_ends_a_block() {
    let mut machine = round_turkey(30);
    // One disk of 57 slots a cylinder: seven blocks of eight, and one of a single page.
    machine.paging.areas.drain(..2);
    let mut bare = Bare::new(&machine, &workload(once(50.0, 0.3)), 1);
    for _ in 0..4 {
        bare.transaction(0, 0, ms(50.0));
    }
    let reading = bare.reading();
    let (cylinders, rest) = (reading.page_writes / 57, reading.page_writes % 57);
    assert!(cylinders >= 1);
    assert_eq!(reading.page_out_sios, 8 * cylinders + rest.div_ceil(8));
}

#[test]
fn unchanged_pages_move_with_the_wave_and_leave_their_old_slots() {
    let after = |machine: &Machine| {
        let mut bare = Bare::new(machine, &workload(once(50.0, 0.0)), 1);
        for _ in 0..4 {
            bare.transaction(0, 0, ms(50.0));
        }
        bare.reading()
    };
    let wave = after(&round_turkey(30));
    assert!(wave.page_writes > 50, "{}", wave.page_writes);
    assert_eq!(wave.slots_used, 50);
    // Alone, too: one page at a time as at base.
    let mut alone = machine(30);
    alone.paging.write_unchanged = true;
    let alone = after(&alone);
    assert!(alone.page_writes > 50 && alone.page_out_sios == alone.page_writes);
    assert_eq!(alone.slots_used, 50);
    // And blocks without it: nothing was changed, so nothing is written.
    let mut blocks = round_turkey(30);
    blocks.paging.write_unchanged = false;
    let blocks = after(&blocks);
    assert_eq!((blocks.page_writes, blocks.page_out_sios), (0, 0));
}

#[test]
fn without_rewriting_a_block_looks_at_eight_frames_more_at_most() {
    let mut machine = round_turkey(100);
    machine.paging.write_unchanged = false;
    let mut bare = Bare::new(&machine, &workload(once(55.0, 0.1)), 4);
    for user in 0..4 {
        bare.begin(user, 0, ms(55.0));
        for _ in 0..55 {
            bare.run(user, ms(1.0));
            // Once storage is full: the threshold is 1.
            let reading = bare.reading();
            assert!(
                reading.frames_scanned == 0 || reading.frames_free <= 1 + 8,
                "{}",
                reading.frames_free
            );
        }
        bare.drop_out(user);
    }
    assert!(bare.reading().frames_free > 0 && bare.reading().page_writes > 0);
}

#[test]
fn the_periodic_scan_flushes_what_nobody_in_queue_needs() {
    let mut machine = machine(60);
    assert_eq!(
        Bare::new(&machine, &workload(once(6.0, 0.0)), 1)
            .memory
            .scan_interval(),
        None
    );
    let interval = ms(4000.0);
    machine.paging.periodic_scan = Some(PeriodicScan { interval, part: 0.5 });
    let mut shared = once(6.0, 0.0);
    shared.shared_pages = 4;
    let mut bare = Bare::new(&machine, &workload(shared), 2);
    assert_eq!(bare.memory.scan_interval(), Some(interval));
    bare.transaction(0, 0, ms(10.0));
    bare.begin(1, 0, ms(10.0));
    bare.run(1, ms(10.0));
    let in_common = bare.memory.resident_shared();
    // Twice a half is all: pages of user 0 lost their bits when he left, the shared ones do now.
    let sweep = |bare: &mut Bare| {
        (0..2).for_each(|_| bare.memory.scan(&mut bare.subsystem, &mut bare.calendar));
        bare.memory.check().unwrap();
        (
            bare.memory.resident(0),
            bare.memory.resident(1),
            bare.memory.resident_shared(),
        )
    };
    assert_eq!(sweep(&mut bare), (0, 6, in_common));
    assert_eq!(sweep(&mut bare), (0, 6, 0));
    let before = bare.reading();
    assert_eq!(before.flushed_pages, 6 + u64::from(in_common));
    assert_eq!(before.frames_scanned, 0, "that is the replacement policy's");
    // Nothing was needed elsewhere, so all is had back.
    bare.transaction(0, 0, ms(10.0));
    let after = bare.reading();
    assert_eq!(after.page_reads, before.page_reads);
    assert_eq!(after.flush_reclaims, 6 + 4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whatever is combined: books agree at every completion, work goes on, and a run repeats.
    #[test]
    fn books_agree_with_any_combination(
        names in (0..replacement::POLICIES.len(), 0..page_out_device::POLICIES.len(), 0..slot::POLICIES.len(), 0..queue_drop::POLICIES.len()),
        frames in 1..150_u32, users in 1..15_u32, most in 1..16_u32, minimum in 0..40_u32, write_unchanged: bool,
        scan in prop::option::of((1.0..900.0, 0.01..=1.0)),
        (pages, changed, repeatability) in (1.0..50.0_f64, 0.0..=1.0_f64, 0.0..=1.0_f64),
        shared in 0..12_u32, cylinders in 1..6_u32, seed: u64,
    ) {
        let mut machine = machine(frames);
        machine.policies.replacement = replacement::POLICIES[names.0].name.into();
        machine.policies.page_out_device = page_out_device::POLICIES[names.1].name.into();
        machine.policies.slot = slot::POLICIES[names.2].name.into();
        machine.policies.queue_drop = queue_drop::POLICIES[names.3].name.into();
        machine.paging.most_pages_per_sio = most;
        machine.paging.write_unchanged = write_unchanged;
        machine.paging.periodic_scan = scan.map(|(interval_ms, part)| PeriodicScan { interval: ms(interval_ms), part });
        // Small areas: tiers fill, and blocks meet boundaries.
        machine.paging.areas.iter_mut().for_each(|area| area.cylinders = cylinders);
        machine.paging.areas[2].cylinders = 20;
        machine.storage.free_list_minimum = minimum;
        let workload = workload(Locality { working_set_pages: pages, changed, repeatability, shared_pages: shared, ..locality() });
        let reading = |checks| -> (SystemReading, u64) {
            let (mut system, mut calendar) =
                SmallSystem::start(&machine, &workload, users, Streams::new(seed, 0)).unwrap();
            system.checks = checks;
            run(&mut system, &mut calendar, Time::START + ms(2000.0));
            (system.reading(), system.transactions)
        };
        let (first, transactions) = reading(true);
        prop_assert_eq!((first, transactions), reading(false));
        prop_assert!(first.page_reads > 0 || first.page_faults <= u64::from(users));
        prop_assert!(first.page_in_sios + first.page_out_sios >= first.paging_sios);
        prop_assert!(first.flush_reclaims <= first.flushed_pages);
        prop_assert!(first.page_writes <= 16 * first.page_out_sios);
        let flushes = machine.policies.queue_drop.starts_with("flush") || machine.paging.periodic_scan.is_some();
        prop_assert!(flushes || first.flushed_pages == 0);
    }
}
