//! One pseudo-user: logs on, thinks, types, waits for the answer, thinks again.

mod failing;
mod logon;
mod request;
mod session;
mod typing;
mod waiting;

use rand_pcg::Pcg64;
use satline_program::clock::monotonic_ns;

use crate::common::{Common, Due, What};
use crate::draws::{Draws, DrawsKey, Inputs};
use crate::line::Line;
use crate::lines::{Link, Received};
use crate::poll::Watch;
use crate::processes;
use crate::random::{Purpose, between, stream};
use crate::reader::{Reader, Status, Wait};
use crate::recorder::Outcome;
use crate::workload::Ending;
use waiting::Deadline;

/// Quiet time after which what looks like a prompt is taken as one after an interrupt, when a second prompt may follow the first, ns.
const SETTLE_INTERRUPTED_NS: i64 = 200_000_000;

/// The name of a user, numbered from 1.
pub fn user_name(number: usize) -> String {
    format!("user-{number:03}")
}

/// Where a user stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not logged on.
    Off,
    /// The shell was started; its first prompt is awaited.
    Starting,
    /// Thinking or typing.
    Typing,
    /// Logged on, without work: the next arrival's.
    Idle,
    /// The line end was sent.
    Waiting,
    /// The command took too long and was interrupted so many times.
    Interrupting(u32),
    /// Its log-on failed for good.
    Failed,
}

struct Session {
    link: Link,
    /// How the poll watches the line.
    watch: Watch,
    reader: Reader,
    /// The beginning of what the shell printed at log-on, for errors.
    banner: Vec<u8>,
    /// The password was sent: from here on nothing is quoted.
    confided: bool,
    /// The server has closed the connection, which is made anew with the next request (HTTP).
    closed: bool,
}

struct Streams {
    command: Draws,
    think: Draws,
    typing: Pcg64,
    input: Inputs,
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
    /// Its log-on is one of those that may be under way at one time.
    at_door: bool,
    deadline: Deadline,
    /// The next command and its think time, s, where they are drawn already.
    ahead: Option<(usize, f64)>,
}

impl User {
    pub fn new(number: usize, script: usize, seed: u64, draws: DrawsKey) -> Self {
        let user = number as u64;
        let of = |purpose| stream(seed, user, purpose);
        let mut mark = of(Purpose::Mark);
        Self {
            number,
            name: user_name(number),
            state: State::Off,
            script,
            streams: Streams {
                command: Draws::new(draws, seed, user, Purpose::Command),
                think: Draws::new(draws, seed, user, Purpose::Think),
                typing: of(Purpose::Typing),
                input: Inputs::new(draws, seed, user),
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
            at_door: false,
            deadline: Deadline::default(),
            ahead: None,
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

    /// Without work since that generation.
    pub fn is_idle(&self, generation: u64) -> bool {
        self.state == State::Idle && self.generation == generation
    }

    fn is_interrupting(&self) -> bool {
        matches!(self.state, State::Interrupting(_))
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.generation += 1;
    }

    fn set_timer(&self, c: &mut Common, due_ns: i64, due: Due) {
        c.timers
            .set(due_ns, What::User(self.index(), self.generation, due));
    }

    /// Opens the line, unless the user is logged on or has failed.
    pub fn log_on(&mut self, c: &mut Common) {
        // Still finishing an answer of an earlier step, after which it was to leave.
        self.leaving = false;
        if self.state != State::Off || c.closing {
            return;
        }
        if !self.pass_the_door(c) {
            return;
        }
        if let Err(wait) = c.rate.take(monotonic_ns()) {
            self.through_the_door(c);
            c.timers.set(monotonic_ns() + wait, What::LogOn(self.index()));
            return;
        }
        let first = c
            .workload
            .line
            .logon
            .first()
            .map_or(&c.workload.ending, |step| &step.wait);
        let wait = Wait::for_prompt(&[first]);
        // A line that is connected is a transaction from here on.
        let line = (c.workload.line.target.is_remote()).then(|| Line::connecting(wait.clone()));
        let link = match self.open(c) {
            Ok(link) => link,
            Err(error) if line.is_some() => return self.lost(c, Outcome::Refused, &error.to_string()),
            Err(error) => return self.fail(c, &format!("cannot start the shell: {error}")),
        };
        let nonce = matches!(c.workload.ending, Ending::Marks).then_some(self.nonce.as_str());
        let mut reader = if c.workload.line.target.is_http() {
            Reader::of_messages()
        } else {
            Reader::new(nonce, c.columns(), c.workload.uses_patterns())
        };
        reader.begin(wait);
        self.session = Some(Session {
            watch: link.watch(),
            link,
            reader,
            banner: Vec::new(),
            confided: false,
            closed: false,
        });
        self.line = line;
        if let Some(line) = &mut self.line {
            line.stamp(c, line.due_ns, false);
        }
        (self.position, self.inside, self.leaving) = (0, false, false);
        self.enter(State::Starting);
        let deadline = monotonic_ns() + c.logon_timeout_ns;
        self.set_deadline(c, deadline);
    }

    /// Has the poll tell what this line waits for: also when it can be written, if something is to go out.
    fn watch(&mut self, c: &Common) {
        if let Some(watch) = self.session.as_ref().map(|session| session.link.watch()) {
            self.watch_so(c, watch);
        }
    }

    fn watch_so(&mut self, c: &Common, watch: Watch) {
        let index = self.index() as u64;
        let Some(session) = &mut self.session else { return };
        if let Link::Ssh2(line) = &session.link {
            if line.is_shared() {
                return line.watch_shared(&c.poll);
            }
        }
        // An error shows at the next read.
        if watch != session.watch && c.poll.change(session.link.fd(), index, watch).is_ok() {
            session.watch = watch;
        }
    }

    /// Logs off, after the answer if one is awaited.
    pub fn leave(&mut self, c: &mut Common) {
        self.leaving = true;
        if !matches!(self.state, State::Waiting | State::Interrupting(_)) {
            self.log_off(c);
        }
    }

    /// Hangs up if it was to leave and still waits for its answer.
    pub fn leave_at_once(&mut self, c: &mut Common) {
        if self.leaving && self.state != State::Off {
            self.log_off(c);
        }
    }

    /// Hangs up at once; an unfinished line is recorded as cut if it was sent.
    pub fn log_off(&mut self, c: &mut Common) {
        self.record(c, Outcome::Cut, None);
        if let Some(session) = self.session.take() {
            c.hang_up(session.link);
        }
        self.gone(c);
    }

    /// Nobody is logged on here any more.
    fn gone(&mut self, c: &mut Common) {
        if std::mem::take(&mut self.logged_on) {
            c.logged_on -= 1;
        }
        self.give_back(c);
        self.session = None;
        self.line = None;
        self.through_the_door(c);
        if self.state != State::Failed {
            self.enter(State::Off);
        }
    }

    /// Looks at the line: reads what it has, once; the bytes, 0 where there is nothing more to read.
    pub fn read(&mut self, c: &mut Common) -> usize {
        let mut buffer = std::mem::take(&mut c.buffer);
        let got = self.read_into(c, &mut buffer);
        c.buffer = buffer;
        got
    }

    fn read_into(&mut self, c: &mut Common, buffer: &mut [u8]) -> usize {
        let Some(session) = &mut self.session else {
            return 0;
        };
        match session.link.establish() {
            Ok(true) if self.state == State::Starting && session.reader.answer().is_some() => {
                self.stands(c);
                return 0;
            }
            Ok(true) => {}
            Ok(false) => {
                // Of a handshake the next part is the other side's.
                self.watch(c);
                return 0;
            }
            Err(error) => {
                self.lost(c, Outcome::Refused, &error.to_string());
                return 0;
            }
        }
        let received = session.link.receive(buffer);
        // After the read: a time is never earlier than what it stamps.
        let now = monotonic_ns();
        if self
            .session
            .as_ref()
            .is_some_and(|session| !session.link.may_wait() || session.watch == Watch::InputAndOutput)
        {
            self.watch(c);
        }
        let Some(session) = &mut self.session else {
            return 0;
        };
        let whole = !matches!(received, Received::Lost(_));
        let got = match received {
            Received::Later => return 0,
            Received::Refused(how) => {
                self.lost(c, Outcome::Refused, &how);
                return 0;
            }
            Received::Ended(how) | Received::Lost(how) => {
                if session.reader.answer().is_some() {
                    self.closed(c, &how, whole, now);
                    return 0;
                }
                let Some(pid) = session.link.pid() else {
                    self.lost(c, Outcome::Died, &how);
                    return 0;
                };
                // The shell closed its terminal: it is ending, or of no use any more. Its end is told by SIGCHLD; once
                // that has come (it is no longer among the shells) its number may be another process's.
                c.poll.remove(session.link.fd());
                if c.shells.contains_key(&pid) {
                    processes::send(pid, libc::SIGKILL);
                }
                return 0;
            }
            Received::Data(got) => {
                let data = &buffer[..got];
                if !self.logged_on && !session.confided && session.banner.len() < 400 {
                    session.banner.extend_from_slice(&data[..data.len().min(400)]);
                }
                if session.reader.has_settled(now - c.workload.settle_ns) {
                    // The timer that says so is a patient one.
                    self.settled(c);
                }
                let Some(session) = &mut self.session else {
                    return 0;
                };
                session.reader.feed(data, now);
                if self.answer_is_wrong(c) {
                    return 0;
                }
                got
            }
        };
        self.look(c, now);
        got
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
            Status::Candidate(_) if c.workload.settle_ns == 0 && !self.is_interrupting() => self.settled(c),
            Status::Candidate(_) => self.settle_later(c, now),
            Status::Complete(..) if self.is_interrupting() => {
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
            _ => {}
        }
    }
}
