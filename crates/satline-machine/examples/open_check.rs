//! The open check of the 3380, for benches/machine/run.py: one JSON line per case, and what other assumptions give.

#[path = "../tests/support/mod.rs"]
mod support;

use support::open_check::{TOLERANCE, checked, others, replications, response_ms};
use support::paging_load::{Outcome, device};

/// Many and short, since a run keeps the angles at which its actuators happen to turn.
const REPLICATIONS: u64 = 40;
const SECONDS: f64 = 1000.0;
/// Student's t, 95 %, 39 degrees of freedom.
const T_95: f64 = 2.023;

fn main() {
    let model = device("3380");
    let cases = checked().into_iter().map(|case| (true, case));
    for (counts, case) in cases.chain(others().into_iter().map(|case| (false, case))) {
        let runs = replications(&case, &model, REPLICATIONS, SECONDS);
        let (response, half) = response_ms(&runs, T_95);
        let mean = |of: fn(&Outcome) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
        let line = serde_json::json!({
            "case": case.name,
            "in_check": counts,
            "published_ms": case.published_ms,
            "tolerance": TOLERANCE,
            "response_ms": response,
            "interval_95_ms": [response - half, response + half],
            "queue_ms": mean(|run| run.queue_ms),
            "pend_ms": mean(|run| run.pend_ms),
            "disconnect_ms": mean(|run| run.disconnect_ms),
            "connect_ms": mean(|run| run.connect_ms),
            "rps_misses_per_sio": mean(|run| run.misses),
            "sios_per_s": mean(|run| run.sios_per_s),
            "path_busy": mean(|run| run.path_busy),
            "unverified": model.figures().unverified(),
        });
        println!("{line}");
    }
}
