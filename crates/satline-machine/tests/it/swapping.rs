//! Swapping of working sets: its books, and what each part does by itself.

use crate::support::bare_storage::Bare;
use crate::support::small_system::{SmallSystem, locality, machine, ms, workload};
use crate::support::swapping::{add_area, areas, plans, prototype};
use proptest::prelude::*;
use satline_machine::configuration::{
    Locality, Machine, Prepage, Purpose, SwapFaults, SwappingPlan, Workload,
};
use satline_machine::engine::{Distribution, Streams, Time, run};
use satline_machine::policies::{replacement, slot};
use satline_machine::readings::SystemReading;
use satline_machine::storage::State;

/// Users who are mostly out of queue.
fn thinkers() -> Workload {
    let mut workload = workload(locality());
    workload.classes[0].think = Distribution::exponential(3.0).unwrap();
    workload
}

fn outcome(
    machine: &Machine,
    workload: &Workload,
    users: u32,
    seed: u64,
    seconds: f64,
    checks: bool,
) -> (SystemReading, u64) {
    let (mut system, mut calendar) =
        SmallSystem::start(machine, workload, users, Streams::new(seed, 0)).unwrap();
    system.checks = checks;
    run(&mut system, &mut calendar, Time::START + ms(seconds * 1e3));
    (system.reading(), system.transactions)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is switched on, the machine and the load: books agree at every completion, and a run repeats.
    #[test]
    fn books_agree_with_any_combination(
        plan in plans(), areas in areas(), frames in 4..300_u32, users in 1..14_u32, seed: u64,
        (policy, slot) in (0..replacement::POLICIES.len(), 0..slot::POLICIES.len()),
        (minimum, most) in (0..20_u32, 1..16_u32),
        (pages, changed, shared) in (1.0..50.0_f64, 0.0..=1.0_f64, 0..12_u32),
    ) {
        let mut machine = machine(frames);
        machine.policies.replacement = replacement::POLICIES[policy].name.into();
        machine.policies.slot = slot::POLICIES[slot].name.into();
        machine.storage.free_list_minimum = minimum;
        machine.paging.most_pages_per_sio = most;
        let logical = plan.logical;
        machine.swapping = Some(plan);
        areas.iter().for_each(|&(purpose, cylinders)| add_area(&mut machine, "3380", purpose, cylinders));
        let mut workload = thinkers();
        workload.classes[0].transactions[0].locality =
            Locality { working_set_pages: pages, changed, shared_pages: shared, ..locality() };
        let run = |checks| outcome(&machine, &workload, users, seed, 6.0, checks);
        let (reading, transactions) = run(true);
        prop_assert_eq!((reading, transactions), run(false));
        prop_assert!(reading.in_queue_pages <= reading.frames);
        // What went out came back by I/O or without, or is still out.
        let [out, back, without] = [reading.swap_pages_out, reading.swap_pages_in, reading.swap_pages_reclaimed]
            .map(Option::unwrap);
        prop_assert!(back + without <= out + u64::from(reading.frames), "{back} + {without} of {out}");
        prop_assert!(reading.swap_sets_in <= reading.swap_pages_in.map(|pages| pages + u64::from(reading.frames)));
        prop_assert!(reading.logical_returns <= reading.logical_swaps);
        prop_assert!((logical && transactions > 0) || reading.logical_swaps == Some(0));
    }
}

/// Storage for everything, one user at a time, every page changed; each set on its own.
fn bare(plan: SwappingPlan, pages: f64, frames: u32, users: u32) -> Bare {
    let mut machine = machine(frames);
    machine.swapping = Some(plan);
    machine.paging.most_pages_per_sio = 1;
    machine.storage.free_list_minimum = 8;
    add_area(&mut machine, "3380", Purpose::Swap, 20);
    let mut locality = locality();
    (locality.working_set_pages, locality.working_set_sd) = (pages, 0.0);
    (
        locality.repeatability,
        locality.growth,
        locality.changed,
        locality.shared_pages,
    ) = (1.0, 1.0, 1.0, 0);
    locality.phase = ms(0.0);
    Bare::new(&machine, &workload(locality), users)
}

fn count(bare: &Bare, state: State) -> usize {
    bare.states().iter().filter(|&&one| one == state).count()
}

#[test]
fn what_is_kept_comes_back_without_a_fault() {
    let mut bare = bare(prototype(), 20.0, 100, 1);
    assert_eq!(bare.transaction(0, 0, ms(20.0)), 20);
    assert_eq!((count(&bare, State::Kept), bare.memory.resident(0)), (20, 0));
    assert_eq!(
        (
            bare.reading().logically_swapped,
            bare.reading().physically_swapped
        ),
        (Some(1), Some(0))
    );
    assert_eq!(bare.transaction(0, 0, ms(20.0)), 0);
    let reading = bare.reading();
    assert_eq!(
        (
            reading.logical_swaps,
            reading.logical_returns,
            reading.swap_sets_out
        ),
        (Some(2), Some(1), Some(0))
    );
}

#[test]
fn without_the_logical_swap_a_working_set_goes_out_at_once_in_blocks() {
    let mut plan = prototype();
    plan.logical = false;
    let mut bare = bare(plan, 20.0, 40, 1);
    bare.transaction(0, 0, ms(20.0));
    let reading = bare.reading();
    // Eight, eight and four.
    assert_eq!(
        (reading.swap_sets_out, reading.swap_sios, reading.swap_pages_out),
        (Some(3), Some(3), Some(20))
    );
    assert_eq!(
        (reading.physical_swaps, reading.physically_swapped),
        (Some(1), Some(1))
    );
    assert_eq!(
        (bare.device(3).page_writes, bare.device(3).slots_used),
        (20, Some(20))
    );
}

/// A working set that went out, its frames taken by another user.
fn out(change: impl FnOnce(&mut SwappingPlan)) -> Bare {
    let mut plan = prototype();
    change(&mut plan);
    let mut bare = bare(plan, 24.0, 70, 2);
    bare.transaction(0, 0, ms(24.0));
    bare.transaction(1, 0, ms(24.0));
    assert_eq!(bare.reading().swap_sets_out, Some(0), "there is room for both");
    bare
}

/// The first of two users goes out when a third and a fourth want his frames.
fn crowded(change: impl FnOnce(&mut SwappingPlan)) -> Bare {
    let mut plan = prototype();
    change(&mut plan);
    let mut bare = bare(plan, 24.0, 60, 4);
    for user in 0..4 {
        assert_eq!(bare.transaction(user, 0, ms(24.0)), 24);
    }
    assert!(bare.reading().physical_swaps >= Some(1));
    bare
}

#[test]
fn a_swap_fault_reads_the_set_and_frees_its_slots() {
    let mut bare = crowded(|plan| plan.prepage_interactive = Prepage::Sets(0));
    let before = bare.reading();
    assert_eq!(
        bare.transaction(0, 0, ms(24.0)),
        3,
        "one fault for each set of eight"
    );
    let after = bare.reading();
    assert_eq!(after.swap_faults, before.swap_faults.map(|faults| faults + 3));
    assert_eq!(after.swap_pages_in, before.swap_pages_in.map(|pages| pages + 24));
    assert_eq!(after.prepaged_pages, Some(21));
    // His are in storage, so no slot in the swap area is his: all that are taken hold pages of other sets.
    let out =
        after.swap_pages_out.unwrap() - after.swap_pages_in.unwrap() - after.swap_pages_reclaimed.unwrap();
    assert_eq!(u64::from(bare.device(3).slots_used.unwrap()), out);
}

#[test]
fn prepaged_sets_are_on_their_way_before_they_are_asked_for() {
    let mut bare = crowded(|_| ());
    bare.begin(0, 0, ms(24.0));
    bare.settle();
    assert_eq!(
        (bare.reading().prepaged_pages, bare.memory.resident(0)),
        (Some(16), 16)
    );
    assert_eq!(bare.run(0, ms(24.0)), 1, "the third set");
    bare.drop_out(0);
    assert_eq!(
        (bare.reading().prepage_errors, bare.reading().swap_faults),
        (Some(0), Some(1))
    );
}

#[test]
fn all_sets_may_be_prepaged_and_noninteractive_users_have_their_own_number() {
    let mut bare = crowded(|plan| plan.prepage_interactive = Prepage::All);
    bare.begin(0, 0, ms(24.0));
    bare.settle();
    assert_eq!(bare.run(0, ms(24.0)), 0);
    let mut bare = crowded(|plan| plan.prepage_noninteractive = Prepage::Sets(1));
    bare.memory.begin_transaction(0, 0, ms(24.0));
    bare.memory
        .queue_add(0, false, &mut bare.subsystem, &mut bare.calendar);
    bare.settle();
    assert_eq!(bare.reading().prepaged_pages, Some(8));
}

#[test]
fn page_by_page_a_set_comes_by_as_many_faults() {
    let mut bare = crowded(|plan| {
        plan.prepage_interactive = Prepage::Sets(0);
        plan.swap_faults = SwapFaults::Page;
    });
    assert_eq!(bare.transaction(0, 0, ms(24.0)), 24);
    let reading = bare.reading();
    assert_eq!(
        (reading.swap_faults, reading.swap_sets_in, reading.swap_pages_in),
        (Some(0), Some(0), Some(0))
    );
}

#[test]
fn what_was_read_ahead_and_not_used_is_an_error_and_is_trimmed() {
    let mut bare = crowded(|plan| plan.minimum_working_set = 0);
    bare.begin(0, 0, ms(24.0));
    bare.settle();
    // He goes without having done anything.
    let before = bare.reading();
    bare.drop_out(0);
    let after = bare.reading();
    assert_eq!(after.prepage_errors, Some(16));
    assert_eq!(after.trimmed_pages, before.trimmed_pages.map(|pages| pages + 16));
    bare.memory.check().unwrap();
}

#[test]
fn the_minimum_working_set_keeps_what_was_not_touched() {
    let mut bare = out(|plan| plan.minimum_working_set = 10);
    let before = count(&bare, State::Kept);
    bare.begin(0, 0, ms(24.0));
    bare.run(0, ms(6.5));
    bare.drop_out(0);
    assert_eq!((before, count(&bare, State::Kept)), (48, 34));
    assert_eq!(bare.reading().trimmed_pages, Some(14));
}

#[test]
fn without_trimming_pages_stay_in_use() {
    let mut bare = out(|plan| {
        plan.trim = false;
        plan.minimum_working_set = 0;
    });
    bare.begin(0, 0, ms(24.0));
    bare.run(0, ms(5.5));
    bare.drop_out(0);
    assert_eq!(
        (bare.memory.resident(0), bare.reading().trimmed_pages),
        (18, Some(0))
    );
}

#[test]
fn who_logs_off_leaves_no_set_behind() {
    let mut bare = crowded(|_| ());
    for user in 0..4 {
        bare.memory.log_off(user);
        bare.memory.check().unwrap();
    }
    bare.settle();
    let reading = bare.reading();
    assert_eq!(
        (reading.logically_swapped, reading.physically_swapped),
        (Some(0), Some(0))
    );
    assert_eq!(bare.device(3).slots_used, Some(0));
    assert_eq!(bare.transaction(0, 0, ms(24.0)), 24, "all is new to him");
}
