//! `satline-terminal`: options → run → recording.

use std::process::ExitCode;

use clap::Parser;
use satline_terminal::cli::{Cli, CliCommand};
use satline_terminal::error::TerminalError;
use satline_terminal::workload;

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        CliCommand::Run(options) => satline_terminal::run(&options),
        CliCommand::Check { file } => workload::load(&file).map(|workload| {
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
    // The text may quote file contents and what a shell printed: nothing of it may act on the terminal.
    let safe = |text: &str| -> String {
        let harmless = |c: char| {
            if c.is_control() && c != '\n' {
                '\u{fffd}'
            } else {
                c
            }
        };
        text.chars().map(harmless).collect()
    };
    eprintln!("error: {}", safe(&error.message));
    if !error.hint.is_empty() {
        eprintln!("hint: {}", safe(&error.hint));
    }
    error.exit_code
}
