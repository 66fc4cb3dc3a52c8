//! Results as text and as JSON.

use std::fmt::Write;
use std::path::Path;

use satline_program::harmless;
use serde_json::{Value, json};

use super::source::About;
use crate::policies::Entry;
use crate::replay::Outcome;
use crate::trace::Trace;

/// All that a replay shows.
pub struct Replayed<'a> {
    pub about: &'a About,
    pub trace: &'a Trace,
    pub policies: &'a [&'a Entry],
    pub sizes: &'a [u32],
    pub outcomes: &'a [Vec<Outcome>],
    pub curve: Option<&'a [u64]>,
    pub elapsed_s: f64,
    pub seed: u64,
}

/// Names and what they are.
pub fn listing(as_json: bool, all: impl Iterator<Item = (&'static str, String)>) -> String {
    if as_json {
        let list: Vec<Value> = all
            .map(|(name, about)| json!({"name": name, "about": about}))
            .collect();
        return format!("{}\n", Value::Array(list));
    }
    all.fold(String::new(), |text, (name, about)| {
        format!("{text}{name:<13} {about}\n")
    })
}

pub fn imported(as_json: bool, about: &About, path: &Path, bytes: u64) -> String {
    if as_json {
        let mut shown = json!(about);
        shown["output"] = json!(path.display().to_string());
        shown["bytes"] = json!(bytes);
        return format!("{shown}\n");
    }
    let mut text = format!(
        "{}: {} references, {bytes} bytes\n",
        harmless(&path.display().to_string()),
        about.references
    );
    tail(&mut text, about);
    text
}

pub fn replayed(as_json: bool, shown: &Replayed) -> String {
    if as_json {
        format!("{}\n", to_json(shown))
    } else {
        to_text(shown)
    }
}

fn to_json(shown: &Replayed) -> Value {
    let references = shown.trace.references.len() as u64;
    let policies: Vec<Value> = shown
        .policies
        .iter()
        .zip(shown.outcomes)
        .map(|(entry, outcomes)| {
            let misses: Vec<u64> = outcomes.iter().map(|outcome| outcome.misses).collect();
            let ratios: Vec<f64> = misses.iter().map(|&n| n as f64 / references as f64).collect();
            json!({"name": entry.name, "misses": misses, "miss_ratio": ratios, "bounded": entry.bounded})
        })
        .collect();
    json!({
        "source": shown.about,
        "references": references,
        "pages": shown.trace.pages,
        "sizes": shown.sizes,
        "seed": shown.seed,
        "policies": policies,
        "lru_curve": shown.curve,
        "elapsed_s": shown.elapsed_s,
        "references_per_s": (references as f64) * (shown.sizes.len() * shown.policies.len()) as f64 / shown.elapsed_s,
    })
}

fn to_text(shown: &Replayed) -> String {
    let references = shown.trace.references.len();
    let mut text = format!(
        "{}: {references} references to {} pages\n",
        harmless(&shown.about.trace),
        shown.trace.pages
    );
    tail(&mut text, shown.about);
    let _ = write!(text, "{:<12}", "misses");
    shown
        .sizes
        .iter()
        .for_each(|size| _ = write!(text, " {size:>10}"));
    for (entry, outcomes) in shown.policies.iter().zip(shown.outcomes) {
        let _ = write!(text, "\n{:<12}", entry.name);
        outcomes
            .iter()
            .for_each(|outcome| _ = write!(text, " {:>10}", outcome.misses));
    }
    text.push('\n');
    text
}

fn tail(text: &mut String, about: &About) {
    if let Some(tail) = &about.tail {
        let _ = writeln!(text, "not read: {} bytes at the end ({})", tail.bytes, tail.what);
    }
}
