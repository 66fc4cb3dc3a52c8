//! The closed central-server model, for benches/machine/run.py: `central_server SECONDS`.

#[path = "../tests/support/mod.rs"]
mod support;

use satline_machine::engine::{Span, Streams, Time, run};
use support::central_server::CentralServer;

fn main() {
    let Some(seconds) = std::env::args().nth(1).and_then(|text| text.parse().ok()) else {
        eprintln!("usage: central_server SECONDS");
        std::process::exit(2);
    };
    let (mut model, mut calendar) = CentralServer::start(Streams::new(1, 0));
    let events = run(
        &mut model,
        &mut calendar,
        Time::START + Span::from_seconds(seconds),
    );
    let throughput = model.done as f64 / seconds;
    println!("{{\"events\": {events}, \"throughput_per_s\": {throughput}}}");
}
