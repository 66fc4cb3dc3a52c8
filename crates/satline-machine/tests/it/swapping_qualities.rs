//! What is known of the prototypes in quality [T87]: directions, over replications on small machines.

use crate::support::machines::{at, class, kind, machine, workload};
use crate::support::swapping::{add_area, prototype};
use satline_machine::configuration::{Machine, Prepage, Purpose, SwappingPlan, Workload};
use satline_machine::engine::{Distribution, Streams};
use satline_machine::model::{Plan, Simulation};
use satline_machine::readings::SystemReading;

const WARM_S: f64 = 30.0;
const END_S: f64 = 150.0;
const USERS: u32 = 24;
const REPLICATIONS: u64 = 3;

/// Means over replications, after a warm-up.
#[derive(Debug, Clone, Copy, Default)]
struct Outcome {
    response_s: f64,
    /// By transaction.
    faults: f64,
    demand_reads: f64,
    moved: f64,
    steals: f64,
}

/// One drum for pages and, where sets are swapped, two disks for them.
fn small(frames: u32, plan: Option<SwappingPlan>) -> Machine {
    let mut machine = machine();
    machine.storage.pageable_frames = frames;
    machine.storage.free_list_minimum = 24;
    if plan.is_some() {
        add_area(&mut machine, "3380", Purpose::Swap, 40);
        add_area(&mut machine, "3380", Purpose::Swap, 40);
    }
    machine.swapping = plan;
    machine
}

/// Users with short transactions that touch so many pages, most of them the same as in the last.
fn typists(pages: f64) -> Workload {
    let mut edit = kind(Distribution::exponential(0.04).unwrap());
    edit.locality.working_set_pages = pages;
    edit.locality.working_set_sd = pages / 5.0;
    edit.locality.repeatability = 0.8;
    edit.locality.changed = 0.4;
    edit.locality.growth = 0.5;
    let mut made = workload(vec![class(Distribution::exponential(4.0).unwrap(), vec![edit])]);
    made.classes[0].space_pages = (2.5 * pages) as u32;
    made
}

fn outcome(machine: &Machine, workload: &Workload) -> Outcome {
    let mut sum = Outcome::default();
    for replication in 0..REPLICATIONS {
        let plan = Plan::constant(USERS, at(END_S));
        let mut simulation = Simulation::new(machine, workload, &plan, Streams::new(1, replication)).unwrap();
        simulation.run_until(at(WARM_S), &mut ());
        let from = simulation.reading().system;
        simulation.run_until(at(END_S), &mut ());
        let to = simulation.reading().system;
        simulation.audit().unwrap();
        let transactions = (to.transactions - from.transactions) as f64;
        let mean = |all: f64| all / transactions / REPLICATIONS as f64;
        let by_transaction = |count: u64| mean(count as f64);
        let in_sets = |system: &SystemReading| system.swap_pages_in.unwrap_or(0);
        let moved = (to.page_reads + to.page_writes) - (from.page_reads + from.page_writes);
        sum.response_s += mean((to.in_transaction_ns - from.in_transaction_ns) as f64 * 1e-9);
        sum.faults += by_transaction(to.page_faults - from.page_faults);
        sum.demand_reads +=
            by_transaction((to.page_reads - from.page_reads) - (in_sets(&to) - in_sets(&from)));
        sum.moved += by_transaction(moved);
        sum.steals += by_transaction(to.steals - from.steals);
    }
    sum
}

fn plan(change: impl FnOnce(&mut SwappingPlan)) -> Option<SwappingPlan> {
    let mut plan = prototype();
    change(&mut plan);
    Some(plan)
}

#[test]
fn the_more_is_resident_at_queue_add_the_fewer_faults_follow() {
    let workload = typists(24.0);
    let faults = |frames, sets| {
        let sets = plan(|plan| plan.prepage_interactive = sets);
        outcome(&small(frames, sets), &workload).faults
    };
    let none = faults(250, Prepage::Sets(0));
    let two = faults(250, Prepage::Sets(2));
    let all = faults(250, Prepage::All);
    let kept = faults(900, Prepage::All);
    assert!(
        none > 1.05 * two && two > 1.05 * all && all > 1.05 * kept,
        "{none} {two} {all} {kept}"
    );
}

#[test]
fn total_paging_rises_while_demand_paging_falls() {
    let workload = typists(24.0);
    let base = outcome(&small(300, None), &workload);
    let swapped = outcome(&small(300, plan(|_| ())), &workload);
    assert!(
        swapped.demand_reads < 0.6 * base.demand_reads,
        "{base:?} {swapped:?}"
    );
    assert!(swapped.moved > 1.1 * base.moved, "{base:?} {swapped:?}");
}

#[test]
fn to_prepage_all_of_large_users_is_worse_than_two_sets() {
    let workload = typists(80.0);
    let with = |sets| {
        outcome(
            &small(400, plan(|plan| plan.prepage_interactive = sets)),
            &workload,
        )
    };
    let (two, all) = (with(Prepage::Sets(2)), with(Prepage::All));
    // Their pages drain the free list, and users in queue lose what they have.
    assert!(
        all.response_s > 1.05 * two.response_s && all.steals > 1.1 * two.steals,
        "{two:?} {all:?}"
    );
}

#[test]
fn a_free_list_of_the_old_size_is_too_small() {
    let workload = typists(24.0);
    let with = |minimum| {
        let mut machine = small(200, plan(|_| ()));
        machine.storage.free_list_minimum = minimum;
        outcome(&machine, &workload)
    };
    let (old, larger) = (with(1), with(24));
    assert!(
        old.response_s > 1.1 * larger.response_s && old.faults > 1.05 * larger.faults,
        "{old:?} {larger:?}"
    );
}
