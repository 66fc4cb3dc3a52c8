//! `satline-terminal`: options → run → recording.

use std::process::ExitCode;

use clap::Parser;
use satline_terminal::cli::{Cli, CliCommand};
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
    match result {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(error) => {
            error.tell("error");
            ExitCode::from(error.exit_code())
        }
    }
}
