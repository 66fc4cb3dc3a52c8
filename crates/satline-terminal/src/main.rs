//! `satline-terminal`: options → run → recording.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use satline_recording::harmless;
use satline_terminal::cli::{Cli, CliCommand};
use satline_terminal::error::TerminalError;
use satline_terminal::workload;

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        CliCommand::Run(options) => satline_terminal::run(&options),
        CliCommand::Allow(options) => satline_terminal::allow::serve(&options).map(|()| 0),
        CliCommand::Check { file, line } => workload::load(&file, line.as_ref()).map(|workload| {
            let commands: usize = workload.scripts.iter().map(|script| script.commands.len()).sum();
            println!(
                "{}: {} scripts, {commands} commands",
                workload.name,
                workload.scripts.len()
            );
            0
        }),
    };
    let code = result.unwrap_or_else(|error| report(&error));
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

fn report(error: &TerminalError) -> i32 {
    // The text may quote file contents and what a shell printed. Standard error may be closed.
    let _ = writeln!(io::stderr(), "error: {}", harmless(&error.message));
    if !error.hint.is_empty() {
        let _ = writeln!(io::stderr(), "hint: {}", harmless(&error.hint));
    }
    error.exit_code
}
