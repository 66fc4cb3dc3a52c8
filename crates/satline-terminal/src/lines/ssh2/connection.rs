//! One connection: socket, handshake, proof of who is who, and the seats of its users.

use std::ffi::CString;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;

use super::client::{Client, Disbelief, Key};
use super::library::{Channel, Fault, Session, Step};
use crate::lines::ssh::causes;
use crate::lines::{Received, connecting};
use crate::poll::{Watch, later};

/// Why a key may not have been taken, beyond what every client meets.
const OLD_RSA: &str = "; libssh2 before 1.11 signs with RSA keys in a way that sshd no longer takes";
/// The terminal of a channel; a command of ours gives it another size.
const SIZE: (u16, u16) = (80, 24);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Connecting,
    Shaking,
    /// Offers this of the client's keys, and this of an agent's.
    Proving(usize, usize),
    Up,
}

/// Where a user's channel stands.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// The connection does not stand, or another channel is being opened.
    Waiting,
    Opening,
    Terminal(Channel),
    Starting(Channel),
    Open(Channel),
    Refused(String),
}

/// One user's part.
#[derive(Debug)]
struct Seat {
    place: Place,
    /// What runs there; None: the account's shell.
    command: Option<CString>,
    /// The user has left before the channel was open.
    left: bool,
}

/// What a step of a channel comes to: where it stands then, None: as before; or why it cannot be had.
fn told<T>(
    step: Step<T>,
    next: impl FnOnce(T) -> Place,
    cause: &str,
) -> Result<Option<Place>, (Fault, String)> {
    match step {
        Step::Done(value) => Ok(Some(next(value))),
        Step::Wants => Ok(None),
        Step::Failed(fault) => {
            let why = format!(": libssh2: {} ({cause})", fault.words);
            Err((fault, why))
        }
    }
}

/// One connection; it never blocks.
#[derive(Debug)]
pub struct Connection {
    client: Rc<Client>,
    /// Freed before its socket.
    session: Session,
    stream: TcpStream,
    stage: Stage,
    /// Why it is of no use any more, as the end of a sentence, from its colon on.
    over: Option<String>,
    seats: Vec<Option<Seat>>,
    /// Closed here, and not yet by the host.
    closing: Vec<Channel>,
}

impl Connection {
    /// Begins to connect.
    pub fn new(client: &Rc<Client>) -> io::Result<Self> {
        Ok(Self {
            session: client.session().map_err(io::Error::other)?,
            stream: connecting::begin(client.wish.address)?,
            client: Rc::clone(client),
            stage: Stage::Connecting,
            over: None,
            seats: Vec::new(),
            closing: Vec::new(),
        })
    }

    pub fn fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    pub fn watch(&self) -> Watch {
        if self.stage == Stage::Connecting || self.session.is_full() {
            Watch::InputAndOutput
        } else {
            Watch::Input
        }
    }

    pub fn is_up(&self) -> bool {
        self.stage == Stage::Up
    }

    /// Why it is of no use any more, from a colon on.
    pub fn over(&self) -> Option<&str> {
        self.over.as_deref()
    }

    fn fail(&mut self, why: String) {
        self.over.get_or_insert(why);
    }

    /// Reads what has come, once, and goes on with what that allows.
    pub fn pump(&mut self) {
        if self.stage != Stage::Connecting && self.over.is_none() {
            match self.session.fill(&self.stream) {
                Ok(0) => self.lose("it closed the connection"),
                Err(error) if !later(&error) => self.lose(&error.to_string()),
                _ => {}
            }
        }
        self.advance();
    }

    /// The socket is of no use any more.
    fn lose(&mut self, how: &str) {
        self.fail(match self.stage {
            Stage::Shaking => format!(": {how} ({})", causes::MAX_STARTUPS),
            Stage::Proving(..) => format!(": {how} ({})", causes::NO_KEY),
            Stage::Connecting | Stage::Up => format!(": {how}"),
        });
    }

    /// Goes on as far as it can with what has come.
    pub fn advance(&mut self) {
        while self.over.is_none() && self.moves() {}
        self.flush();
    }

    /// One step; false: more must come first.
    fn moves(&mut self) -> bool {
        match self.stage {
            Stage::Connecting => match connecting::is_connected(&self.stream) {
                Ok(true) => self.stage = Stage::Shaking,
                Ok(false) => return false,
                Err(error) => self.fail(format!(": {error}")),
            },
            Stage::Shaking => match self.session.handshake(self.fd()) {
                Step::Done(_) => match self.client.believes(&self.session) {
                    Ok(()) => self.stage = Stage::Proving(0, 0),
                    Err(Disbelief::Unknown) => self.fail(format!(": {}", causes::UNKNOWN)),
                    Err(Disbelief::Other) => self.fail(format!(": {}", causes::CHANGED)),
                    Err(Disbelief::Revoked) => self.fail(format!(": {}", causes::REVOKED)),
                },
                Step::Wants => return false,
                Step::Failed(fault) => self.fail(format!(": libssh2: {}", fault.words)),
            },
            Stage::Proving(key, part) => return self.prove(key, part),
            Stage::Up => return self.seat(),
        }
        true
    }

    fn prove(&mut self, key: usize, part: usize) -> bool {
        let client = Rc::clone(&self.client);
        let user = &client.wish.user;
        let (step, next) = match client.wish.keys.get(key) {
            None => {
                self.fail(format!(": {}{}", causes::NO_KEY, OLD_RSA));
                return false;
            }
            Some(Key::Agent) if part >= self.session.agent_keys() => {
                self.session.leave_agent();
                self.stage = Stage::Proving(key + 1, 0);
                return true;
            }
            Some(Key::Agent) => (self.session.prove_by_agent(user, part), (key, part + 1)),
            Some(Key::File(file)) => (self.session.prove_by_file(user, file), (key + 1, 0)),
        };
        match step {
            Step::Done(_) => {
                self.session.leave_agent();
                self.stage = Stage::Up;
            }
            Step::Wants => return false,
            Step::Failed(Fault { fatal: true, words }) => {
                self.fail(format!(": libssh2: {words} ({})", causes::NO_KEY));
            }
            Step::Failed(_) => self.stage = Stage::Proving(next.0, next.1),
        }
        true
    }

    /// One step of the channels.
    fn seat(&mut self) -> bool {
        for at in (0..self.closing.len()).rev() {
            if self.session.close(self.closing[at]) {
                self.closing.swap_remove(at);
            }
        }
        let mut moved = false;
        for at in 0..self.seats.len() {
            let opening =
                |seat: &Option<Seat>| seat.as_ref().is_some_and(|seat| seat.place == Place::Opening);
            let busy = self.seats.iter().any(opening);
            let Some(seat) = &mut self.seats[at] else { continue };
            let session = &mut self.session;
            let step = match seat.place {
                Place::Waiting if busy => continue,
                Place::Waiting => Ok(Some(Place::Opening)),
                Place::Opening => told(session.open(), Place::Terminal, causes::MAX_SESSIONS),
                Place::Terminal(channel) => {
                    let step = session.terminal(channel, &self.client.wish.terminal, SIZE);
                    told(step, |_| Place::Starting(channel), causes::NO_TERMINAL)
                }
                Place::Starting(channel) => {
                    let step = session.start(channel, seat.command.as_deref());
                    told(step, |_| Place::Open(channel), "the host starts nothing on it")
                }
                Place::Open(_) | Place::Refused(_) => continue,
            };
            match step {
                Ok(None) => continue,
                Ok(Some(place)) => seat.place = place,
                Err((fault, why)) => {
                    if fault.fatal {
                        self.fail(why);
                        return false;
                    }
                    if let Place::Terminal(channel) | Place::Starting(channel) = seat.place {
                        self.closing.push(channel);
                    }
                    seat.place = Place::Refused(why);
                }
            }
            if seat.left {
                self.leave(at);
            }
            moved = true;
        }
        moved
    }

    /// Takes a further user, who is to run this.
    pub fn enter(&mut self, command: Option<CString>) -> usize {
        let seat = Some(Seat {
            place: Place::Waiting,
            command,
            left: false,
        });
        match self.seats.iter().position(Option::is_none) {
            Some(free) => {
                self.seats[free] = seat;
                free
            }
            None => {
                self.seats.push(seat);
                self.seats.len() - 1
            }
        }
    }

    /// A user goes: what runs there is hung up.
    pub fn leave(&mut self, at: usize) {
        let Some(seat) = &mut self.seats[at] else { return };
        match seat.place {
            // It comes to be all the same, and is closed then.
            Place::Opening => {
                seat.left = true;
                return;
            }
            Place::Terminal(channel) | Place::Starting(channel) | Place::Open(channel) => {
                self.closing.push(channel);
            }
            Place::Waiting | Place::Refused(_) => {}
        }
        self.seats[at] = None;
    }

    /// True once the user's channel is open; the error if it cannot be.
    pub fn stands(&self, at: usize) -> io::Result<bool> {
        match self.seats[at].as_ref().map(|seat| &seat.place) {
            Some(Place::Open(_)) => Ok(true),
            Some(Place::Refused(why)) => Err(io::Error::other(format!("gave no session{why}"))),
            _ => match &self.over {
                Some(why) => Err(io::Error::other(format!("gave no session{why}"))),
                None => Ok(false),
            },
        }
    }

    fn channel(&self, at: usize) -> Option<Channel> {
        match self.seats[at].as_ref()?.place {
            Place::Open(channel) => Some(channel),
            _ => None,
        }
    }

    /// The user's line has something to tell without anything that comes.
    pub fn has_news(&self, at: usize) -> bool {
        self.over.is_some()
            || match self.channel(at) {
                Some(channel) => self.session.has_news(channel),
                None => self.stands(at).is_err(),
            }
    }

    /// Takes in what was read, for all users.
    pub fn take_in(&mut self) {
        let open = (0..self.seats.len()).find_map(|at| self.channel(at));
        let step = open.map(|channel| self.session.read(channel, &mut []));
        if let Some(Step::Failed(fault)) = step {
            self.fail(format!(": libssh2: {}", fault.words));
        }
        // What libssh2 answers on its own, new keys above all.
        self.flush();
    }

    /// Reads what has come for a user.
    pub fn receive(&mut self, at: usize, buffer: &mut [u8]) -> Received {
        let Some(channel) = self.channel(at) else {
            return Received::Later;
        };
        match self.session.read(channel, buffer) {
            Step::Done(0) => return Received::Ended("closed the session".into()),
            Step::Done(got) => {
                self.flush();
                return Received::Data(got);
            }
            Step::Wants => self.flush(),
            Step::Failed(fault) => self.fail(format!(": libssh2: {}", fault.words)),
        }
        match &self.over {
            Some(why) => Received::Lost(format!("lost the connection{why}")),
            None => Received::Later,
        }
    }

    /// Sends a user's text; gives the bytes taken.
    pub fn send(&mut self, at: usize, text: &[u8]) -> io::Result<usize> {
        let Some(channel) = self.channel(at) else {
            return Ok(0);
        };
        let mut done = 0;
        // At most so much goes at one time.
        while done < text.len() {
            match self.session.write(channel, &text[done..]) {
                Step::Done(more) if more > 0 => done += more,
                Step::Done(_) | Step::Wants => break,
                Step::Failed(fault) => return Err(io::Error::other(fault.words)),
            }
        }
        self.flush();
        Ok(done)
    }

    fn flush(&mut self) {
        if self.stage == Stage::Connecting || !self.session.is_full() {
            return;
        }
        if let Err(error) = self.session.drain(&self.stream) {
            self.lose(&error.to_string());
        }
    }
}

/// The host is told that the connection ends.
impl Drop for Connection {
    fn drop(&mut self) {
        if self.over.is_none() && matches!(self.stage, Stage::Proving(..) | Stage::Up) {
            self.session.disconnect();
            self.flush();
        }
    }
}
