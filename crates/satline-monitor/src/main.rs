//! `satline-monitor`: see `--help`.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use satline_monitor::clockwork::SystemClock;
use satline_monitor::error::MonitorError;
use satline_monitor::monitor::{End, Monitor};
use satline_monitor::options::Options;

fn main() -> ExitCode {
    match run(Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("satline-monitor: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(options: Options) -> Result<(), MonitorError> {
    let (terminate, interrupt) = (
        flag(signal_hook::consts::SIGTERM)?,
        flag(signal_hook::consts::SIGINT)?,
    );
    let stop = || {
        if interrupt.load(Ordering::Relaxed) {
            Some(End::Interrupted)
        } else {
            terminate.load(Ordering::Relaxed).then_some(End::Complete)
        }
    };
    Monitor::open(options, SystemClock)?.run(stop)?;
    Ok(())
}

fn flag(signal: i32) -> Result<Arc<AtomicBool>, MonitorError> {
    let flag = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal, flag.clone())
        .map_err(|error| MonitorError::input(format!("signal {signal}: {error}"), "report this"))?;
    Ok(flag)
}
