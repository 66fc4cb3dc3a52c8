//! Results as text.

use std::io::{self, Write};

use satline_program::harmless;
use serde_json::json;

use super::run::Outcome;
use crate::configuration::explain::left_out;
use crate::summary::{Measures, StepResult};

/// Lines are no longer.
const WIDTH: usize = 80;

/// The columns of the table: head, measure, decimals.
#[rustfmt::skip]
const COLUMNS: &[(&str, &str, usize)] = &[
    ("per s", "throughput_per_s", 2),
    ("response", "response_s", 3),
    ("problem", "problem_fraction", 3),
    ("superv.", "supervisor_fraction", 3),
    ("page w.", "page_wait_fraction", 3),
    ("I/O w.", "io_wait_fraction", 3),
    ("MPL", "mpl", 2),
    ("elig.", "eligible", 2),
    ("reads/s", "page_reads_per_s", 1),
];

/// Prints a text to standard output, which may be closed. Names in it may be anybody's.
pub fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out
        .write_all(harmless(text).as_bytes())
        .and_then(|()| out.flush());
}

/// The whole outcome as one JSON object.
pub fn json(outcome: &Outcome) -> String {
    let mut object = json!({
        "machine": outcome.machine,
        "workload": outcome.workload,
        "seed": outcome.seed,
        "replication": outcome.replication,
        "events": outcome.events,
        "cpu_s": outcome.cpu_s,
        "simulated_s": outcome.simulated_s,
        "unverified": outcome.unverified,
        "steps": outcome.steps,
        "series": outcome.series,
    });
    if !outcome.not_modelled.is_empty() {
        object["not_modelled"] = json!(outcome.not_modelled);
    }
    format!("{object}\n")
}

/// A table for a person: a line for each step.
pub fn table(outcome: &Outcome) -> String {
    let mut text = format!(
        "{} on {}, seed {}, replication {}\n\n",
        outcome.workload, outcome.machine, outcome.seed, outcome.replication
    );
    text.push_str("users");
    COLUMNS
        .iter()
        .for_each(|(head, ..)| text.push_str(&format!(" {head:>7}")));
    text.push('\n');
    outcome.steps.iter().for_each(|step| text.push_str(&line(step)));
    let events = outcome.events;
    text.push_str(&format!(
        "\n{:.0} s simulated, {events} events",
        outcome.simulated_s
    ));
    if let Some(cpu_s) = outcome.cpu_s {
        text.push_str(&format!(", {cpu_s:.1} s of processor time"));
    }
    text.push('\n');
    if !outcome.unverified.is_empty() {
        text.push_str(&format!(
            "{} figures of the machine have no source: see explain\n",
            outcome.unverified.len()
        ));
    }
    if !outcome.not_modelled.is_empty() {
        text.push_str(&wrapped(
            "",
            0,
            &left_out(outcome.processors, &outcome.not_modelled),
        ));
    }
    text
}

fn line(step: &StepResult) -> String {
    let mut line = format!("{:>5}", step.users);
    for (head, name, decimals) in COLUMNS {
        let width = head.len().max(7);
        match value(&step.measures, name) {
            Some(value) => line.push_str(&format!(" {value:>width$.decimals$}")),
            None => line.push_str(&format!(" {:>width$}", "-")),
        }
    }
    line.push('\n');
    line
}

fn value(measures: &Measures, name: &str) -> Option<f64> {
    measures.get(name).copied().flatten()
}

/// A text after a head, broken into lines that are indented.
pub fn wrapped(head: &str, indent: usize, text: &str) -> String {
    let (mut lines, mut line) = (String::new(), head.to_owned());
    let mut words = 0;
    for word in text.split_whitespace() {
        if words > 0 && line.chars().count() + word.chars().count() + 1 > WIDTH {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line = " ".repeat(indent);
            words = 0;
        }
        if words > 0 {
            line.push(' ');
        }
        line.push_str(word);
        words += 1;
    }
    lines.push_str(line.trim_end());
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        let text = wrapped("  name  ", 8, &"word ".repeat(40));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(text.lines().skip(1).all(|line| line.starts_with("        word")));
        assert_eq!(text.split_whitespace().count(), 41);
    }
}
