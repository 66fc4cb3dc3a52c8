//! Thinking, typing, and what follows when the answer is there.

use std::os::fd::AsRawFd;

use crate::clock::{monotonic_ns, seconds_to_ns};
use crate::common::{Common, Due};
use crate::line::{Kind, Line};
use crate::random::{Purpose, stream, unit};
use crate::reader::{EndedBy, Wait};
use crate::recorder::Outcome;
use crate::workload::{Ending, Subject};

use super::{State, User};

/// Pause before a write is tried again when the terminal's input queue is full.
const RETRY_NS: i64 = 5_000_000;

impl User {
    /// A prompt stands: the first one, or the end of a response.
    pub(super) fn answered(&mut self, c: &mut Common, at: i64, ended_by: EndedBy) {
        if self.state == State::Starting {
            let first = if matches!(c.workload.ending, Ending::Marks) {
                Kind::Prepare
            } else {
                Kind::Setup(0)
            };
            return self.set_up(c, first, at);
        }
        let Some((kind, exit_status)) = self.conclude(c, at, ended_by) else {
            return;
        };
        self.inside = ended_by == EndedBy::Pattern;
        match kind {
            Kind::Prepare => self.set_up(c, Kind::Setup(0), at),
            Kind::Setup(line) => match exit_status {
                Some(status) if status != 0 => {
                    self.fail(c, &format!("setup line {} ended with status {status}", line + 1));
                }
                _ => self.set_up(c, Kind::Setup(line + 1), at),
            },
            Kind::Command(_) => self.next(c, at),
        }
    }

    /// Types the next line of the set-up, or is logged on.
    pub(super) fn set_up(&mut self, c: &mut Common, kind: Kind, at: i64) {
        let text = match kind {
            Kind::Prepare => crate::environment::PREPARE.to_owned(),
            Kind::Setup(line) if line < c.workload.setup.len() => {
                let subject = Subject {
                    user: &self.name,
                    number: self.number,
                };
                c.workload.setup[line].fill(subject, &mut self.streams.input)
            }
            _ => {
                (self.logged_on, self.was_logged_on, self.fresh) = (true, true, true);
                c.logged_on += 1;
                let now_on = c.logged_on as f64;
                c.event("logged-on", Some(now_on), &self.name);
                return self.next(c, at);
            }
        };
        let wait = Wait {
            typed: Some(text.clone().into_bytes()),
            ..Wait::for_prompt(&[&c.workload.ending])
        };
        self.begin(c, Line::new(kind, text, 0.0, at, wait));
    }

    /// Thinks and then types the next command, or logs off.
    pub(super) fn next(&mut self, c: &mut Common, from_ns: i64) {
        if self.leaving || c.closing {
            return self.log_off(c);
        }
        let script = &c.workload.scripts[self.script];
        let chosen = if script.sequence {
            let at = self.position % script.commands.len();
            self.position = at + 1;
            at
        } else {
            let total: f64 = script.commands.iter().map(|command| command.weight).sum();
            let mut left = unit(&mut self.streams.command) * total;
            let passed = script.commands.iter().position(|command| {
                left -= command.weight;
                left < 0.0
            });
            passed.unwrap_or_else(|| {
                script
                    .commands
                    .iter()
                    .rposition(|command| command.weight > 0.0)
                    .unwrap_or(0)
            })
        };
        let command = &script.commands[chosen];
        let mut think = command.think.draw(&mut self.streams.think);
        if std::mem::take(&mut self.fresh) {
            // The first of a log-on: anywhere within a think time, so that users are not in phase.
            think *= unit(&mut stream(c.seed, self.number as u64, Purpose::Start));
        }
        let subject = Subject {
            user: &self.name,
            number: self.number,
        };
        let text = command.input.fill(subject, &mut self.streams.input);
        let wait = Wait {
            typed: Some(text.clone().into_bytes()),
            inside: self.inside,
            keep_output: command.expect.is_some(),
            ..Wait::for_prompt(&[&command.ending])
        };
        let mut due = from_ns + seconds_to_ns(think);
        if self.inside {
            // The prompt was believed only after a quiet time, which is not lateness.
            due = due.max(monotonic_ns());
        }
        self.begin(c, Line::new(Kind::Command(chosen), text, think, due, wait));
    }

    pub(super) fn begin(&mut self, c: &mut Common, line: Line) {
        let due = line.due_ns;
        self.line = Some(line);
        self.enter(State::Typing);
        self.set_timer(c, due, Due::Key);
    }

    /// Types the next key, or the whole line where lines are pasted.
    pub(super) fn key(&mut self, c: &mut Common, due_ns: i64) {
        let (Some(line), Some(session)) = (&mut self.line, &mut self.session) else {
            return;
        };
        if c.closing {
            return;
        }
        let gap = c
            .workload
            .key_gap
            .filter(|_| matches!(line.kind, Kind::Command(_)));
        if let Some(wait) = line.wait.take() {
            session.reader.begin(wait);
        }
        let last = line.ends_with_next(gap.is_some());
        if last {
            session.reader.sent();
        }
        match line.write_next(session.master.as_raw_fd(), gap.is_some()) {
            Ok(true) if last => {
                self.line_sent(c, due_ns);
            }
            Ok(true) => {
                let gap = gap.map_or(0.0, |gap| gap.draw(&mut self.streams.typing));
                let next = due_ns + seconds_to_ns(gap);
                self.set_timer(c, next, Due::Key);
            }
            Ok(false) if line.waited_ns() > c.workload.timeout_ns => self.timed_out(c),
            Ok(false) => {
                let next = monotonic_ns() + RETRY_NS;
                self.set_timer(c, next, Due::Key);
            }
            // The terminal is gone: the shell's end is told by SIGCHLD.
            Err(_) => {}
        }
    }

    pub(super) fn line_sent(&mut self, c: &mut Common, due_ns: i64) {
        let Some(line) = &mut self.line else { return };
        let at = line.stamp(c, due_ns, self.logged_on);
        self.enter(State::Waiting);
        self.set_timer(c, at + c.workload.timeout_ns, Due::Timeout);
    }

    /// Records how the line ended and counts it; gives what it was and its exit status.
    pub(super) fn conclude(
        &mut self,
        c: &mut Common,
        at: i64,
        ended_by: EndedBy,
    ) -> Option<(Kind, Option<i64>)> {
        let (line, session) = (self.line.as_ref()?, self.session.as_ref()?);
        let outcome = line.outcome(&c.workload.scripts[self.script], &session.reader, ended_by);
        let result = (line.kind, session.reader.exit_status());
        self.record(c, outcome, Some(at));
        Some(result)
    }

    /// Records the line if it was sent and not yet recorded.
    pub(super) fn record(&mut self, c: &mut Common, outcome: Outcome, at: Option<i64>) {
        if let (Some(line), Some(session)) = (&mut self.line, &self.session) {
            line.record(c, &self.name, self.script, &session.reader, outcome, at);
        }
    }
}
