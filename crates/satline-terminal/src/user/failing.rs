//! Log-ons that fail, answers that do not come, shells that die.

use std::os::fd::AsRawFd;

use crate::clock::{monotonic_ns, seconds_to_ns};
use crate::common::{Common, Due, What};
use crate::line::Kind;
use crate::processes;
use crate::reader::Wait;
use crate::recorder::Outcome;

use super::{State, User};

/// Interrupts before a session that does not answer is killed.
const INTERRUPTS: u32 = 4;
/// Log-ons after a death.
const RESTARTS: u32 = 3;

impl User {
    /// The log-on has failed for good.
    pub(super) fn fail(&mut self, c: &mut Common, why: &str) {
        let banner = self
            .session
            .as_ref()
            .map(|session| crate::line::plain(&session.banner));
        let said = banner
            .filter(|text| !text.is_empty())
            .map(|text| format!("; it printed {text:?}"));
        let why = format!("{why}{}", said.unwrap_or_default());
        if let Some(session) = self.session.take() {
            c.hang_up(session.pid, session.master);
        }
        self.gone(c);
        self.enter(State::Failed);
        c.log_on_failed(self.number, &self.name, &why);
    }

    /// The response took too long: interrupts it, again and again, and in the end kills the session.
    pub(super) fn timed_out(&mut self, c: &mut Common) {
        self.record(c, Outcome::Timeout, None);
        let tries = if let State::Interrupting(tries) = self.state {
            tries
        } else {
            0
        };
        if self
            .line
            .as_ref()
            .is_some_and(|line| !matches!(line.kind, Kind::Command(_)))
        {
            return self.fail(c, "a set-up line gave no prompt in time");
        }
        let Some(session) = &mut self.session else { return };
        if tries >= INTERRUPTS {
            processes::send(session.pid, libc::SIGKILL);
            return;
        }
        let ending = match self.line.as_ref().map(|line| line.kind) {
            Some(Kind::Command(command)) => c.workload.scripts[self.script].commands[command].ending.clone(),
            _ => c.workload.ending.clone(),
        };
        session
            .reader
            .begin(Wait::for_prompt(&[&ending, &c.workload.ending]));
        // The last try is the quit key.
        let key: u8 = if tries + 1 == INTERRUPTS { 0x1c } else { 0x03 };
        // SAFETY: one byte; if it cannot be written the next try follows.
        unsafe { libc::write(session.master.as_raw_fd(), (&raw const key).cast(), 1) };
        self.enter(State::Interrupting(tries + 1));
        let next = monotonic_ns() + (c.workload.timeout_ns / i64::from(INTERRUPTS)).max(1_000_000_000);
        self.set_timer(c, next, Due::Timeout);
    }

    /// The shell has ended; how, in words.
    pub fn died(&mut self, c: &mut Common, how: &str) {
        while self.session.is_some() && self.read(c) {}
        if self.session.is_none() {
            return;
        }
        self.record(c, Outcome::Died, None);
        if !self.was_logged_on {
            return self.fail(c, &format!("the shell {how} before it was logged on"));
        }
        c.event("user-died", None, &format!("{}: the shell {how}", self.name));
        if let Some(session) = self.session.take() {
            c.hang_up(session.pid, session.master);
        }
        let leaving = self.leaving;
        self.gone(c);
        if leaving || c.closing {
            return;
        }
        if self.restarts == RESTARTS {
            return self.fail(c, &format!("the shell {how}, after {RESTARTS} further log-ons"));
        }
        self.restarts += 1;
        let think = c.workload.scripts[self.script].commands[0]
            .think
            .draw(&mut self.streams.think);
        let due = monotonic_ns() + seconds_to_ns(think);
        c.timers.set(due, What::LogOn(self.index()));
    }
}
