//! The whole machine against exact queueing theory, where there is one.

use crate::support::machines::{Kept, at, class, kind, machine, s, units, workload};
use satline_machine::configuration::{Machine, Role, Workload};
use satline_machine::engine::{Distribution, Streams};
use satline_machine::model::{Plan, Simulation};
use satline_machine::readings::Reading;

const BATCHES: usize = 20;
/// Student's t, 95 %, 19 degrees of freedom.
const T_95: f64 = 2.093;
const WARM_UP_S: f64 = 200.0;
const BATCH_S: f64 = 300.0;

/// Exact mean value analysis of one queueing station with a delay: throughput and mean number at the station.
fn mva(demand_s: f64, delay_s: f64, customers: u32) -> (f64, f64) {
    let (mut throughput, mut present) = (0.0, 0.0);
    for n in 1..=customers {
        let residence = demand_s * (1.0 + present);
        throughput = f64::from(n) / (delay_s + residence);
        present = throughput * residence;
    }
    (throughput, present)
}

/// A reading at the end of the warm-up and of every batch.
fn batches(machine: &Machine, workload: &Workload, users: u32) -> Vec<Reading> {
    let end_s = WARM_UP_S + BATCH_S * BATCHES as f64;
    let plan = Plan {
        sample_every: s(BATCH_S),
        ..Plan::constant(users, at(end_s))
    };
    let mut simulation = Simulation::new(machine, workload, &plan, Streams::new(1, 0)).unwrap();
    let stops = (0..=BATCHES).map(|batch| at(WARM_UP_S + BATCH_S * batch as f64));
    let readings = stops.map(|stop| {
        simulation.run_until(stop, &mut Kept::default());
        simulation.reading().clone()
    });
    let readings = readings.collect();
    simulation.audit().unwrap();
    readings
}

/// Mean of a batch's figure, and half of its 95 % interval.
fn interval(readings: &[Reading], of: impl Fn(&Reading, &Reading) -> f64) -> (f64, f64) {
    let values: Vec<f64> = readings.windows(2).map(|pair| of(&pair[0], &pair[1])).collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, T_95 * (squares / (count - 1.0) / count).sqrt())
}

fn throughput(was: &Reading, is: &Reading) -> f64 {
    (is.system.transactions - was.system.transactions) as f64 / BATCH_S
}

fn busy(was: &Reading, is: &Reading) -> f64 {
    (is.processors[0].problem_ns - was.processors[0].problem_ns) as f64 * 1e-9 / BATCH_S
}

fn in_transaction(was: &Reading, is: &Reading) -> f64 {
    (is.system.in_transaction_ns - was.system.in_transaction_ns) as f64 * 1e-9 / BATCH_S
}

fn agrees(name: &str, (mean, half): (f64, f64), truth: f64, widest: f64) {
    assert!(
        (mean - truth).abs() <= half,
        "{name}: {mean} ± {half}, exactly {truth}"
    );
    assert!(half < widest * truth, "{name}: {mean} ± {half} says little");
}

/// Think 5 s, 0.2 s of CPU, exponential: the repairman. Who goes first does not matter to the numbers, since the time left
/// has the same law for all; so priorities, preemption, quanta and the passage to Q2 must not matter either.
#[test]
fn users_at_one_processor_agree_with_exact_mean_value_analysis() {
    let exponential = |mean_s| Distribution::exponential(mean_s).unwrap();
    let workload = workload(vec![class(exponential(5.0), vec![kind(exponential(0.2))])]);
    for (dispatch, users) in [("priority", 15), ("priority", 35), ("round-robin", 25)] {
        let mut machine = machine();
        machine.policies.dispatch = dispatch.into();
        let readings = batches(&machine, &workload, users);
        let (truth, present) = mva(0.2, 5.0, users);
        let name = |what: &str| format!("{dispatch}, {users} users: {what}");
        agrees(&name("throughput"), interval(&readings, throughput), truth, 0.02);
        agrees(
            &name("problem time"),
            interval(&readings, busy),
            truth * 0.2,
            0.03,
        );
        agrees(
            &name("in transaction"),
            interval(&readings, in_transaction),
            present,
            0.1,
        );
    }
}

/// The same with an I/O every 20 ms of CPU, to so many devices that hardly two I/Os meet at one: a delay of 10 times the
/// time of an I/O, as the devices have it.
#[test]
fn io_without_queues_is_a_delay() {
    let exponential = |mean_s| Distribution::exponential(mean_s).unwrap();
    let mut machine = machine();
    machine.devices.truncate(1);
    machine.devices.extend(units("2305-2", 60, Role::Files, 10));
    let mut work = kind(exponential(0.2));
    work.cpu_between_ios = Some(s(0.02));
    let workload = workload(vec![class(exponential(5.0), vec![work])]);
    let users = 25;
    let readings = batches(&machine, &workload, users);
    let last = readings.last().unwrap();
    let (mut total_ns, mut queue_ns, mut ios) = (0, 0, 0);
    for device in &last.devices {
        queue_ns += device.queue_ns + device.pend_ns;
        total_ns += device.queue_ns + device.pend_ns + device.disconnect_ns + device.connect_ns;
        ios += device.user_ios;
    }
    assert!(queue_ns * 100 < total_ns, "they do meet");
    // A drum turns in 10 ms: half of that and the transfer.
    let io_s = total_ns as f64 * 1e-9 / ios as f64;
    assert!((0.0067..0.0095).contains(&io_s), "{io_s}");
    let (truth, present) = mva(0.2, 5.0 + 10.0 * io_s, users);
    agrees("throughput", interval(&readings, throughput), truth, 0.02);
    let present = present + truth * 10.0 * io_s;
    agrees(
        "in transaction",
        interval(&readings, in_transaction),
        present,
        0.1,
    );
}

/// Two processors with one list: an M/M/2 station, whose throughput follows from its birth and death rates.
#[test]
fn two_processors_agree_with_the_birth_and_death_equations() {
    let exponential = |mean_s| Distribution::exponential(mean_s).unwrap();
    let workload = workload(vec![class(exponential(5.0), vec![kind(exponential(0.4))])]);
    let mut machine = machine();
    machine.processors.count = 2;
    let users = 24_u32;
    // p(n) ∝ Π (users − k)/5 ÷ (min(k + 1, 2)/0.4).
    let mut weights = vec![1.0];
    for n in 1..=users {
        let up = f64::from(users - n + 1) / 5.0;
        let down = f64::from(n.min(2)) / 0.4;
        weights.push(weights[n as usize - 1] * up / down);
    }
    let all: f64 = weights.iter().sum();
    let mean = |of: fn(f64) -> f64| {
        weights
            .iter()
            .enumerate()
            .map(|(n, w)| of(n as f64) * w)
            .sum::<f64>()
            / all
    };
    let readings = batches(&machine, &workload, users);
    agrees(
        "throughput",
        interval(&readings, throughput),
        mean(|n| n.min(2.0)) / 0.4,
        0.02,
    );
    agrees(
        "in transaction",
        interval(&readings, in_transaction),
        mean(|n| n),
        0.1,
    );
}
