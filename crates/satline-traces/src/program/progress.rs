//! Lines of progress on standard error.

use std::io::{self, Write};
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(200);

/// Tells now and then.
pub struct Progress {
    wanted: bool,
    last: Instant,
}

impl Progress {
    pub fn new(wanted: bool) -> Self {
        Self {
            wanted,
            last: Instant::now(),
        }
    }

    /// `done` of `all`, in the part of the work that `doing` names; `all` may not be known.
    pub fn tell(&mut self, doing: &str, done: f64, all: Option<f64>) {
        if !self.wanted || self.last.elapsed() < INTERVAL {
            return;
        }
        self.last = Instant::now();
        let part = all.map(|all| (done / all.max(1.0)).min(1.0));
        let line = serde_json::json!({"doing": doing, "done": part, "count": done});
        // Standard error may be closed.
        let _ = writeln!(io::stderr(), "{line}");
    }
}
