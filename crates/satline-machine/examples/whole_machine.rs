//! How fast a whole machine runs: `whole_machine [SECONDS [MACHINE WORKLOAD [USERS [KEY=VALUE…]]]]`, one JSON line.
//!
//! Without files it is the shipped 3081D with its 310 users. Rates are per second of this program's processor time.

use std::path::{Path, PathBuf};
use std::time::Instant;

use satline_machine::configuration::{Population, read};
use satline_machine::engine::{Span, Streams, Time};
use satline_machine::model::{Plan, Simulation};
use satline_program::Error;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let shipped = |path: &str| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let file = |place: usize, path: &str| arguments.get(place).map_or_else(|| shipped(path), PathBuf::from);
    let seconds: Option<f64> = arguments.first().map_or(Some(600.0), |text| text.parse().ok());
    let users: Option<u32> = arguments.get(3).and_then(|text| text.parse().ok());
    let Some(seconds) = seconds else {
        eprintln!("usage: whole_machine [SECONDS [MACHINE WORKLOAD [USERS [KEY=VALUE…]]]]");
        std::process::exit(2);
    };
    let (machine, workload) = (
        file(1, "machines/3081D.toml"),
        file(2, "workloads/simulated/tso310.toml"),
    );
    let sets: Vec<(String, String)> = arguments
        .iter()
        .skip(4)
        .filter_map(|set| set.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    if let Err(error) = measure(seconds, (&machine, &workload), users, &sets) {
        eprintln!("error: {error}\nhint: {}", error.hint);
        std::process::exit(2);
    }
}

fn measure(
    seconds: f64,
    (machine, workload): (&Path, &Path),
    users: Option<u32>,
    sets: &[(String, String)],
) -> Result<(), Error> {
    let (machine, workload) = read::read_files(machine, workload, sets)?;
    let (machine, workload) = (machine.machine, workload.workload);
    let users = users.unwrap_or(match workload.population {
        Population::Constant(users) => users,
        Population::Varying(ref sessions) => sessions.iter().map(|session| session.users).max().unwrap_or(1),
    });
    let end = Time::START + Span::from_seconds(seconds);
    let plan = Plan::constant(users, end);
    let mut simulation = Simulation::new(&machine, &workload, &plan, Streams::new(1, 0))?;
    let before = processor_s();
    simulation.run_until(end, &mut ());
    let taken_s = processor_s() - before;
    if let Err(failures) = simulation.audit() {
        panic!("{failures:#?}");
    }
    let reading = simulation.reading();
    let system = &reading.system;
    let part = |of: fn(&satline_machine::readings::ProcessorReading) -> u64| {
        let all: u64 = reading.processors.iter().map(of).sum();
        all as f64 * 1e-9 / seconds / reading.processors.len() as f64
    };
    let rate = |count: u64| count as f64 / seconds;
    let line = serde_json::json!({
        "machine": machine.name,
        "workload": workload.name,
        "users": users,
        "simulated_s": seconds,
        "processor_s": taken_s,
        "events": system.events,
        "events_per_processor_s": system.events as f64 / taken_s,
        "times_real_time": seconds / taken_s,
        "problem": part(|processor| processor.problem_ns),
        "supervisor": part(|processor| processor.supervisor_ns),
        "spin": part(|processor| processor.spin_ns),
        "page_wait": part(|processor| processor.page_wait_ns),
        "io_wait": part(|processor| processor.io_wait_ns),
        "idle": part(|processor| processor.idle_ns),
        "transactions_per_s": rate(system.transactions),
        "q1_drops_per_s": rate(system.q1_drops),
        "q2_drops_per_s": rate(system.q2_drops),
        "page_reads_per_s": rate(system.page_reads),
        "page_writes_per_s": rate(system.page_writes),
        "steals_per_s": rate(system.steals),
        "user_ios_per_s": rate(system.user_ios),
        "dispatches_per_s": rate(system.dispatches),
        "q1": system.q1_ns as f64 * 1e-9 / seconds,
        "q2": system.q2_ns as f64 * 1e-9 / seconds,
        "candidates": (system.q1_candidates_ns + system.q2_candidates_ns) as f64 * 1e-9 / seconds,
    });
    println!("{line:#}");
    Ok(())
}

/// Processor time of this thread where the system tells it, else time on the clock, s.
fn processor_s() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    ns.map_or_else(
        || START.get_or_init(Instant::now).elapsed().as_secs_f64(),
        |ns| ns * 1e-9,
    )
}
