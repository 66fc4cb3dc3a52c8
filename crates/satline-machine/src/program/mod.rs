//! What the program `satline-machine` does, one function for each command.

mod ending;
mod output;
mod progress;
mod run;
mod watch;

use std::path::Path;

use satline_program::{Error, harmless};

pub use self::ending::Ending;
use self::output::print;
pub use self::run::{Outcome, run};
use crate::configuration::{explain, read};
use crate::engine::{Span, Streams, Time};
use crate::model::{Plan, Simulation};
use crate::options::{Command, Options};
use crate::policies::listings;

type Sets = [(String, String)];

/// Does what the options ask; `stop` tells when a signal asks for the end.
///
/// # Errors
/// Wrong input, a failed audit, or a recording that cannot be written.
pub fn command(options: &Options, stop: &dyn Fn() -> Option<Ending>) -> Result<Ending, Error> {
    match &options.command {
        Command::Run(options) => {
            let outcome = run(options, stop)?;
            tell_what_is_left_out(&outcome);
            if outcome.ending == Ending::Complete {
                match options.json {
                    true => print(&output::json(&outcome)),
                    false => print(&output::table(&outcome)),
                }
            }
            return Ok(outcome.ending);
        }
        Command::Watch(options) => return watch::watch(options, stop),
        Command::Explain {
            machine,
            workload,
            set,
        } => print(&explained(machine, workload.as_deref(), set)?),
        Command::Check {
            machine,
            workload,
            set,
        } => print(&checked(machine, workload, set)?),
        Command::Policies => print(&policies()),
    }
    Ok(Ending::Complete)
}

/// On standard error, where it is seen beside a result that goes into a file.
fn tell_what_is_left_out(outcome: &Outcome) {
    if !outcome.not_modelled.is_empty() {
        let text = explain::left_out(outcome.processors, &outcome.not_modelled);
        eprintln!("note: {}: {text}", harmless(&outcome.machine));
    }
}

/// The machine, and the workload on it, for a person.
fn explained(machine: &Path, workload: Option<&Path>, sets: &Sets) -> Result<String, Error> {
    let file = read::machine_file(machine, sets)?;
    let mut text = explain::machine(&file, &what);
    if let Some(workload) = workload {
        let of = read::workload_file(workload, sets)?;
        text.push('\n');
        text.push_str(&explain::workload(&of, Some(&file.machine)));
    }
    Ok(text)
}

/// What a policy does, from its file.
fn what(table: &str, name: &str) -> Option<String> {
    let listing = listings().into_iter().find(|listing| listing.key == table)?;
    listing
        .policies
        .into_iter()
        .find(|policy| policy.0 == name)
        .map(|policy| policy.1)
}

/// Reads both and makes them ready to run.
fn checked(machine: &Path, workload: &Path, sets: &Sets) -> Result<String, Error> {
    let (machine, workload) = read::read_files(machine, workload, sets)?;
    let (machine, workload) = (machine.machine, workload.workload);
    let plan = Plan {
        sample_every: Span::from_seconds(1.0),
        audit: false,
        ..Plan::constant(1, Time::START + Span::from_seconds(1.0))
    };
    Simulation::new(&machine, &workload, &plan, Streams::new(1, 0))?;
    let unverified = match machine.unverified.len() {
        0 => String::from("every figure has a source"),
        n => format!("{n} figures without a source: {}", machine.unverified.join(", ")),
    };
    let mut text = format!("{} and {} are right; {unverified}\n", machine.name, workload.name);
    let missing = machine.not_modelled();
    if !missing.is_empty() {
        text.push_str(&explain::left_out(machine.processors.count, &missing));
        text.push('\n');
    }
    Ok(text)
}

/// Every table of policies.
fn policies() -> String {
    let mut text = String::new();
    for listing in listings() {
        text.push_str(&format!("{}.{}\n", listing.table, listing.key));
        for (name, what) in &listing.policies {
            text.push_str(&output::wrapped(&format!("  {name:<20} "), 23, what));
        }
    }
    text
}
