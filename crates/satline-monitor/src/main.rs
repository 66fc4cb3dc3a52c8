//! `satline-monitor`: see `--help`.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use satline_monitor::clockwork::SystemClock;
use satline_monitor::explain;
use satline_monitor::monitor::{End, Monitor};
use satline_monitor::options::Options;
use satline_monitor::who;
use satline_program::Error;

fn main() -> ExitCode {
    satline_program::ended(run(Options::parse()), "satline-monitor")
}

fn run(options: Options) -> Result<(), Error> {
    if options.print_users {
        // A reader that has had enough (`head`) is no error.
        let _ = io::stdout().write_all(who::is_a_user(&options)?.as_bytes());
        return Ok(());
    }
    if options.explain_sources {
        let _ = io::stdout().write_all(explain::sources(&options).as_bytes());
        return Ok(());
    }
    let (terminate, interrupt) = (
        flag(signal_hook::consts::SIGTERM)?,
        flag(signal_hook::consts::SIGINT)?,
    );
    if !hangup_is_ignored() {
        register(signal_hook::consts::SIGHUP, &interrupt)?;
    }
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

fn flag(signal: i32) -> Result<Arc<AtomicBool>, Error> {
    let flag = Arc::new(AtomicBool::new(false));
    register(signal, &flag)?;
    Ok(flag)
}

fn register(signal: i32, flag: &Arc<AtomicBool>) -> Result<(), Error> {
    signal_hook::flag::register(signal, flag.clone())
        .map(drop)
        .map_err(|error| Error::input(format!("signal {signal}: {error}"), "report this"))
}

/// Whether it was started by nohup, and is to outlive its terminal.
fn hangup_is_ignored() -> bool {
    // SAFETY: the structure is plain data that the call fills.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGHUP, std::ptr::null(), &mut action);
        action.sa_sigaction == libc::SIG_IGN
    }
}
