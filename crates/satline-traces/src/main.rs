//! `satline-traces`: options → references → misses. See `--help`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use satline_traces::options::Options;
use satline_traces::program::command;

fn main() -> ExitCode {
    match command(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error.tell("error");
            ExitCode::from(error.exit_code())
        }
    }
}
