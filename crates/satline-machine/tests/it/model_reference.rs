//! Behaviours that the simulated machine must show, in shape [Bard]: throughput against the multiprogramming level.

use crate::support::machines::{at, class, kind, machine, s, workload};
use satline_machine::engine::{Distribution, Streams};
use satline_machine::model::{Plan, Simulation};

const WORKING_SET: u32 = 20;
const USERS: u32 = 18;

/// Transactions per second with so many users in queue and storage for so many working sets. There are always more who
/// want in: the level is the cap.
fn throughput_per_s(sets: Option<u32>, level: u32) -> f64 {
    let mut machine = machine();
    machine.policies.admission = "cap".into();
    machine.scheduler.mpl_cap = Some(level);
    // The free list is not theirs to use.
    let frames = |sets| sets * WORKING_SET + level + 1;
    machine.storage.pageable_frames = sets.map_or(USERS * 200, frames);
    let mut work = kind(Distribution::fixed(1.0).unwrap());
    work.cpu_between_ios = Some(s(0.015));
    work.locality.working_set_pages = WORKING_SET.into();
    work.locality.growth = 0.2;
    work.locality.phase = s(2.0);
    work.locality.changed = 0.5;
    let mut workload = workload(vec![class(Distribution::fixed(0.01).unwrap(), vec![work])]);
    workload.classes[0].space_pages = 25;
    let (from, end) = (at(50.0), at(180.0));
    let plan = Plan {
        audit: false,
        ..Plan::constant(USERS, end)
    };
    let mut simulation = Simulation::new(&machine, &workload, &plan, Streams::new(1, 0)).unwrap();
    simulation.run_until(from, &mut ());
    let useful = |simulation: &mut Simulation| simulation.reading().processors[0].problem_ns;
    let before = useful(&mut simulation);
    simulation.run_until(end, &mut ());
    // A transaction is 1 s of problem time.
    (useful(&mut simulation) - before) as f64 * 1e-9 / (end - from).seconds()
}

#[test]
fn throughput_peaks_where_storage_is_full_and_saturates_where_it_is_not() {
    let levels = [1, 3, 6, 12, 18];
    let curve = |sets| levels.map(|level| throughput_per_s(sets, level));
    let unlimited = curve(None);
    let [three, six, nine] = [3, 6, 9].map(|sets| curve(Some(sets)));
    assert!(
        unlimited.windows(2).all(|pair| pair[1] > pair[0] * 0.99),
        "never falls: {unlimited:?}"
    );
    assert!(
        unlimited[2] > 0.85 * unlimited[4],
        "saturates near 6: {unlimited:?}"
    );
    assert!(unlimited[1] < 0.85 * unlimited[4], "not before: {unlimited:?}");
    let falls = three.windows(2).skip(1).all(|pair| pair[1] < 0.9 * pair[0]);
    assert!(three[1] > three[0] && falls, "peaks at 3: {three:?}");
    assert!(three[1] < 0.85 * unlimited[4], "well below: {three:?}");
    assert!(six[2] > 0.95 * unlimited[2], "comes close: {six:?}");
    assert!(
        six[3] < 0.9 * six[2] && six[4] < 0.8 * six[3],
        "and falls: {six:?}"
    );
    assert!(
        nine[2] > 0.95 * unlimited[2] && nine[3] > six[3],
        "farther: {nine:?}"
    );
    assert!(nine[4] < 0.9 * nine[3], "and falls too: {nine:?}");
}
