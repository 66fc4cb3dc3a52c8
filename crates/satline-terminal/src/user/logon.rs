//! From the first prompt to the first command: log-on and set-up.

use crate::common::Common;
use crate::draws::Of;
use crate::line::{Kind, Line};
use crate::reader::{EndedBy, Wait};
use crate::recorder::Outcome;
use crate::workload::{Ending, Subject};

use super::{State, User};

impl User {
    /// A prompt stands: the first one, or the end of a response.
    pub(super) fn answered(&mut self, c: &mut Common, at: i64, ended_by: EndedBy) {
        if self.state == State::Starting {
            let first = if matches!(c.workload.ending, Ending::Marks) {
                Kind::Prepare
            } else {
                Kind::LogOn(0)
            };
            self.through_the_door(c);
            // Connecting was a transaction.
            self.record(c, Outcome::Ok, Some(at));
            return self.set_up(c, first, at);
        }
        if self.is_refused(c) {
            return self.lost(c, Outcome::Refused, "asked for the log-on anew");
        }
        let Some((kind, exit_status)) = self.conclude(c, at, ended_by) else {
            return;
        };
        self.inside = ended_by == EndedBy::Pattern;
        match kind {
            Kind::Connect | Kind::Prepare => self.set_up(c, Kind::LogOn(0), at),
            Kind::LogOn(step) => self.set_up(c, Kind::LogOn(step + 1), at),
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
        let logon = &c.workload.line.logon;
        let kind = match kind {
            Kind::LogOn(step) if step >= logon.len() => Kind::Setup(0),
            kind => kind,
        };
        let subject = Subject {
            user: &self.name,
            number: self.number,
        };
        let text = match kind {
            Kind::LogOn(step) => return self.answer_log_on(c, step, at),
            Kind::Prepare => crate::environment::PREPARE.to_owned(),
            Kind::Setup(line) if line < c.workload.setup.len() => {
                let mut filling = self.streams.input.of(Of::Setup(line));
                c.workload.setup[line].fill(subject, &mut filling)
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
        let end = c.workload.line.line_end;
        self.begin(c, Line::new(kind, text, end, 0.0, at, wait));
    }

    /// Answers a prompt of the log-on.
    fn answer_log_on(&mut self, c: &mut Common, step: usize, at: i64) {
        let steps = &c.workload.line.logon;
        let subject = Subject {
            user: &self.name,
            number: self.number,
        };
        let text = steps[step]
            .send
            .as_ref()
            .map(|send| send.fill(subject, &mut self.streams.input.of(Of::LogOn(step))));
        let mut endings = vec![steps.get(step + 1).map_or(&c.workload.ending, |next| &next.wait)];
        if step > 0 {
            // The first prompt again: the log-on is refused.
            endings.push(&steps[0].wait);
        }
        let wait = Wait {
            // A password is not echoed.
            typed: Some(text.clone().unwrap_or_default().into_bytes()),
            ..Wait::for_prompt(&endings)
        };
        let end = c.workload.line.line_end;
        let line = match (text, &c.passwords) {
            (Some(text), _) => Line::new(Kind::LogOn(step), text, end, 0.0, at, wait),
            (None, passwords) => {
                if let Some(session) = &mut self.session {
                    session.confided = true;
                }
                let password = passwords.as_ref().map_or("", |known| known.of(self.number));
                Line::new(Kind::LogOn(step), password.to_owned(), end, 0.0, at, wait).secret()
            }
        };
        self.begin(c, line);
    }

    /// After an answer of the log-on its first prompt stands again, and not the one that should.
    fn is_refused(&self, c: &Common) -> bool {
        let (Some(line), Some(session)) = (&self.line, &self.session) else {
            return false;
        };
        let Kind::LogOn(step @ 1..) = line.kind else {
            return false;
        };
        let steps = &c.workload.line.logon;
        let stands =
            |ending: &Ending| matches!(ending, Ending::Pattern(regex) if session.reader.ends_in(regex));
        let next = steps.get(step + 1).map_or(&c.workload.ending, |next| &next.wait);
        stands(&steps[0].wait) && !stands(next)
    }
}
