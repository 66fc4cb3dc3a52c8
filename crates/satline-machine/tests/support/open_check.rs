//! The open check of the 3380 ([T87], spec page 7): stated rates, and the response times that go with them.
//!
//! The spec states rates and responses, not where the pages lie. What is assumed here follows its page 8 and adds
//! nothing fitted: the paging area is the whole volume; demand paging takes pages in from anywhere and allocates by
//! zig-zag, and half of the pages that leave storage were changed; block paging allocates by the moving cursor, and half
//! of the area is taken. Nothing is known of the two halves: they are the middle of what can be. [`others`] shows what
//! these assumptions do to the response.

use satline_machine::devices::DeviceModel;
use satline_machine::engine::Streams;

use super::paging_load::{Load, Outcome, Placement, outcome};

/// Allowed deviation from the published response.
pub const TOLERANCE: f64 = 0.15;

pub struct Case {
    pub name: &'static str,
    pub load: Load,
    /// The response time of [T87], ms.
    pub published_ms: f64,
}

fn demand(name: &'static str, placement: Placement, area: f64) -> Case {
    Case {
        name,
        load: Load {
            actuators: 4,
            pages_per_sio: 1,
            sios_per_s: 15.0,
            placement,
            area,
        },
        published_ms: 29.0,
    }
}

fn block(name: &'static str, placement: Placement, area: f64) -> Case {
    Case {
        name,
        load: Load {
            actuators: 2,
            pages_per_sio: 10,
            sios_per_s: 10.0,
            placement,
            area,
        },
        published_ms: 48.0,
    }
}

use Placement::{CursorAndRandom, MovingCursor, Random, ZigZag};

/// The check.
pub fn checked() -> [Case; 2] {
    [
        demand("demand, zig-zag, half changed", ZigZag { changed: 0.5 }, 1.0),
        block(
            "block, moving cursor, half taken",
            MovingCursor { taken: 0.5 },
            1.0,
        ),
    ]
}

/// What other assumptions would give.
#[rustfmt::skip]
pub fn others() -> Vec<Case> {
    vec![
        demand("demand, zig-zag, all changed", ZigZag { changed: 1.0 }, 1.0),
        demand("demand, all at random (none changed)", Random, 1.0),
        demand("demand, half changed, half the volume", ZigZag { changed: 0.5 }, 0.5),
        demand("demand, all at random, half the volume", Random, 0.5),
        block("block, moving cursor, 1/10 taken", MovingCursor { taken: 0.1 }, 1.0),
        block("block, moving cursor, 9/10 taken", MovingCursor { taken: 0.9 }, 1.0),
        block("block, half taken, half the volume", MovingCursor { taken: 0.5 }, 0.5),
        block("block, half taken, a tenth of it", MovingCursor { taken: 0.5 }, 0.1),
        block("block, in at random, out at the cursor", CursorAndRandom, 1.0),
        block("block, all at random", Random, 1.0),
    ]
}

/// Independent runs of a case.
pub fn replications(case: &Case, model: &DeviceModel, count: u64, seconds: f64) -> Vec<Outcome> {
    (0..count)
        .map(|replication| outcome(case.load, model, Streams::new(1, replication), seconds))
        .collect()
}

/// The mean response, ms, and half of its interval for a quantile of Student's t.
pub fn response_ms(runs: &[Outcome], t: f64) -> (f64, f64) {
    let count = runs.len() as f64;
    let mean = runs.iter().map(|run| run.response_ms).sum::<f64>() / count;
    let squares: f64 = runs.iter().map(|run| (run.response_ms - mean).powi(2)).sum();
    (mean, t * (squares / (count - 1.0) / count).sqrt())
}
