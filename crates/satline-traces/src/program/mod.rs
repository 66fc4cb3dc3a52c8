//! What the program `satline-traces` does, one function for each command.

mod import;
mod output;
mod progress;
mod replay;
mod sizes;
mod source;

use std::io::{self, Write};

use satline_program::Result;

use crate::options::{Command, Listing, Options};
use crate::{formats, policies};

/// Does what the options ask.
///
/// # Errors
/// Wrong input, or a file that cannot be read or written.
pub fn command(options: &Options) -> Result<()> {
    let text = match &options.command {
        Command::Import(options) => import::import(options)?,
        Command::Replay(options) => replay::replay(options)?,
        Command::Policies(Listing { json }) => {
            let all = policies::POLICIES.iter().map(|entry| (entry.name, entry.what()));
            output::listing(*json, all)
        }
        Command::Formats(Listing { json }) => {
            let all = formats::FORMATS
                .iter()
                .map(|format| (format.name, format.about.to_owned()));
            output::listing(*json, all)
        }
    };
    // Who reads may have had enough.
    let _ = io::stdout().write_all(text.as_bytes());
    Ok(())
}
