//! `satline-swapper`: options → run → result. See `--help`.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use satline_program::Error;
use satline_swapper::abilities::Abilities;
use satline_swapper::calls;
use satline_swapper::daemon::Daemon;
use satline_swapper::face::Face;
use satline_swapper::metrics::Metrics;
use satline_swapper::options::{Command, Options, Run};
use satline_swapper::policy::Policy;
use satline_swapper::recorder::Recorder;
use satline_swapper::roots::Roots;

fn main() -> ExitCode {
    satline_program::ended(command(Options::parse().command), "error")
}

fn command(command: Command) -> Result<(), Error> {
    match command {
        Command::Run(options) => run(options),
        Command::Check { policy, meanings } => {
            let policy = Policy::read(&policy)?;
            match meanings {
                true => say(&serde_json::json!({"policy": policy, "meanings": Policy::meanings()})),
                false => say(&policy),
            }
        }
        Command::Abilities { policy } => {
            let abilities = Abilities::look(&Roots::default(), &Policy::read(&policy)?)?;
            say(&abilities.lacking)
        }
        Command::Replay { policy } => satline_swapper::replay::replay(
            &Policy::read(&policy)?,
            io::stdin().lock(),
            &mut io::stdout().lock(),
        ),
    }
}

fn say<T: serde::Serialize>(value: &T) -> Result<(), Error> {
    let text =
        serde_json::to_string(value).map_err(|error| Error::input(error.to_string(), "report this"))?;
    writeln!(io::stdout(), "{text}")
        .map_err(|error| Error::system("standard output", &error, "it must stay open"))
}

fn run(options: Run) -> Result<(), Error> {
    let (terminate, interrupt) = (
        flag(signal_hook::consts::SIGTERM)?,
        flag(signal_hook::consts::SIGINT)?,
    );
    let policy = Policy::read(&options.policy)?;
    let policy_text = std::fs::read_to_string(&options.policy).unwrap_or_default();
    let roots = Roots {
        proc: options.proc,
        sys: options.sys,
    };
    calls::raise_file_limit();
    let abilities = Abilities::look(&roots, &policy)?;
    for lacking in &abilities.lacking {
        let _ = writeln!(
            io::stderr(),
            "lacking: {}: {} (would need: {})",
            lacking.what,
            lacking.instead,
            lacking.would_need
        );
    }
    if policy.safety.lock_memory && calls::lock_own_memory().is_err() {
        let _ = writeln!(
            io::stderr(),
            "lacking: locked memory for the swapper itself (would need: CAP_IPC_LOCK or LimitMEMLOCK)"
        );
    }
    let recorder = match &options.recording {
        Some(directory) => {
            let holds = policy.admission.hold_seconds > 0.0 && !options.dry_run;
            Some(Recorder::open(directory, &policy_text, holds, &abilities)?)
        }
        None => None,
    };
    let mut face = Face::new(
        options.policy.display().to_string(),
        options.dry_run,
        abilities.clone(),
        options.status.clone(),
    );
    face.recorder = recorder;
    if let Some(address) = options.metrics {
        let metrics = Metrics::listen(address).map_err(|error| {
            Error::system(
                format!("--metrics {address}"),
                &error,
                "choose a free port of this host",
            )
        })?;
        face.metrics = Some(metrics);
    }
    let socket = options.status.map(|path| path.with_extension("socket"));
    let mut daemon = Daemon::open(
        roots,
        policy,
        &abilities,
        options.dry_run,
        socket.as_deref(),
        face,
    )?;
    let ended = daemon.run(|| terminate.load(Ordering::Relaxed) || interrupt.load(Ordering::Relaxed));
    if let Some(socket) = socket {
        let _ = std::fs::remove_file(socket);
    }
    ended
}

fn flag(signal: i32) -> Result<Arc<AtomicBool>, Error> {
    let flag = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal, flag.clone())
        .map_err(|error| Error::system(format!("signal {signal}"), &error, "report this"))?;
    Ok(flag)
}
