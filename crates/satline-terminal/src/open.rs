//! Open arrivals: commands that begin when they are due, whoever is free.

use std::collections::VecDeque;

use rand_pcg::Pcg64;
use satline_program::clock::seconds_to_ns;
use serde::Serialize;

use crate::random::{Purpose, stream};
use crate::workload::Arrivals;

/// A command that is to start. It is where it can be counted until it is a row: it waits, or a line holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Its intended start, monotonic ns.
    pub intended_ns: i64,
    /// It has had to wait for a session.
    waited: bool,
}

impl Arrival {
    pub fn new(intended_ns: i64) -> Self {
        Self {
            intended_ns,
            waited: false,
        }
    }
}

/// Arrivals on their way to a free session.
#[derive(Debug)]
pub struct Open {
    arrivals: Arrivals,
    random: Pcg64,
    /// Sessions without work, the longest idle first: user (from 0) and its generation then.
    pub idle: VecDeque<(usize, u64)>,
    /// Those that found no free session, the oldest first.
    pub waiting: VecDeque<Arrival>,
    /// Counts the steps' series of arrivals, so that those of an earlier one are known.
    pub series: u64,
    /// The pool has run dry in this series.
    pub dry: bool,
    pub counts: Counts,
}

/// `[arrivals]` of `sources/terminal.toml`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Intended starts so far.
    pub due: u64,
    /// Those that found no free session, or whose session was gone before it sent them.
    pub waited: u64,
    /// Those that the end of the run found not sent: still waiting, or just taken by a session.
    pub never_started: u64,
    /// Most that waited at one time.
    pub longest_queue: u64,
}

impl Open {
    pub fn new(arrivals: Arrivals, seed: u64) -> Self {
        Self {
            arrivals,
            random: stream(seed, 0, Purpose::Arrival),
            idle: VecDeque::new(),
            waiting: VecDeque::new(),
            series: 0,
            dry: false,
            counts: Counts::default(),
        }
    }

    /// The next intended start after this one in a step of so many sessions, monotonic ns.
    pub fn next_ns(&mut self, from_ns: i64, users: usize) -> i64 {
        from_ns + seconds_to_ns(self.arrivals.gap(users).draw(&mut self.random))
    }

    /// No session is free; true if that is so for the first time in this series.
    pub fn wait(&mut self, arrival: Arrival) -> bool {
        self.queue(arrival);
        !std::mem::replace(&mut self.dry, true)
    }

    /// The session that had taken it did not send it.
    pub fn take_back(&mut self, arrival: Arrival, closing: bool) {
        if closing {
            self.counts.never_started += 1;
        } else {
            self.queue(arrival);
        }
    }

    fn queue(&mut self, arrival: Arrival) {
        self.counts.waited += u64::from(!arrival.waited);
        let before = |other: &Arrival| other.intended_ns <= arrival.intended_ns;
        let place = self.waiting.partition_point(before);
        let waited = true;
        self.waiting.insert(place, Arrival { waited, ..arrival });
        self.counts.longest_queue = self.counts.longest_queue.max(self.waiting.len() as u64);
    }

    /// The run ends: what still waits is not to start any more.
    pub fn end(&mut self) -> Counts {
        self.counts.never_started += self.waiting.len() as u64;
        self.waiting.clear();
        self.counts
    }
}
