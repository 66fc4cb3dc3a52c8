//! Main storage and paging: worked examples.

use crate::support::bare_storage::Bare;
use crate::support::small_system::{locality, machine, ms, once, outcome, workload};
use satline_machine::configuration::{Machine, Workload};
use satline_machine::engine::{Span, Streams, Time};
use satline_machine::readings::SystemReading;
use satline_machine::storage::{Fault, Memory, State};

#[test]
fn the_scan_resets_bits_on_its_first_sweep_and_takes_in_order_on_its_second() {
    use State::{Free, Used};
    let mut bare = Bare::new(&machine(4), &workload(once(8.0, 0.0)), 1);
    bare.begin(0, 0, ms(8.0));
    // Three faults leave one free frame, which is the threshold.
    assert_eq!(bare.run(0, ms(2.5)), 3);
    assert_eq!(bare.states(), [Used, Used, Used, Free]);
    assert_eq!(bare.reading().frames_scanned, 0);
    // The fourth takes it; the scan passes over 0, 1, 2, and 3 into which the page comes, and takes 0 on its second sweep.
    assert_eq!(bare.run(0, ms(1.0)), 1);
    assert_eq!(bare.states(), [Free, Used, Used, Used]);
    assert_eq!((bare.reading().frames_scanned, bare.reading().steals), (5, 1));
    // Now all bits but that of 3 are off: one look, one frame.
    assert_eq!(bare.run(0, ms(1.0)), 1);
    assert_eq!(bare.states(), [Used, Free, Used, Used]);
    assert_eq!((bare.reading().frames_scanned, bare.reading().steals), (6, 2));
}

#[test]
fn a_page_is_kept_at_queue_drop_and_its_bit_is_off() {
    let mut bare = Bare::new(&machine(10), &workload(once(4.0, 0.0)), 3);
    assert_eq!(bare.transaction(0, 0, ms(4.0)), 4);
    assert_eq!(bare.memory.projected(0), 4);
    assert_eq!(bare.memory.resident(0), 4);
    // The same pages again: no fault.
    assert_eq!(bare.transaction(0, 0, ms(4.0)), 0);
    // Another user's pages take first what is free, then those of the one who is not in queue: no steal.
    bare.begin(1, 0, ms(4.0));
    bare.run(1, ms(4.0));
    bare.begin(2, 0, ms(4.0));
    bare.run(2, ms(4.0));
    assert_eq!(bare.reading().steals, 0);
    assert_eq!((bare.memory.resident(1), bare.memory.resident(2)), (4, 4));
    assert!(bare.memory.resident(0) <= 1);
    assert_eq!(bare.reading().in_queue_pages, 8);
}

#[test]
fn what_is_still_on_the_free_list_is_had_back_without_io() {
    let mut bare = Bare::new(&machine(8), &workload(once(4.0, 0.0)), 2);
    bare.transaction(0, 0, ms(4.0));
    bare.memory.set_mpl(3);
    // Four free frames are wanted: each page of user 1 puts one of user 0 on the free list.
    bare.begin(1, 0, ms(4.0));
    bare.run(1, ms(1.5));
    let before = bare.reading();
    assert_eq!(bare.memory.resident(0), 2);
    // For each that he has back another goes to the list, first his own that he has not yet touched again.
    let faults = bare.transaction(0, 0, ms(4.0));
    assert!(faults >= 2);
    let after = bare.reading();
    assert_eq!(after.reclaims - before.reclaims, u64::from(faults));
    assert_eq!(after.page_reads, before.page_reads);
    assert_eq!(bare.memory.take_work().reclaims, faults);
}

#[test]
fn a_page_on_its_way_out_is_had_back_at_once_and_the_write_goes_on() {
    let mut all_changed = once(4.0, 0.0);
    all_changed.changed = 1.0;
    let mut bare = Bare::new(&machine(6), &workload(all_changed), 2);
    bare.transaction(0, 0, ms(4.0));
    bare.woken.clear();
    bare.memory.set_mpl(2);
    bare.begin(1, 0, ms(4.0));
    assert_eq!(bare.fault_within(1, ms(4.0)).0, Some(Fault::Waits));
    let out = |bare: &Bare| {
        bare.states()
            .iter()
            .filter(|&&state| state == State::GoingOut)
            .count()
    };
    assert_eq!(out(&bare), 2);
    bare.begin(0, 0, ms(4.0));
    // Some of his pages are being written; he has them all the same.
    let (mut left, mut reclaimed) = (ms(4.0), 0);
    while left > Span::ZERO {
        let (fault, run) = bare.fault_within(0, left);
        assert_ne!(fault, Some(Fault::Waits));
        reclaimed += u32::from(fault.is_some());
        left = left - run;
        bare.memory.check().unwrap();
    }
    assert!(reclaimed >= 2);
    bare.settle();
    assert!(bare.reading().page_writes >= 2);
    assert_eq!(bare.woken, [1]);
}

#[test]
fn an_unchanged_page_with_a_slot_is_not_written_again() {
    let mut workload = workload(once(8.0, 0.0));
    let mut kinds = workload.classes[0].transactions.clone();
    kinds.push(kinds[0].clone());
    kinds[0].locality.changed = 1.0;
    workload.classes[0].transactions = kinds;
    workload.classes[0].space_pages = 8;
    let mut bare = Bare::new(&machine(4), &workload, 1);
    bare.transaction(0, 0, ms(8.0));
    // The changed ones leave; then all are only read.
    bare.transaction(0, 1, ms(8.0));
    let before = bare.reading();
    for _ in 0..5 {
        bare.transaction(0, 1, ms(8.0));
    }
    let after = bare.reading();
    assert_eq!(before.page_writes, 8, "every changed page once");
    assert_eq!(after.page_writes, 8);
    assert!(after.page_reads > before.page_reads + 10);
    assert_eq!(after.slots_used, 8, "a page has one slot");
}

#[test]
fn pages_overflow_to_the_next_tier_and_from_there_to_an_error() {
    let mut machine = machine(4);
    // 24 slots on a drum cylinder, 57 on one of the disk.
    machine.paging.areas.remove(1);
    machine.paging.areas[0].cylinders = 1;
    let mut all_changed = once(50.0, 0.0);
    all_changed.changed = 1.0;
    let workload = workload(all_changed);
    let mut bare = Bare::new(&machine, &workload, 1);
    bare.transaction(0, 0, ms(50.0));
    bare.transaction(0, 0, ms(50.0));
    let slots = |bare: &Bare, number| bare.device(number).slots_used;
    assert_eq!(
        (slots(&bare, 0), slots(&bare, 1), slots(&bare, 2)),
        (Some(24), None, Some(26))
    );
    let reading = bare.reading();
    assert!(reading.page_reads_fast > 0 && reading.page_reads_fast < reading.page_reads);
    assert_eq!(bare.device(0).page_reads, reading.page_reads_fast);

    // Without the disk 24 pages have a slot; the others fill storage.
    machine.paging.areas.truncate(1);
    let mut bare = Bare::new(&machine, &workload, 1);
    bare.begin(0, 0, ms(50.0));
    // Nothing can be given up, so in the end he waits for ever.
    loop {
        let (fault, _) = bare.fault_within(0, ms(50.0));
        if fault == Some(Fault::Waits) && bare.calendar.is_empty() {
            break;
        }
        while !bare.calendar.is_empty() {
            let event = bare.calendar.next(Time::NEVER).unwrap();
            if let Some(done) = bare.subsystem.handle(event, &mut bare.calendar) {
                bare.memory
                    .completed(&done, &mut bare.subsystem, &mut bare.calendar, &mut bare.woken);
            }
        }
    }
    assert!(bare.memory.overflow());
    // That is no mistake of the books.
    bare.memory.check().unwrap();
    // Somebody leaves: there is room again.
    bare.memory.log_off(0);
    assert_eq!(bare.reading().slots_used, 0);
    bare.begin(0, 0, ms(50.0));
    bare.fault_within(0, ms(50.0));
    assert!(!bare.memory.overflow());
}

#[test]
fn faults_in_a_row_without_running_between_keep_the_books() {
    let mut at_once = once(8.0, 0.0);
    at_once.growth = 1e-3;
    let mut bare = Bare::new(&machine(12), &workload(at_once), 1);
    for _ in 0..3 {
        bare.begin(0, 0, ms(8.0));
        while bare.memory.until_fault(0, Span::ZERO).is_some() {
            bare.memory.fault(0, &mut bare.subsystem, &mut bare.calendar);
            bare.settle();
        }
        bare.drop_out(0);
        bare.memory.check().unwrap();
    }
}

#[test]
fn without_a_free_frame_a_fault_waits_for_one() {
    let mut all_changed = once(4.0, 0.0);
    all_changed.changed = 1.0;
    let mut bare = Bare::new(&machine(2), &workload(all_changed), 2);
    bare.begin(0, 0, ms(4.0));
    bare.begin(1, 0, ms(4.0));
    bare.run(0, ms(0.5));
    bare.run(1, ms(0.5));
    bare.woken.clear();
    // One frame of each; both are wanted again at once, and have to be written before.
    assert_eq!(bare.fault_within(0, ms(4.0)).0, Some(Fault::Waits));
    assert_eq!(bare.fault_within(1, ms(4.0)).0, Some(Fault::Waits));
    bare.settle();
    bare.woken.sort_unstable();
    assert_eq!(bare.woken, [0, 1]);
}

#[test]
fn who_logs_off_gives_up_frames_and_slots() {
    let mut all_changed = once(8.0, 0.0);
    all_changed.changed = 1.0;
    let mut bare = Bare::new(&machine(12), &workload(all_changed), 2);
    bare.transaction(0, 0, ms(8.0));
    bare.transaction(1, 0, ms(8.0));
    bare.memory.log_off(0);
    bare.memory.check().unwrap();
    assert_eq!(bare.memory.resident(0), 0);
    assert_eq!(bare.reading().slots_used, 8);
    assert_eq!(bare.transaction(0, 0, ms(8.0)), 8);
}

#[test]
fn shared_pages_are_read_once_for_all_and_belong_to_no_one() {
    let mut shared = once(1.0, 0.0);
    shared.shared_pages = 10;
    let mut bare = Bare::new(&machine(40), &workload(shared), 3);
    let faults: Vec<u32> = (0..3).map(|user| bare.transaction(user, 0, ms(11.0))).collect();
    assert_eq!(faults, [11, 1, 1]);
    assert_eq!(bare.memory.resident_shared(), 10);
    assert_eq!(bare.memory.available_frames(), 30);
    assert_eq!((bare.memory.resident(1), bare.memory.projected(1)), (1, 1));
    assert_eq!((bare.memory.page_reads(0), bare.memory.page_reads(1)), (11, 1));
}

#[test]
fn two_who_wait_for_one_shared_page_are_both_woken_by_one_read() {
    let mut shared = once(1.0, 0.0);
    shared.shared_pages = 10;
    let mut workload = workload(shared);
    workload.classes[0].space_pages = 1;
    let mut bare = Bare::new(&machine(40), &workload, 2);
    for user in 0..2 {
        bare.transaction(user, 0, ms(0.0));
        bare.begin(user, 0, ms(11.0));
    }
    // They refer to the ten in an order of their own; each time both wait, or one finds it there.
    for _ in 0..40 {
        for user in 0..2 {
            bare.fault_within(user, ms(1.0));
        }
        bare.settle();
    }
    assert_eq!(bare.memory.resident_shared(), 10);
    let reads = bare.memory.page_reads(0) + bare.memory.page_reads(1);
    assert_eq!((reads, bare.reading().page_reads), (12, 12));
}

#[test]
fn requests_on_one_cylinder_of_a_busy_device_share_a_start_io() {
    let load = |most| {
        let mut machine = machine(60);
        machine.paging.most_pages_per_sio = most;
        machine.paging.areas = vec![machine.paging.areas[2].clone()];
        outcome(&machine, &workload(locality()), 25, 3, 30.0).1
    };
    let (alone, shared) = (load(1), load(8));
    assert_eq!(alone.paging_sios, alone.page_reads + alone.page_writes);
    assert!(
        shared.paging_sios * 11 / 10 < shared.page_reads + shared.page_writes,
        "{shared:?}"
    );
    assert!(shared.page_reads > alone.page_reads, "the device moves more");
}

/// The only drum, one start-I/O at a time: where requests share one whatever their cylinders, reads do as well as writes.
#[test]
fn requests_of_any_cylinders_share_a_start_io_on_a_drum_that_chains_across_them() {
    let load = |across, changed| {
        let mut machine = machine(60);
        machine.paging.areas.truncate(1);
        machine.paging.areas[0].cylinders = 96;
        machine.devices[0].model = machine.devices[0].model.driven(1, across);
        let mut locality = locality();
        locality.changed = changed;
        outcome(&machine, &workload(locality), 25, 3, 30.0).1
    };
    let (alone, shared) = (load(false, 0.5), load(true, 0.5));
    let pages = |found: &SystemReading| (found.page_reads + found.page_writes) as f64;
    let each = |found: &SystemReading| pages(found) / found.paging_sios as f64;
    // Page-outs go to slots of one cylinder one after another: those share without it.
    assert!(each(&shared) > 2.0 * each(&alone), "{alone:?} {shared:?}");
    // Without a write after the first ones nothing but reads can share.
    let read = load(true, 0.0);
    assert!(
        read.page_reads > 20 * read.page_writes && each(&read) > 1.8,
        "{read:?}"
    );
}

#[test]
fn impossible_machines_are_errors_with_a_remedy() {
    let refused = |change: fn(&mut Machine, &mut Workload), message: &str| {
        let (mut machine, mut workload) = (machine(10), workload(locality()));
        change(&mut machine, &mut workload);
        let error = Memory::new(&machine, &workload, 3, &Streams::new(1, 0)).unwrap_err();
        assert!(error.message.contains(message), "{error}");
        assert!(!error.hint.is_empty());
    };
    refused(
        |machine, _| machine.storage.pageable_frames = 0,
        "pageable_frames",
    );
    refused(|machine, _| machine.paging.areas.clear(), "no paging area");
    refused(
        |machine, _| machine.paging.areas[1].device = 9,
        "paging area 2: there is no device 9",
    );
    refused(
        |machine, _| machine.paging.areas[1].device = 0,
        "paging area 2: it overlaps another on drum-1",
    );
    refused(
        |machine, _| machine.paging.areas[0].first_cylinder = u32::MAX,
        "are not on drum-1",
    );
    refused(
        |machine, _| machine.paging.most_pages_per_sio = 17,
        "most_pages_per_sio is 17",
    );
    refused(
        |machine, _| machine.policies.replacement = "clock".into(),
        "\"clock\" is not known",
    );
    refused(
        |machine, _| machine.policies.slot = String::new(),
        "policies.slot",
    );
    refused(
        |_, workload| workload.classes[0].space_pages = 0,
        "space_pages is 0",
    );
    refused(
        |_, workload| workload.classes[0].transactions[0].locality.growth = 0.0,
        "transaction \"only\": locality.growth is 0",
    );
}
