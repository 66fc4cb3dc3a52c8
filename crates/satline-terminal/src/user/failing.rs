//! Log-ons that fail, answers that do not come, shells that die.

use satline_program::clock::{SECOND_NS, monotonic_ns, seconds_to_ns};

use crate::common::{Common, What};
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
        let why = format!("{why}{}", self.said(c));
        if let Some(session) = self.session.take() {
            c.hang_up(session.link);
        }
        self.gone(c);
        self.enter(State::Failed);
        c.log_on_failed(self.number, &self.name, &why);
    }

    /// What the other side printed before the password was sent, without any password.
    fn said(&self, c: &Common) -> String {
        let banner = self.session.as_ref().map_or(&[][..], |session| &session.banner);
        let text = crate::line::plain(banner);
        let text = c
            .passwords
            .as_ref()
            .map_or(text.clone(), |known| known.redact(&text));
        let text: String = text.chars().take(200).collect();
        if text.is_empty() {
            text
        } else {
            format!("; it printed {text:?}")
        }
    }

    /// A line over which this host has no hold did not come to be, or is lost. The user logs on again: after a think
    /// time if it was logged on, else after a pause that doubles each time; so often in a row as the workload says.
    pub(super) fn lost(&mut self, c: &mut Common, outcome: Outcome, why: &str) {
        self.record(c, outcome, None);
        let why = format!("{} {why}{}", c.workload.line.target, self.said(c));
        c.line_lost(&self.name, &why);
        if let Some(session) = self.session.take() {
            c.hang_up(session.link);
        }
        let (leaving, was_on) = (self.leaving, self.logged_on);
        c.statistics.failures += u64::from(!was_on);
        self.gone(c);
        if leaving || c.closing {
            return;
        }
        if self.restarts >= c.workload.line.retries {
            return self.fail(c, &format!("{why}, {} times in a row", self.restarts + 1));
        }
        let pause = if was_on {
            let command = &c.workload.scripts[self.script].commands[0];
            seconds_to_ns(command.think.draw(&mut self.streams.think))
        } else {
            let doubled = c
                .workload
                .line
                .retry_ns
                .saturating_mul(1 << self.restarts.min(20));
            doubled.min(c.workload.line.retry_ns.max(60 * SECOND_NS))
        };
        self.restarts += 1;
        c.timers.set(monotonic_ns() + pause, What::LogOn(self.index()));
    }

    /// The response took too long: interrupts it, again and again, and in the end kills the session.
    pub(super) fn timed_out(&mut self, c: &mut Common) {
        self.record(c, Outcome::Timeout, None);
        self.give_back(c);
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
            if c.workload.line.target.is_remote() {
                return self.lost(c, Outcome::Timeout, "gave no prompt in time");
            }
            return self.fail(c, "a set-up line gave no prompt in time");
        }
        let Some(session) = &mut self.session else { return };
        if tries >= INTERRUPTS || !session.link.takes_interrupts() {
            match session.link.pid() {
                Some(pid) => processes::send(pid, libc::SIGKILL),
                None => self.lost(c, Outcome::Died, "gave no answer in time"),
            }
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
        // If it cannot be sent the next try follows.
        let _ = session.link.send(&[key]);
        self.enter(State::Interrupting(tries + 1));
        let next = monotonic_ns() + (c.workload.timeout_ns / i64::from(INTERRUPTS)).max(1_000_000_000);
        self.set_deadline(c, next);
    }

    /// The shell has ended; how, in words.
    pub fn died(&mut self, c: &mut Common, how: &str) {
        while self.session.is_some() && self.read(c) > 0 {}
        if self.session.is_none() {
            return;
        }
        self.record(c, Outcome::Died, None);
        if !self.was_logged_on {
            return self.fail(c, &format!("the shell {how} before it was logged on"));
        }
        c.event("user-died", None, &format!("{}: the shell {how}", self.name));
        if let Some(session) = self.session.take() {
            c.hang_up(session.link);
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
