//! Thinking and typing.

use satline_program::clock::{monotonic_ns, seconds_to_ns};

use crate::common::{Common, Due, What};
use crate::draws::Of;
use crate::line::{Kind, Line};
use crate::lines::Answer;
use crate::open::Arrival;
use crate::poll::Watch;
use crate::random::{Purpose, stream, unit};
use crate::reader::{EndedBy, Wait};
use crate::recorder::Outcome;
use crate::workload::{Request, Subject};

use super::{State, User};

/// Pause before a write is tried again when the terminal's input queue is full.
const RETRY_NS: i64 = 5_000_000;

impl User {
    /// Thinks and then types the next command, or logs off.
    pub fn next(&mut self, c: &mut Common, from_ns: i64) {
        if self.leaving || c.closing {
            return self.log_off(c);
        }
        if let Some(open) = &mut c.open {
            self.line = None;
            match open.waiting.pop_front() {
                // The prompt may have been believed only after a quiet time, which is not lateness.
                Some(arrival) => self.start(c, monotonic_ns(), Some(arrival)),
                None => {
                    self.enter(State::Idle);
                    open.idle.push_back((self.index(), self.generation));
                }
            }
            return;
        }
        self.start(c, from_ns, None);
    }

    /// The next command.
    fn choose(&mut self, c: &Common) -> usize {
        let script = &c.workload.scripts[self.script];
        if script.sequence {
            let at = self.position % script.commands.len();
            self.position = at + 1;
            return at;
        }
        let total: f64 = script.commands.iter().map(|command| command.weight).sum();
        let mut left = self.streams.command.unit() * total;
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
    }

    /// The next command and the time to think before it, s.
    fn draw(&mut self, c: &Common) -> (usize, f64) {
        let chosen = self.choose(c);
        let think = &c.workload.scripts[self.script].commands[chosen].think;
        (chosen, think.draw(&mut self.streams.think))
    }

    /// True if the user, who has just been answered it seems, thinks until after this time.
    pub(super) fn thinks_beyond(&mut self, c: &Common, from_ns: i64, until_ns: i64) -> bool {
        let commands = self
            .line
            .as_ref()
            .is_some_and(|line| matches!(line.kind, Kind::Command(_)));
        if !commands || self.state != State::Waiting || self.leaving || c.closing || c.open.is_some() {
            return false;
        }
        let (chosen, think) = self.ahead.take().unwrap_or_else(|| self.draw(c));
        self.ahead = Some((chosen, think));
        from_ns + seconds_to_ns(think) > until_ns
    }

    /// Chooses a command and types it: after thinking, or, if it arrived, as soon as it can be since it was intended.
    pub fn start(&mut self, c: &mut Common, from_ns: i64, arrival: Option<Arrival>) {
        let (chosen, mut think) = match arrival {
            Some(_) => (self.choose(c), 0.0),
            None => self.ahead.take().unwrap_or_else(|| self.draw(c)),
        };
        let command = &c.workload.scripts[self.script].commands[chosen];
        if std::mem::take(&mut self.fresh) {
            // The first of a log-on: anywhere within a think time, so that users are not in phase.
            think *= unit(&mut stream(c.seed, self.number as u64, Purpose::Start));
        }
        let subject = Subject {
            user: &self.name,
            number: self.number,
        };
        let mut filling = self.streams.input.of(Of::Command(chosen));
        let text = match &command.request {
            None => command.input.fill(subject, &mut filling),
            Some(request) => {
                let cookie = self
                    .session
                    .as_ref()
                    .and_then(|session| session.reader.answer())
                    .and_then(Answer::cookie);
                let host = c.workload.line.target.place();
                request.fill(&host, cookie.as_deref(), subject, &mut filling)
            }
        };
        let wait = Wait {
            bodiless: command.request.as_ref().is_some_and(Request::is_head),
            typed: Some(text.clone().into_bytes()),
            inside: self.inside,
            keep_output: command.expect.is_some(),
            ..Wait::for_prompt(&[&command.ending])
        };
        let intended_ns = arrival.map_or(0, |arrival| arrival.intended_ns);
        let mut due = from_ns.max(intended_ns) + seconds_to_ns(think);
        if self.inside && arrival.is_none() {
            // The prompt was believed only after a quiet time, which is not lateness.
            due = due.max(monotonic_ns());
        }
        let end = if command.request.is_some() {
            b""
        } else {
            c.workload.line.line_end
        };
        let line = Line::new(Kind::Command(chosen), text, end, think, due, wait);
        self.begin(c, line.of_arrival(arrival));
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
            .clone()
            .filter(|_| matches!(line.kind, Kind::Command(_)));
        let last = line.ends_with_next(gap.is_some());
        if last {
            if let Err(wait) = c.rate.take(monotonic_ns()) {
                c.statistics.held();
                line.held_ns.get_or_insert(due_ns);
                let due = monotonic_ns() + wait;
                return self.set_timer(c, due, Due::Key);
            }
        }
        if let Some(wait) = line.wait.take() {
            session.reader.begin(Wait {
                no_echo: !session.link.echoes(),
                ..wait
            });
        } else if session.watch == Watch::Nothing {
            // The echo of the keys before: nobody woke up for it.
            self.read(c);
        }
        let Some(session) = &mut self.session else { return };
        if last {
            session.reader.sent();
        }
        let watch = if last || !session.link.may_wait() {
            session.link.watch()
        } else {
            Watch::Nothing
        };
        self.watch_so(c, watch);
        let Some(session) = &mut self.session else { return };
        if std::mem::take(&mut session.closed) {
            // Its time counts: it is waited for.
            if let Err(error) = self.connect_anew(c) {
                return self.lost(c, Outcome::Refused, &error.to_string());
            }
        }
        let (Some(line), Some(session)) = (&mut self.line, &mut self.session) else {
            return;
        };
        match line.write_next(&mut session.link, gap.is_some()) {
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
            // The terminal is gone: the shell's end is told by SIGCHLD, that of a line by the next read.
            Err(_) => {}
        }
        if self
            .session
            .as_ref()
            .is_some_and(|session| !session.link.may_wait())
        {
            self.watch(c);
        }
    }

    pub(super) fn line_sent(&mut self, c: &mut Common, due_ns: i64) {
        let Some(line) = &mut self.line else { return };
        // A line that was held back is late by as long.
        let due_ns = line.held_ns.unwrap_or(due_ns);
        let at = line.stamp(c, due_ns, self.logged_on);
        self.enter(State::Waiting);
        self.set_deadline(c, at + c.workload.timeout_ns);
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
        if c.workload.line.target.is_remote() && matches!(result.0, Kind::Command(_)) {
            self.restarts = 0;
        }
        Some(result)
    }

    /// An arrival that is no row by now, because its line was not sent, is another session's.
    pub(super) fn give_back(&mut self, c: &mut Common) {
        let arrival = self.line.as_mut().and_then(|line| line.arrival.take());
        if let (Some(arrival), Some(open)) = (arrival, &mut c.open) {
            open.take_back(arrival, c.closing);
            // Before any later arrival.
            c.timers.set(arrival.intended_ns, What::TakeOver);
        }
    }

    /// Records the line if it was sent and not yet recorded.
    pub(super) fn record(&mut self, c: &mut Common, outcome: Outcome, at: Option<i64>) {
        if let (Some(line), Some(session)) = (&mut self.line, &self.session) {
            line.record(c, self.number, self.script, &session.reader, outcome, at);
        }
    }
}
