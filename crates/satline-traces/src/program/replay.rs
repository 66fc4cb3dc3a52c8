//! `replay`: policies at sizes on one trace.

use std::sync::Mutex;
use std::thread::available_parallelism;

use satline_program::{Error, Result};

use super::progress::Progress;
use super::{output, sizes, source};
use crate::distances::lru_misses;
use crate::options::Replay;
use crate::policies::{Entry, POLICIES, find};
use crate::replay::replay_all;

/// Replays, and says what was missed.
///
/// # Errors
/// Wrong options, or a trace that cannot be read.
pub fn replay(options: &Replay) -> Result<String> {
    let policies = chosen(options.policies.as_deref())?;
    // Before a long trace is read.
    sizes::parse(&options.sizes, u32::MAX / 8)?;
    let begun = source::open(&options.source)?;
    let mut progress = Progress::new(options.source.progress);
    let (trace, about) = begun.into_storage(options.source.first, &mut progress)?;
    if trace.references.is_empty() {
        return Err(Error::input(
            format!("{}: no whole block of references", about.trace),
            "it was cut at its beginning; make it again",
        ));
    }
    let sizes = sizes::parse(&options.sizes, trace.pages)?;
    let workers = options
        .workers
        .unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    let progress = Mutex::new(progress);
    let told = |part: f64| {
        if let Ok(mut progress) = progress.lock() {
            progress.tell("replaying", part, Some(1.0));
        }
    };
    let begin = std::time::Instant::now();
    let outcomes = replay_all(&trace, &policies, &sizes, options.seed, workers, &told);
    let elapsed_s = begin.elapsed().as_secs_f64();
    let curve = options.curve.then(|| lru_misses(&trace));
    let shown = output::Replayed {
        about: &about,
        trace: &trace,
        policies: &policies,
        sizes: &sizes,
        outcomes: &outcomes,
        curve: curve.as_deref(),
        elapsed_s,
        seed: options.seed,
    };
    Ok(output::replayed(options.source.json, &shown))
}

fn chosen(names: Option<&str>) -> Result<Vec<&'static Entry>> {
    let Some(names) = names else {
        return Ok(POLICIES.iter().collect());
    };
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    let found = names.map(find).collect::<Result<Vec<_>>>()?;
    if found.is_empty() {
        return Err(Error::input(
            "--policies names none",
            "leave it out for all of them",
        ));
    }
    Ok(found)
}
