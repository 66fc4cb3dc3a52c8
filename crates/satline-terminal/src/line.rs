//! One line of input on its way: keys, stamps, and the row that becomes of it.

use std::io;

use satline_program::clock::{monotonic_ns, real_ns};

use crate::common::Common;
use crate::lines::Link;
use crate::open::Arrival;
use crate::reader::{EndedBy, Reader, Wait};
use crate::recorder::{Class, Outcome, Transaction};
use crate::workload::{Ending, Script};

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The emulator's own first line, not recorded.
    Prepare,
    /// Connecting, until the first prompt stands.
    Connect,
    /// The answer to a prompt of the log-on, from 0.
    LogOn(usize),
    /// A set-up line of the workload, from 0.
    Setup(usize),
    /// A command of the user's script.
    Command(usize),
}

/// A line that is thought of, typed, or sent. It may be a password, so it cannot be printed.
pub struct Line {
    pub kind: Kind,
    /// With its end, which has this many bytes.
    text: Vec<u8>,
    end: usize,
    /// How long it is tells nobody: it is a password.
    secret: bool,
    /// The open arrival that it is, until it is a row.
    pub arrival: Option<Arrival>,
    next: usize,
    think_s: f64,
    /// When the first key is due.
    pub due_ns: i64,
    /// When its end was due, if it had to wait for the bound on the rate.
    pub held_ns: Option<i64>,
    /// What the reader is to wait for, until the first key is sent.
    pub wait: Option<Wait>,
    first_key_ns: i64,
    last_write_ns: i64,
    stamp: Option<Stamp>,
}

#[derive(Debug)]
struct Stamp {
    time_ns: i64,
    monotonic_ns: i64,
    lateness_us: i64,
    step: i64,
    users: i64,
    phase: &'static str,
}

impl Line {
    /// `end` is what the return key sends on this line.
    pub fn new(kind: Kind, text: String, end: &[u8], think_s: f64, due_ns: i64, wait: Wait) -> Self {
        let mut text = text.into_bytes();
        text.extend_from_slice(end);
        Self {
            kind,
            text,
            end: end.len(),
            secret: false,
            arrival: None,
            next: 0,
            think_s,
            due_ns,
            held_ns: None,
            wait: Some(wait),
            first_key_ns: 0,
            last_write_ns: 0,
            stamp: None,
        }
    }

    /// The same, of a length that is not recorded.
    pub fn secret(self) -> Self {
        Self { secret: true, ..self }
    }

    /// The same, of an arrival.
    pub fn of_arrival(self, arrival: Option<Arrival>) -> Self {
        Self { arrival, ..self }
    }

    /// Nothing is typed: connecting began now.
    pub fn connecting(wait: Wait) -> Self {
        let now = monotonic_ns();
        Self {
            first_key_ns: now,
            last_write_ns: now,
            ..Self::new(Kind::Connect, String::new(), b"", 0.0, now, wait)
        }
    }

    /// End of what one write sends: a character, or all.
    fn end_of_next(&self, by_key: bool) -> usize {
        if !by_key || self.next + self.end >= self.text.len() {
            return self.text.len();
        }
        let rest = &self.text[self.next + 1..];
        self.next + 1 + rest.iter().take_while(|&&byte| byte & 0xc0 == 0x80).count()
    }

    /// True if the next write holds the end of the line.
    pub fn ends_with_next(&self, by_key: bool) -> bool {
        self.end_of_next(by_key) == self.text.len()
    }

    /// Writes the next key, or the rest of the line; false if the terminal did not take all of it now.
    pub fn write_next(&mut self, link: &mut Link, by_key: bool) -> io::Result<bool> {
        let part = &self.text[self.next..self.end_of_next(by_key)];
        // Before the write: once it is done the other side may already have answered.
        let now = monotonic_ns();
        if self.first_key_ns == 0 {
            self.first_key_ns = now;
        }
        self.last_write_ns = now;
        let written = link.send(part)?;
        self.next += written;
        Ok(written == part.len())
    }

    /// Time since the first key, ns.
    pub fn waited_ns(&self) -> i64 {
        monotonic_ns() - self.first_key_ns
    }

    /// The end of the line was just written: notes when and in which part of the run. Gives the monotonic time.
    pub fn stamp(&mut self, c: &mut Common, due_ns: i64, logged_on: bool) -> i64 {
        let monotonic = self.last_write_ns;
        let (step, users) = c.step_and_users().unwrap_or((0, 0));
        let lateness_us = (monotonic - due_ns) / 1000;
        if matches!(self.kind, Kind::Command(_)) {
            c.statistics.sent(lateness_us);
        }
        self.stamp = Some(Stamp {
            time_ns: real_ns() - (monotonic_ns() - monotonic),
            monotonic_ns: monotonic,
            lateness_us,
            step,
            users,
            phase: if logged_on { c.phase.word() } else { "logon" },
        });
        monotonic
    }

    /// How the answer is judged.
    pub fn outcome(&self, script: &Script, reader: &Reader, ended_by: EndedBy) -> Outcome {
        let Kind::Command(command) = self.kind else {
            return Outcome::Ok;
        };
        let command = &script.commands[command];
        if let (Some(request), Some(answer)) = (&command.request, reader.answer()) {
            if !answer.status().is_some_and(|status| request.is_right(status)) {
                return Outcome::Unexpected;
            }
        }
        let other_prompt = matches!(command.ending, Ending::Pattern(_)) && ended_by == EndedBy::Marks;
        let matched = command
            .expect
            .as_ref()
            .is_none_or(|expect| expect.is_match(reader.output()));
        if other_prompt || !matched {
            Outcome::Unexpected
        } else {
            Outcome::Ok
        }
    }

    /// Writes the row, once, if the line was sent; `answered_ns` is when the prompt stood.
    pub fn record(
        &mut self,
        c: &mut Common,
        user: usize,
        script: usize,
        reader: &Reader,
        outcome: Outcome,
        answered_ns: Option<i64>,
    ) {
        let Some(stamp) = self.stamp.take() else { return };
        if self.kind == Kind::Prepare {
            return;
        }
        let intended_ns = self.arrival.take().map(|arrival| arrival.intended_ns);
        let since = |at: i64| (at - stamp.monotonic_ns) / 1000;
        let row = Transaction {
            time_ns: stamp.time_ns,
            monotonic_ns: stamp.monotonic_ns,
            user,
            step: stamp.step,
            users: stamp.users,
            phase: stamp.phase,
            script,
            class: match self.kind {
                Kind::Command(command) => Class::Command(command),
                Kind::Connect | Kind::LogOn(_) => Class::LogOn,
                Kind::Prepare | Kind::Setup(_) => Class::SetUp,
            },
            outcome,
            exit_status: reader.exit_status().filter(|_| answered_ns.is_some()),
            think_us: (self.think_s * 1e6) as i64,
            typing_us: (stamp.monotonic_ns - self.first_key_ns) / 1000,
            lateness_us: stamp.lateness_us,
            reaction_us: reader.reaction_ns().map(since),
            response_us: answered_ns.map(since),
            input_characters: (!self.secret)
                .then(|| String::from_utf8_lossy(&self.text).chars().count() as i64),
            output_bytes: reader.output_bytes() as i64,
            intended_ns,
            response_from_intended_us: answered_ns
                .zip(intended_ns)
                .map(|(at, intended)| (at - intended) / 1000),
        };
        let (reaction_us, response_us) = (row.reaction_us, row.response_us);
        c.recorder.transaction(row);
        let figures = &mut c.statistics;
        if !matches!(self.kind, Kind::Command(_)) {
            return;
        }
        figures.transactions += 1;
        figures.reactions += u64::from(reaction_us.is_some());
        figures.failures += u64::from(!matches!(outcome, Outcome::Ok | Outcome::Cut));
        if let Some(response_us) = response_us {
            figures.responded(response_us);
        }
    }
}

/// Output as one line of plain text for an error: no escapes.
pub fn plain(output: &[u8]) -> String {
    let mut bytes = Vec::new();
    crate::strip::Stripper::default().feed(output, |item, _, _| match item {
        crate::strip::Item::Text(text) => bytes.extend_from_slice(text),
        crate::strip::Item::Control(b'\n') => bytes.push(b' '),
        _ => {}
    });
    String::from_utf8_lossy(&bytes).trim().to_owned()
}
