//! Open arrivals: commands that begin when they are due.

use std::io::{self, Write};

use satline_program::clock::monotonic_ns;

use crate::common::What;
use crate::open::{Arrival, Open};

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
        let arrival = Arrival::new(intended_ns);
        if let Some(user) = self.idle_user() {
            return self.users[user].start(&mut self.c, intended_ns, Some(arrival));
        }
        if self.c.open.as_mut().is_some_and(|open| open.wait(arrival)) {
            let what = "no session is free: arrivals wait; more sessions (--steps) would keep them in time";
            self.c.event("pool-dry", Some(users as f64), what);
        }
    }

    /// The session that has been idle longest, which is so no more.
    fn idle_user(&mut self) -> Option<usize> {
        let open = self.c.open.as_mut()?;
        while let Some((user, generation)) = open.idle.pop_front() {
            if self.users[user].is_idle(generation) {
                return Some(user);
            }
        }
        None
    }

    /// Arrivals came back from a session that did not send them: others that are idle take them.
    pub(super) fn take_over(&mut self) {
        let waits = |open: &Open| !open.waiting.is_empty();
        while !self.c.closing && self.c.open.as_ref().is_some_and(waits) {
            let Some(user) = self.idle_user() else { return };
            self.users[user].next(&mut self.c, monotonic_ns());
        }
    }

    /// Arrivals that were not sent are told, not forgotten: when no session takes any more, or gives one back.
    pub(super) fn end_arrivals(&mut self) {
        let Some(open) = &mut self.c.open else { return };
        let counts = open.end();
        if counts.never_started > 0 {
            let what = "arrivals had not started at the end";
            self.c
                .event("never-started", Some(counts.never_started as f64), what);
        }
        if counts.waited > 0 || counts.never_started > 0 {
            // Standard error may be closed.
            let _ = writeln!(
                io::stderr(),
                "satline-terminal: of {} arrivals {} found no free session; {} had not started at the end",
                counts.due,
                counts.waited,
                counts.never_started
            );
        }
    }
}
