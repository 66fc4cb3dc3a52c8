//! The policy of docs/guides/add-a-policy.md, as the guide has it, at work.

use crate::support::machines::{Kept, at, class, kind, machine, workload};
use satline_machine::engine::{Distribution, Streams};
use satline_machine::model::{Plan, Simulation};
use satline_machine::policies::dispatch::{Dispatch, Make, Ready};
use satline_machine::policies::replacement::{self, Replacement, Setup};
use satline_machine::policies::{Entry, admission, dispatch};
use satline_machine::storage::{Chain, Storage};

#[path = "guide/last_come.rs"]
mod last_come;
#[path = "guide/last_in.rs"]
mod last_in;

const GUIDE: &str = include_str!("../../../../docs/guides/add-a-policy.md");

#[rustfmt::skip]
const LINE: Entry<Make> =
    Entry { name: "last-come", source: include_str!("guide/last_come.rs"), make: last_come::make };

#[test]
fn the_guide_shows_the_code_that_is_tested() {
    assert!(GUIDE.contains(LINE.source), "the policy's file");
    let replacement = include_str!("guide/last_in.rs");
    let (_, code) = replacement.split_once("#[derive").unwrap();
    assert!(GUIDE.contains(code), "the replacement policy");
    let line = r#"Entry { name: "last-come", source: include_str!("last_come.rs"), make: last_come::make },"#;
    assert!(GUIDE.contains(line), "the table's line");
    assert!(
        LINE.what().starts_with("who became ready last runs first;"),
        "{}",
        LINE.what()
    );
}

#[test]
fn it_runs_a_machine() {
    let long = Distribution::exponential(0.3).unwrap();
    let workload = workload(vec![class(
        Distribution::exponential(2.0).unwrap(),
        vec![kind(long)],
    )]);
    let (machine, end) = (machine(), at(600.0));
    let longest_s = |dispatch: Box<dyn Dispatch>| {
        let admission = (admission::POLICIES[0].make)(&machine.scheduler);
        let plan = Plan::constant(12, end);
        let mut simulation = Simulation::with_policies(
            &machine,
            &workload,
            &plan,
            Streams::new(1, 0),
            admission,
            dispatch,
            replacement::POLICIES[0].make,
        )
        .unwrap();
        let mut kept = Kept::default();
        simulation.run_until(end, &mut kept);
        simulation.audit().unwrap();
        let waits = kept.records.iter().map(|record| record.cpu_wait_ns);
        (waits.max().unwrap(), simulation.reading().system.transactions)
    };
    let (in_turn, done) = longest_s((satline_machine::policies::dispatch::POLICIES[1].make)(12, 1));
    let (last_come, also_done) = longest_s((LINE.make)(12, 1));
    // As much gets done, and the unlucky wait much longer.
    assert!(last_come > 2 * in_turn, "{last_come} {in_turn}");
    assert!(done.abs_diff(also_done) < done / 20, "{done} {also_done}");
}

#[test]
fn a_replacement_policy_from_outside_runs_a_machine() {
    let mut kind = kind(Distribution::exponential(0.3).unwrap());
    kind.locality.working_set_pages = 12.0;
    let workload = workload(vec![class(Distribution::exponential(1.0).unwrap(), vec![kind])]);
    let mut machine = machine();
    machine.storage.pageable_frames = 60;
    let end = at(300.0);
    let reads = |replacement: replacement::Make| {
        let mut simulation = Simulation::with_policies(
            &machine,
            &workload,
            &Plan::constant(8, end),
            Streams::new(1, 0),
            (admission::POLICIES[0].make)(&machine.scheduler),
            (dispatch::POLICIES[0].make)(8, 1),
            replacement,
        )
        .unwrap();
        simulation.run_until(end, &mut ());
        simulation.audit().unwrap();
        let system = simulation.reading().system;
        system.page_reads as f64 / system.transactions as f64
    };
    let (scan, last_in) = (reads(replacement::POLICIES[0].make), reads(last_in::make));
    assert!(last_in > 1.1 * scan, "{last_in} {scan}");
}
