//! The command line of `satline-machine`.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};
use toml::value::{Datetime, Offset};

use crate::engine::Span;

/// Simulate a virtual-memory multi-user system and measure it.
#[derive(Debug, Clone, Parser)]
#[command(name = "satline-machine", version, after_long_help = EXAMPLES)]
pub struct Options {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Run a workload on a machine, and print what it did
    Run(RunOptions),
    /// Run a workload on a machine, and print what is where as it goes: JSON lines for a viewer
    Watch(WatchOptions),
    /// Print a machine: every figure with unit and source, its policies, what is unverified
    Explain {
        /// Machine file
        machine: PathBuf,
        /// Workload file
        workload: Option<PathBuf>,
        /// As of run
        #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
        set: Vec<(String, String)>,
    },
    /// Read a machine and a workload, and say what is wrong
    Check {
        /// Machine file
        machine: PathBuf,
        /// Workload file
        workload: PathBuf,
        /// As of run
        #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
        set: Vec<(String, String)>,
    },
    /// List the policies that a machine file can name
    Policies,
}

/// What is run: a machine, a workload, and the users' coming and going.
#[derive(Debug, Clone, Args)]
pub struct LoadOptions {
    /// Machine file
    pub machine: PathBuf,

    /// Workload file
    pub workload: PathBuf,

    /// Numbers of users: one step for each, in this order [default: the workload's]
    #[arg(long, value_name = "N[,N…]", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(..=100_000))]
    pub users: Vec<u32>,

    /// Length of a step, s
    #[arg(long, value_name = "S", default_value = "600", value_parser = length)]
    pub step_seconds: Span,

    /// Let the workload's own population come and go; the warm-up is left out once
    #[arg(long, conflicts_with = "users")]
    pub schedule: bool,

    /// Length of a run with --schedule, s [default: to the workload's last session, and as long as the one before it]
    #[arg(long, value_name = "S", value_parser = length, requires = "schedule")]
    pub seconds: Option<Span>,

    /// Seed of all random streams
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: u64,

    /// Change a figure: a dotted path in the machine file or, after `workload.`, in the workload file [repeatable]
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
}

#[derive(Debug, Clone, Args)]
pub struct RunOptions {
    #[command(flatten)]
    pub load: LoadOptions,

    /// What is left out at the begin of every step, s
    #[arg(long, value_name = "S", default_value = "120", value_parser = length_or_zero)]
    pub warmup_seconds: Span,

    /// Number of the replication: other random numbers of the same seed
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub replication: u64,

    /// Time between samples, s
    #[arg(long, value_name = "S", default_value = "10", value_parser = length)]
    pub sample_seconds: Span,

    /// Record the run into this directory, usually NAME.satline
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,

    /// Record every transaction and every change of a user's state
    #[arg(long, value_name = "yes|no", default_value = "yes", action = ArgAction::Set, value_parser = yes_or_no)]
    pub transactions_out: bool,

    /// Real time of the recording's begin: 1975-01-06T00:00:00Z is Monday
    #[arg(long, value_name = "TIME", default_value = "1975-01-06T00:00:00Z", value_parser = start)]
    pub start: i64,

    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,

    /// Say on standard error how far it is, as JSON lines
    #[arg(long)]
    pub progress: bool,
}

#[derive(Debug, Clone, Args)]
pub struct WatchOptions {
    #[command(flatten)]
    pub load: LoadOptions,

    /// Simulated time between lines, s
    #[arg(long, value_name = "S", default_value = "1", value_parser = length)]
    pub interval: Span,

    /// Go on only when told, by lines on standard input: `go SECONDS`, `users N`, `quit`
    #[arg(long, conflicts_with = "interval")]
    pub commands: bool,

    /// Users that a command can ask for beyond the largest step
    #[arg(long, value_name = "N", default_value = "0", requires = "commands", value_parser = clap::value_parser!(u32).range(..=100_000))]
    pub room: u32,
}

const EXAMPLES: &str = "\
Examples:
  satline-machine run machines/3081D.toml workloads/simulated/tso310.toml --users 125,250,310
  satline-machine run MACHINE WORKLOAD --users 10,20,30 --record lab.satline --set storage.pageable_frames=200
  satline-machine watch MACHINE WORKLOAD --users 4,30 --interval 0.5
  satline-machine explain machines/155-II-1mb.toml

The same files, options and version give the same numbers on every computer.
SIGINT and SIGTERM end a recording validly. Exit codes: 0 ran to its end, 1 the recording could not go on or an audit
failed, 2 wrong input, 130 SIGINT, 143 SIGTERM.";

/// The longest run: a hundred years.
const MOST_SECONDS: f64 = 3.2e9;

fn length_or_zero(text: &str) -> Result<Span, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=MOST_SECONDS).contains(&seconds) => Ok(Span::from_seconds(seconds)),
        _ => Err(format!(
            "{text:?} is no number of seconds from 0 to {MOST_SECONDS:e}"
        )),
    }
}

pub(crate) fn length(text: &str) -> Result<Span, String> {
    match length_or_zero(text)? {
        span if span < Span::from_ns(1000) => {
            Err(format!("{text:?} s is too short: give at least a microsecond"))
        }
        span => Ok(span),
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err(format!(
            "{text:?} is no KEY=VALUE, such as storage.pageable_frames=200"
        )),
    }
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(format!("{text:?} is neither yes nor no")),
    }
}

/// A UTC time as ns since 1970.
fn start(text: &str) -> Result<i64, String> {
    let wrong = || format!("{text:?} is no UTC time such as 1975-01-06T00:00:00Z");
    let parsed: Datetime = text.parse().map_err(|_| wrong())?;
    let (Some(date), Some(time), Some(Offset::Z)) = (parsed.date, parsed.time, parsed.offset) else {
        return Err(wrong());
    };
    // The inverse of the civil date of a day: a year that begins in March puts the leap day last.
    let (month, day) = (i64::from(date.month), i64::from(date.day));
    let year = i64::from(date.year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days =
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    let second_of_day =
        i64::from(time.hour) * 3600 + i64::from(time.minute) * 60 + i64::from(time.second.unwrap_or(0));
    let seconds = days * 86_400 + second_of_day;
    // Room for a hundred years after it.
    match (1900..=2150).contains(&date.year) {
        true => Ok(seconds * 1_000_000_000 + i64::from(time.nanosecond.unwrap_or(0))),
        false => Err(format!("{text:?} is not between the years 1900 and 2150")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use satline_recording::utc_datetime;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn a_start_is_read_as_it_is_written() {
        for text in [
            "1970-01-01T00:00:00Z",
            "1975-01-06T00:00:00Z",
            "1999-12-31T23:59:59Z",
            "2000-02-29T12:00:00Z",
            "2100-03-01T00:00:00Z",
            "1901-03-01T00:00:00Z",
        ] {
            assert_eq!(utc_datetime(start(text).unwrap()).to_string(), text);
        }
        assert_eq!(
            start("1975-01-06T00:00:00Z").unwrap() / 86_400_000_000_000 % 7,
            4,
            "Monday"
        );
        for wrong in [
            "",
            "yesterday",
            "1975-01-06",
            "1975-01-06T00:00:00+01:00",
            "0001-01-01T00:00:00Z",
        ] {
            assert!(start(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn wrong_input_is_refused() {
        let parse =
            |args: &[&str]| Options::try_parse_from([&["satline-machine", "run", "m", "w"], args].concat());
        assert!(parse(&["--users", "1,2,3", "--set", "a.b=c=d"]).is_ok());
        for wrong in [
            &["--users", "1,x"][..],
            &["--users", "1", "--schedule"],
            &["--seconds", "60"],
            &["--step-seconds", "0"],
            &["--step-seconds", "nan"],
            &["--sample-seconds", "1e300"],
            &["--warmup-seconds", "-1"],
            &["--seed", "18446744073709551615"],
            &["--set", "storage"],
            &["--transactions-out", "maybe"],
        ] {
            assert_eq!(parse(wrong).unwrap_err().exit_code(), 2, "{wrong:?}");
        }
    }
}
