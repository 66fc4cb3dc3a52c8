//! Open arrivals: commands that begin when they are due.

use std::io::{self, Write};

use crate::common::What;

use super::Emulator;

impl Emulator {
    /// Commands arrive at this step's rate from now on.
    pub(super) fn begin_arrivals(&mut self, at: i64) {
        let users = self.c.plan.steps[self.c.step - 1].users;
        let Some(open) = &mut self.c.open else { return };
        open.series += 1;
        open.dry = false;
        let (next, series) = (open.next_ns(at, users), open.series);
        self.c.timers.set(next, What::Arrival(series));
    }

    /// A command is to start now: in the session that has been idle longest, else as soon as one is free.
    pub(super) fn arrive(&mut self, series: u64, intended_ns: i64) {
        let users = self.c.plan.steps[self.c.step - 1].users;
        let closing = self.c.closing;
        let Some(open) = self
            .c
            .open
            .as_mut()
            .filter(|open| open.series == series && !closing)
        else {
            return;
        };
        open.counts.due += 1;
        let next = open.next_ns(intended_ns, users);
        self.c.timers.set(next, What::Arrival(series));
        while let Some((user, generation)) = open.idle.pop_front() {
            if self.users[user].is_idle(generation) {
                return self.users[user].start(&mut self.c, intended_ns, Some(intended_ns));
            }
        }
        if open.wait(intended_ns) {
            let what = "no session is free: arrivals wait; more sessions (--steps) would keep them in time";
            self.c.event("pool-dry", Some(users as f64), what);
        }
    }

    /// Arrivals that found no session are told, not forgotten.
    pub(super) fn end_arrivals(&mut self) {
        let Some(open) = &mut self.c.open else { return };
        open.counts.never_started += open.waiting.len() as u64;
        open.waiting.clear();
        let counts = open.counts;
        if counts.never_started > 0 {
            let what = "arrivals found no free session before the end";
            self.c
                .event("never-started", Some(counts.never_started as f64), what);
        }
        if counts.waited > 0 {
            // Standard error may be closed.
            let _ = writeln!(
                io::stderr(),
                "satline-terminal: of {} arrivals {} found no free session, {} of them until the end",
                counts.due,
                counts.waited,
                counts.never_started
            );
        }
    }
}
