//! `satline-thermometer`: a synthetic probe whose elapsed time is the service that users get [Bard].

mod compute;
mod file;
mod order;
mod parameters;
mod probe;
mod storage;
mod terminal;

use clap::Parser;
use parameters::{Parameters, Preset};
use satline_program::{Error, Result};
use std::path::PathBuf;
use std::process::ExitCode;

/// One routine with parameters; a preset sets them, a flag overrides the preset.
///
/// Prints one line of JSON: the thermometer's name, elapsed and processor time in microseconds, the parameters.
/// Preparation (making the file, starting the process that answers) is not timed.
#[derive(Debug, Parser)]
#[command(name = "satline-thermometer", version)]
struct Options {
    /// Which thermometer; without one, only what the flags say is done
    preset: Option<Preset>,
    /// Processor time to use, seconds
    #[arg(long, value_name = "S")]
    cpu_seconds: Option<f64>,
    /// Reads of a temporary file that miss the page cache
    #[arg(long, value_name = "N")]
    file_ios: Option<u64>,
    /// Bytes of each read [default: 4096]
    #[arg(long, value_name = "B")]
    io_bytes: Option<u64>,
    /// Lines sent over a pseudo-terminal and answered
    #[arg(long, value_name = "N")]
    terminal_interactions: Option<u64>,
    /// Pages of main storage touched twice in random order
    #[arg(long, value_name = "N")]
    pages: Option<u64>,
    /// Where the temporary file is made; it should be on the device of interest
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    directory: PathBuf,
    /// Name to print instead of the preset's
    #[arg(long)]
    name: Option<String>,
}

impl Options {
    fn parameters(&self) -> Parameters {
        let preset = self.preset.map_or(Parameters::NOTHING, Preset::parameters);
        Parameters {
            cpu_seconds: self.cpu_seconds.unwrap_or(preset.cpu_seconds),
            file_ios: self.file_ios.unwrap_or(preset.file_ios),
            io_bytes: self.io_bytes.unwrap_or(preset.io_bytes),
            terminal_interactions: self.terminal_interactions.unwrap_or(preset.terminal_interactions),
            pages: self.pages.unwrap_or(preset.pages),
        }
    }

    fn name(&self) -> &str {
        self.name
            .as_deref()
            .unwrap_or(self.preset.map_or("custom", Preset::name))
    }
}

/// The orders are the same in every run, so that readings are comparable.
const SEED: u64 = 1979;

fn run(options: &Options) -> Result<String> {
    let parameters = options.parameters();
    parameters.check(storage::storage_pages())?;
    if options.name().is_empty() {
        return Err(Error::input(
            "--name is empty",
            "give a name, or leave --name out",
        ));
    }
    let reading = probe::run(options.name(), &parameters, &options.directory, SEED)?;
    Ok(serde_json::to_string(&reading).expect("text and numbers are always JSON"))
}

fn main() -> ExitCode {
    let options = Options::try_parse().unwrap_or_else(|error| {
        let code = error.exit_code();
        // Nothing can be said where even standard error is closed.
        let _ = error.print();
        if code != 0 {
            eprintln!("hint: `satline-thermometer --help` lists the presets and flags");
        }
        std::process::exit(code)
    });
    let told = run(&options).map(|line| println!("{line}"));
    satline_program::ended(told, "satline-thermometer")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_override_the_preset() {
        let options = Options::parse_from([
            "satline-thermometer",
            "mixed",
            "--pages",
            "7",
            "--io-bytes=512",
            "--name=n",
        ]);
        let expected = Parameters {
            pages: 7,
            io_bytes: 512,
            ..Preset::Mixed.parameters()
        };
        assert_eq!(options.parameters(), expected);
        assert_eq!(options.name(), "n");
    }

    #[test]
    fn without_a_preset_only_the_flags_count() {
        let options = Options::parse_from(["satline-thermometer", "--cpu-seconds", "0.5"]);
        assert_eq!(
            options.parameters(),
            Parameters {
                cpu_seconds: 0.5,
                ..Parameters::NOTHING
            }
        );
        assert_eq!(options.name(), "custom");
    }
}
