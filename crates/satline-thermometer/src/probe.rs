//! The one routine that all thermometers are [Bard]: prepare, start the clocks, work, stop the clocks.

use crate::compute;
use crate::file::Reads;
use crate::parameters::Parameters;
use crate::storage::WorkingSet;
use crate::terminal::Responder;
use std::path::Path;

use satline_program::{Result, clock};

/// What a probe measured, as it is printed: one line of JSON.
#[derive(Debug, serde::Serialize)]
pub struct Reading {
    pub thermometer: String,
    /// Elapsed time of the work, preparation excepted.
    pub elapsed_us: i64,
    /// Processor time of the work, that of the process answering on the terminal included.
    pub cpu_us: i64,
    pub parameters: String,
}

/// Runs the routine once in `directory`; `seed` fixes the orders.
///
/// The second touch of the pages comes last, so that the other work lies between the two.
pub fn run(name: &str, parameters: &Parameters, directory: &Path, seed: u64) -> Result<Reading> {
    // The terminal first: its child must not inherit the pages or the file.
    let mut responder = (parameters.terminal_interactions > 0)
        .then(Responder::start)
        .transpose()?;
    let mut reads = (parameters.file_ios > 0)
        .then(|| {
            Reads::prepare(
                directory,
                parameters.file_ios as usize,
                parameters.io_bytes as usize,
                seed,
            )
        })
        .transpose()?;
    let mut working_set = (parameters.pages > 0)
        .then(|| WorkingSet::new(parameters.pages as usize, seed))
        .transpose()?;

    let cpu_ns = |responder: &Option<Responder>| {
        clock::own_cpu_ns() + responder.as_ref().and_then(Responder::cpu_ns).unwrap_or(0)
    };
    let start = clock::monotonic_ns();
    let cpu_before = cpu_ns(&responder);
    if let Some(set) = &mut working_set {
        set.touch(0);
    }
    if let Some(responder) = &mut responder {
        for number in 0..parameters.terminal_interactions {
            responder.interact(number)?;
        }
    }
    if let Some(reads) = &mut reads {
        reads.run()?;
    }
    compute::burn(parameters.cpu_seconds, clock::own_cpu_ns, compute::mix);
    if let Some(set) = &mut working_set {
        set.touch(1);
    }
    let cpu = (cpu_ns(&responder) - cpu_before).max(0);
    let elapsed = clock::monotonic_ns() - start;

    let mut described = parameters.to_string();
    if let Some(reads) = &reads {
        described.push_str(&format!(" file_cache={}", reads.cache.name()));
    }
    Ok(Reading {
        thermometer: name.to_owned(),
        elapsed_us: elapsed / 1000,
        cpu_us: cpu / 1000,
        parameters: described,
    })
}
