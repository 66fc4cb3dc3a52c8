//! `satline-traces`: options → references → misses. See `--help`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use satline_traces::options::Options;
use satline_traces::program::command;

fn main() -> ExitCode {
    satline_program::ended(command(&Options::parse()), "error")
}
