//! `satline-traces`: options → references → misses. See `--help`.

#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use satline_traces::error::harmless;
use satline_traces::options::Options;
use satline_traces::program::command;

fn main() -> ExitCode {
    match command(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The text may quote files. Standard error may be closed.
            let (what, hint) = (harmless(&error.message), harmless(&error.hint));
            let _ = writeln!(io::stderr(), "error: {what}\nhint: {hint}");
            ExitCode::from(error.exit_code)
        }
    }
}
