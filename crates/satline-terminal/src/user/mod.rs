//! One pseudo-user: logs on, thinks, types, waits for the answer, thinks again.

mod failing;
mod typing;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rand_pcg::Pcg64;

use crate::clock::monotonic_ns;
use crate::common::{Common, Due, What};
use crate::line::Line;
use crate::processes;
use crate::random::{Purpose, between, stream};
use crate::reader::{EndedBy, Reader, Status, Wait};
use crate::recorder::Outcome;
use crate::workload::Ending;

/// Quiet time after which what looks like a prompt is taken as one, ns. A user at such a prompt cannot think for less.
const SETTLE_NS: i64 = 20_000_000;
/// The same after an interrupt, when a second prompt may follow the first.
const SETTLE_INTERRUPTED_NS: i64 = 200_000_000;

/// Where a user stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not logged on.
    Off,
    /// The shell was started; its first prompt is awaited.
    Starting,
    /// Thinking or typing.
    Typing,
    /// The line end was sent.
    Waiting,
    /// The command took too long and was interrupted so many times.
    Interrupting(u32),
    /// Its log-on failed for good.
    Failed,
}

struct Session {
    master: OwnedFd,
    pid: i32,
    reader: Reader,
    /// The beginning of what the shell printed at log-on, for errors.
    banner: Vec<u8>,
}

struct Streams {
    command: Pcg64,
    think: Pcg64,
    typing: Pcg64,
    input: Pcg64,
}

/// A pseudo-user.
pub struct User {
    /// From 1.
    pub number: usize,
    pub name: String,
    pub state: State,
    script: usize,
    streams: Streams,
    nonce: String,
    session: Option<Session>,
    line: Option<Line>,
    /// Counts changes of state, so that old timers are known.
    generation: u64,
    /// The next line of a sequence.
    position: usize,
    /// A program inside the shell reads the next line.
    inside: bool,
    /// Logged on and set up.
    logged_on: bool,
    was_logged_on: bool,
    /// No command was typed since log-on.
    fresh: bool,
    restarts: u32,
    /// Logs off when the answer is there.
    leaving: bool,
}

impl User {
    pub fn new(number: usize, script: usize, seed: u64) -> Self {
        let of = |purpose| stream(seed, number as u64, purpose);
        let mut mark = of(Purpose::Mark);
        Self {
            number,
            name: format!("user-{number:03}"),
            state: State::Off,
            script,
            streams: Streams {
                command: of(Purpose::Command),
                think: of(Purpose::Think),
                typing: of(Purpose::Typing),
                input: of(Purpose::Input),
            },
            nonce: format!("{:015x}", between(&mut mark, 0, (1 << 60) - 1)),
            session: None,
            line: None,
            generation: 0,
            position: 0,
            inside: false,
            logged_on: false,
            was_logged_on: false,
            fresh: true,
            restarts: 0,
            leaving: false,
        }
    }

    fn index(&self) -> usize {
        self.number - 1
    }

    pub fn generation(&self) -> u64 {
        self.generation
    }

    pub fn has_been_logged_on(&self) -> bool {
        self.was_logged_on
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.generation += 1;
    }

    fn set_timer(&self, c: &mut Common, due_ns: i64, due: Due) {
        c.timers
            .set(due_ns, What::User(self.index(), self.generation, due));
    }

    /// Starts the shell, unless the user is logged on or has failed.
    pub fn log_on(&mut self, c: &mut Common) {
        // Still finishing an answer of an earlier step, after which it was to leave.
        self.leaving = false;
        if self.state != State::Off || c.closing {
            return;
        }
        let directory = c.directory.join(&self.name);
        let environment = crate::environment::of_user(c, &self.name, &self.nonce, &directory);
        let started = std::fs::create_dir_all(&directory)
            .and_then(|()| c.launcher.start(&directory, &environment))
            .and_then(|started| {
                c.poll
                    .add(started.master.as_raw_fd(), self.index() as u64)
                    .map(|()| started)
            });
        let started = match started {
            Ok(started) => started,
            Err(error) => return self.fail(c, &format!("cannot start the shell: {error}")),
        };
        c.shells.insert(started.pid, self.index());
        c.list_user(started.pid, &self.name);
        let nonce = matches!(c.workload.ending, Ending::Marks).then_some(self.nonce.as_str());
        let mut reader = Reader::new(
            nonce,
            usize::from(crate::spawn::COLUMNS),
            c.workload.uses_patterns(),
        );
        reader.begin(Wait::for_prompt(&[&c.workload.ending]));
        self.session = Some(Session {
            master: started.master,
            pid: started.pid,
            reader,
            banner: Vec::new(),
        });
        (self.position, self.inside, self.leaving) = (0, false, false);
        self.enter(State::Starting);
        let deadline = monotonic_ns() + c.logon_timeout_ns;
        self.set_timer(c, deadline, Due::Timeout);
    }

    /// Logs off, after the answer if one is awaited.
    pub fn leave(&mut self, c: &mut Common) {
        self.leaving = true;
        if !matches!(self.state, State::Waiting | State::Interrupting(_)) {
            self.log_off(c);
        }
    }

    /// Hangs up at once; an unfinished line is recorded as cut if it was sent.
    pub fn log_off(&mut self, c: &mut Common) {
        self.record(c, Outcome::Cut, None);
        if let Some(session) = self.session.take() {
            c.hang_up(session.pid, session.master);
        }
        self.gone(c);
    }

    /// Nobody is logged on here any more.
    fn gone(&mut self, c: &mut Common) {
        if std::mem::take(&mut self.logged_on) {
            c.logged_on -= 1;
        }
        self.session = None;
        self.line = None;
        if self.state != State::Failed {
            self.enter(State::Off);
        }
    }

    /// Reads what the terminal has; true if there may be more.
    pub fn read(&mut self, c: &mut Common) -> bool {
        let mut buffer = [0u8; 32 * 1024];
        let Some(session) = &mut self.session else {
            return false;
        };
        // SAFETY: the buffer is as long as said.
        let got = unsafe {
            libc::read(
                session.master.as_raw_fd(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
            )
        };
        // After the read: a time is never earlier than what it stamps.
        let now = monotonic_ns();
        if got <= 0 {
            let error = io::Error::last_os_error();
            if got < 0
                && matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                )
            {
                return false;
            }
            // The shell closed its terminal: it is ending, or of no use any more. Its end is told by SIGCHLD; once that
            // has come (it is no longer among the shells) its number may be another process's.
            c.poll.remove(session.master.as_raw_fd());
            if c.shells.contains_key(&session.pid) {
                processes::send(session.pid, libc::SIGKILL);
            }
            return false;
        }
        let data = &buffer[..got as usize];
        if self.state == State::Starting && session.banner.len() < 400 {
            session.banner.extend_from_slice(&data[..data.len().min(400)]);
        }
        session.reader.feed(data, now);
        self.look(c, now);
        true
    }

    /// Acts on what the reader knows.
    fn look(&mut self, c: &mut Common, now: i64) {
        let Some(status) = self.session.as_ref().map(|session| session.reader.status()) else {
            return;
        };
        let waiting = matches!(
            self.state,
            State::Starting | State::Waiting | State::Interrupting(_)
        );
        match status {
            _ if !waiting => {}
            Status::Pending => {}
            Status::Candidate(_) => self.set_timer(c, now + SETTLE_NS, Due::Settle),
            Status::Complete(..) if matches!(self.state, State::Interrupting(_)) => {
                self.set_timer(c, now + SETTLE_INTERRUPTED_NS, Due::Settle);
            }
            Status::Complete(at, ended_by) => self.answered(c, at, ended_by),
        }
    }

    /// Something of the current state is due.
    pub fn due(&mut self, c: &mut Common, due: Due, due_ns: i64) {
        match (due, self.state) {
            (Due::Key, State::Typing) => self.key(c, due_ns),
            (Due::Settle, _) => self.settled(c),
            (Due::Timeout, State::Starting) => {
                let seconds = c.logon_timeout_ns as f64 / 1e9;
                self.fail(c, &format!("the shell gave no prompt within {seconds} s"));
            }
            (Due::Timeout, State::Waiting | State::Interrupting(_)) => self.timed_out(c),
            _ => {}
        }
    }

    fn settled(&mut self, c: &mut Common) {
        let Some(session) = &mut self.session else { return };
        if let Status::Candidate(at) = session.reader.status() {
            if monotonic_ns() < at + SETTLE_NS {
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
