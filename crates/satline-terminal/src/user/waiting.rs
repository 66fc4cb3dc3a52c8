//! Waiting for an answer: how long, and when what looks like its end is believed.

use satline_program::clock::monotonic_ns;

use crate::common::{Common, Due, What};
use crate::reader::{EndedBy, Status};
use crate::recorder::Outcome;

use super::{State, User};

/// When an answer is given up. There is one timer for all of a user's answers, most of which come in time.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Deadline {
    /// Of the answer that was awaited in this generation.
    at_ns: i64,
    generation: u64,
    /// The timer that is set.
    armed_ns: Option<i64>,
}

impl User {
    /// Gives up what the current state waits for at this time, or a little later.
    pub(super) fn set_deadline(&mut self, c: &mut Common, at_ns: i64) {
        (self.deadline.at_ns, self.deadline.generation) = (at_ns, self.generation);
        if self.deadline.armed_ns.is_none_or(|armed| armed > at_ns) {
            self.deadline.armed_ns = Some(at_ns);
            c.timers.set_patient(at_ns, What::Deadline(self.index()));
        }
    }

    /// The timer of the deadline is due, which may be that of an earlier answer.
    pub fn look_at_deadline(&mut self, c: &mut Common, due_ns: i64) {
        if self.deadline.armed_ns != Some(due_ns) {
            return; // an earlier one was set since
        }
        self.deadline.armed_ns = None;
        if self.deadline.generation != self.generation {
            return;
        }
        if self.deadline.at_ns > due_ns {
            return self.set_deadline(c, self.deadline.at_ns);
        }
        self.timeout(c);
    }

    fn timeout(&mut self, c: &mut Common) {
        match self.state {
            State::Starting => {
                let seconds = c.logon_timeout_ns as f64 / 1e9;
                if c.workload.line.target.is_remote() {
                    return self.lost(c, Outcome::Timeout, &format!("gave no prompt within {seconds} s"));
                }
                self.fail(c, &format!("the shell gave no prompt within {seconds} s"));
            }
            State::Waiting | State::Interrupting(_) => self.timed_out(c),
            _ => {}
        }
    }

    /// The prompt seems to stand since now, and is believed after the quiet time. Nobody need wake up for that if the user thinks
    /// longer anyway.
    pub(super) fn settle_later(&mut self, c: &mut Common, now: i64) {
        let at = now + c.workload.settle_ns;
        let timer = What::User(self.index(), self.generation, Due::Settle);
        if self.thinks_beyond(c, now, at + c.timers.slack_ns()) {
            c.timers.set_patient(at, timer);
        } else {
            c.timers.set(at, timer);
        }
    }

    pub(super) fn settled(&mut self, c: &mut Common) {
        let Some(session) = &mut self.session else { return };
        if let Status::Candidate(at) = session.reader.status() {
            if monotonic_ns() < at + c.workload.settle_ns {
                return; // of an earlier candidate, disproved since
            }
        }
        session.reader.settle();
        if let Status::Complete(at, ended_by) = session.reader.status() {
            match self.state {
                State::Interrupting(_) => {
                    self.inside = ended_by == EndedBy::Pattern;
                    self.next(c, monotonic_ns());
                }
                State::Starting | State::Waiting => self.answered(c, at, ended_by),
                _ => {}
            }
        }
    }
}
