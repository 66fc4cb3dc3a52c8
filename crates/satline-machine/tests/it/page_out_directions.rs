//! What the tuning experiments and round turkey did in 1987 [T87], on small machines: directions, not figures.
//!
//! Which way an experiment goes depends on what fills storage. On the shipped 3081D (tso310, 310 users) and 4341-2
//! (interactive, 60 users) all three tuning experiments raise paging together; here each has the conditions that make it
//! do so alone.

use crate::support::machines::{at, class, kind, machine, s, units, workload};
use satline_machine::configuration::{Machine, PageArea, Purpose, Role, TransactionKind, Workload};
use satline_machine::engine::{Distribution, Streams};
use satline_machine::model::{Plan, Simulation};
use satline_machine::readings::Reading;

const REPLICATIONS: u64 = 6;
const END_S: f64 = 300.0;

/// A machine with its users.
struct Case {
    machine: Machine,
    workload: Workload,
    users: u32,
}

/// So many frames; pages go to two disks.
fn disks(frames: u32) -> Machine {
    let mut made = machine();
    made.storage.pageable_frames = frames;
    made.devices = units("3350", 2, Role::Paging, 1);
    let area = |device| PageArea {
        device,
        first_cylinder: 250,
        cylinders: 25,
        tier: 0,
        purpose: Purpose::Paging,
    };
    made.paging.areas = vec![area(0), area(1)];
    made.paging.most_pages_per_sio = 8;
    made
}

/// Comes back to its pages.
fn short() -> TransactionKind {
    let mut made = kind(Distribution::exponential(0.06).unwrap());
    made.locality.working_set_pages = 12.0;
    made.locality.working_set_sd = 3.0;
    made.locality.repeatability = 0.85;
    made.locality.growth = 0.5;
    made.locality.reference_interval = s(0.008);
    made.locality.changed = 0.3;
    made
}

/// Goes from one set of pages to another.
fn long(cpu_s: f64, pages: f64) -> TransactionKind {
    let mut made = short();
    made.cpu = Distribution::exponential(cpu_s).unwrap();
    made.locality.phase = s(0.25);
    made.locality.working_set_pages = pages;
    made
}

/// Working sets of those in queue take most of storage, and everybody's short and long transactions share few pages.
fn committed() -> Case {
    let mut kinds = vec![short(), long(1.2, 18.0)];
    (kinds[0].weight, kinds[1].weight) = (0.8, 0.2);
    Case {
        machine: disks(320),
        workload: workload(vec![class(Distribution::exponential(5.0).unwrap(), kinds)]),
        users: 36,
    }
}

/// Some users stay in queue for long and leave a trail of pages behind them that nobody needs any more.
fn hoarding() -> Case {
    let think = || Distribution::exponential(5.0).unwrap();
    let mut wanders = long(2.0, 15.0);
    wanders.locality.repeatability = 0.2;
    let (mut quick, mut slow) = (class(think(), vec![short()]), class(think(), vec![wanders]));
    (quick.share, slow.share) = (0.7, 0.3);
    slow.name = "slow".into();
    slow.space_pages = 120;
    Case {
        machine: disks(350),
        workload: workload(vec![quick, slow]),
        users: 30,
    }
}

fn ends(case: &Case, change: impl Fn(&mut Machine)) -> Vec<Reading> {
    let mut machine = case.machine.clone();
    change(&mut machine);
    let run = |replication| {
        let plan = Plan::constant(case.users, at(END_S));
        let streams = Streams::new(5, replication);
        let mut simulation = Simulation::new(&machine, &case.workload, &plan, streams).unwrap();
        simulation.run_until(at(END_S), &mut ());
        simulation.audit().unwrap();
        simulation.reading().clone()
    };
    (0..REPLICATIONS).map(run).collect()
}

fn queue_drop(case: &Case, policy: &str) -> Vec<Reading> {
    ends(case, |machine| machine.policies.queue_drop = policy.into())
}

fn turkey(slot: &str) -> impl Fn(&mut Machine) {
    move |machine| {
        machine.policies.page_out_device = "round-turkey".into();
        machine.policies.slot = slot.into();
        machine.paging.write_unchanged = true;
    }
}

fn per_transaction(count: u64, end: &Reading) -> f64 {
    count as f64 / end.system.transactions as f64
}

/// Total paging: pages in and out.
fn paging(end: &Reading) -> f64 {
    per_transaction(end.system.page_reads + end.system.page_writes, end)
}

fn pages_per_page_out(end: &Reading) -> f64 {
    end.system.page_writes as f64 / end.system.page_out_sios as f64
}

/// Seek and latency of a start-I/O.
fn disconnect_ms(end: &Reading) -> f64 {
    let disconnect_ns: u128 = end.devices.iter().map(|device| device.disconnect_ns).sum();
    let sios: u64 = end.devices.iter().map(|device| device.sios).sum();
    disconnect_ns as f64 * 1e-6 / sios as f64
}

/// More in the second: the replications are pairs with the same users, and their mean difference is beyond chance
/// (over four standard errors; p < 0.01 at 5 degrees of freedom).
fn rises(what: &str, one: &[Reading], other: &[Reading], of: impl Fn(&Reading) -> f64) {
    let differences: Vec<f64> = one
        .iter()
        .zip(other)
        .map(|(one, other)| of(other) - of(one))
        .collect();
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let squares: f64 = differences.iter().map(|one| (one - mean).powi(2)).sum();
    let error = (squares / (n - 1.0) / n).sqrt();
    assert!(mean > 4.0 * error, "{what}: {mean} ± {error}");
}

#[test]
fn kept_bits_make_the_scan_run_faster_steal_more_and_page_more() {
    let case = committed();
    let (base, kept) = (queue_drop(&case, "reset-bits"), queue_drop(&case, "keep-bits"));
    rises("paging", &base, &kept, paging);
    rises("steals", &base, &kept, |end| {
        per_transaction(end.system.steals, end)
    });
    rises("scan", &base, &kept, |end| {
        per_transaction(end.system.frames_scanned, end)
    });
}

#[test]
fn where_few_are_in_queue_kept_bits_are_the_better_memory() {
    // The other way round from [T87]: storage is full of pages of those who think, and the scan has time.
    let mut case = committed();
    case.users = 20;
    let (base, kept) = (queue_drop(&case, "reset-bits"), queue_drop(&case, "keep-bits"));
    rises("paging", &kept, &base, paging);
}

#[test]
fn always_flushing_raises_paging_first_in_first_out_or_last() {
    let case = hoarding();
    let base = queue_drop(&case, "reset-bits");
    for policy in ["flush-fifo", "flush-lifo"] {
        let flushed = queue_drop(&case, policy);
        rises(policy, &base, &flushed, paging);
        // Why: what is flushed is taken before what nobody in queue needs any more.
        rises("spared", &flushed, &base, |end| {
            per_transaction(end.system.steals, end)
        });
    }
}

#[test]
fn round_turkey_writes_in_blocks_and_without_the_cursor_they_scatter() {
    let case = committed();
    let base = ends(&case, |_| {});
    let (cursor, edge) = (
        ends(&case, turkey("moving-cursor")),
        ends(&case, turkey("one-edge")),
    );
    rises("pages per start-I/O", &base, &cursor, pages_per_page_out);
    rises("with the cursor", &edge, &cursor, pages_per_page_out);
    // Though a block with gaps has more latency than a single page.
    rises("seeks", &cursor, &edge, disconnect_ms);
    rises("seeks of the base", &base, &edge, disconnect_ms);
    for end in &cursor {
        assert!(pages_per_page_out(end) > 6.0, "{}", pages_per_page_out(end));
    }
}
