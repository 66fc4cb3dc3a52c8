//! `satline-machine`: options → run → result. See `--help`.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use satline_machine::options::Options;
use satline_machine::program::{Ending, command};

fn main() -> ExitCode {
    let options = Options::parse();
    let (interrupt, terminate) = (
        flag(signal_hook::consts::SIGINT),
        flag(signal_hook::consts::SIGTERM),
    );
    let stop = || match (
        interrupt.load(Ordering::Relaxed),
        terminate.load(Ordering::Relaxed),
    ) {
        (true, _) => Some(Ending::Interrupted),
        (_, true) => Some(Ending::Terminated),
        _ => None,
    };
    match command(&options, &stop) {
        Ok(ending) => ExitCode::from(ending.exit_code()),
        Err(error) => {
            error.tell("error");
            ExitCode::from(error.exit_code())
        }
    }
}

/// Set when the signal comes. Where it cannot be caught it ends the program, and the recording is as after a kill.
fn flag(signal: i32) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(signal, flag.clone());
    flag
}
