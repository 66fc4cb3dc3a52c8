//! How far a run is, for a program that waits for it.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::engine::Time;
use crate::summary::seconds;

/// No line follows another sooner.
const INTERVAL: Duration = Duration::from_millis(200);

/// JSON lines on standard error.
pub struct Progress {
    last: Option<Instant>,
}

impl Progress {
    /// `None`: nothing is to be said.
    pub fn new(wanted: bool) -> Option<Self> {
        wanted.then_some(Self { last: None })
    }

    /// Says it if it is time; the end is always said.
    pub fn at(&mut self, now: Time, end: Time, events: u64) {
        let due = self.last.is_none_or(|last| last.elapsed() >= INTERVAL);
        if due || now >= end {
            self.last = Some(Instant::now());
            let done = now.ns() as f64 / end.ns().max(1) as f64;
            let line = serde_json::json!({"done": done.min(1.0), "time_s": seconds(now), "events": events});
            // Standard error may be closed.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}
