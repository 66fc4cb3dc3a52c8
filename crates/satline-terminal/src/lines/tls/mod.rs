//! TLS on a line, by the host's own OpenSSL; decision 8 says why.
//!
//! It stands between the socket and the protocol, as telnet does: bytes that came go in, text comes out, and the other
//! way round. A server's certificate is always checked, its name too; no way around that is offered. Each connection is
//! a whole handshake: sessions are not resumed, so that every log-on costs the server what a new user's does.

mod explain;
mod library;

use std::io;
use std::path::Path;
use std::rc::Rc;

use library::{Context, Library, NAMES, RECORD, Session, Step};

/// Makes the TLS of every connection to one host.
#[derive(Debug)]
pub struct Client {
    context: Rc<Context>,
    host: String,
}

/// Why there is no client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// OpenSSL itself; what the loader says.
    Library(String),
    /// The authorities' certificates; OpenSSL's words.
    Authority(String),
}

impl Client {
    /// `ca`: the authorities that are believed, in place of the host's own.
    pub fn new(host: &str, ca: Option<&Path>) -> Result<Self, Missing> {
        let library = Library::load(&NAMES).map_err(Missing::Library)?;
        let context = Context::new(library, ca).map_err(Missing::Authority)?;
        Ok(Self {
            context: Rc::new(context),
            host: host.to_owned(),
        })
    }

    /// The TLS of a connection that is being made.
    pub fn connection(&self) -> io::Result<Tls> {
        Ok(Tls {
            session: Session::new(&self.context, &self.host).map_err(io::Error::other)?,
            host: self.host.clone(),
            state: State::Shaking,
            unread: false,
            unsent: Vec::new(),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Shaking,
    Up,
    /// The server has said that it ends.
    Closed,
    /// Of no use any more; why.
    Failed(String),
}

/// What has come, read.
#[derive(Debug, PartialEq, Eq)]
pub enum Text {
    /// So many bytes, at least one.
    Some(usize),
    /// More must come first.
    None,
    /// The server has said that nothing more comes.
    Closed,
    /// Nothing that comes can be believed any more; why.
    Failed(String),
}

/// One connection's TLS; it never blocks.
#[derive(Debug)]
pub struct Tls {
    session: Session,
    host: String,
    state: State,
    /// What was taken in may not have been read to its end.
    unread: bool,
    /// Text that cannot be encrypted yet.
    unsent: Vec<u8>,
}

impl Tls {
    /// How much may be read from the socket at one time so that its text has room in a buffer of this length, with what
    /// is held of an unfinished record: level-triggered polls then have nothing to tell that is not on the socket.
    pub fn share_of(buffer: usize) -> usize {
        debug_assert!(buffer >= 2 * RECORD, "a record's text needs room");
        buffer.saturating_sub(RECORD).max(1)
    }

    /// The handshake is done.
    pub fn is_up(&self) -> bool {
        self.state != State::Shaking
    }

    /// Goes on with the handshake; true when it is done. What is to go is appended to `out`, also with an error.
    pub fn shake(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        let step = self.session.connect();
        self.session.take(out);
        match step {
            Step::Done(_) => {
                // The server's first words may have come with its last of the handshake.
                (self.state, self.unread) = (State::Up, true);
                self.encrypt(out)?;
                Ok(true)
            }
            Step::Wants => Ok(false),
            Step::Closed => Err(io::ErrorKind::UnexpectedEof.into()),
            Step::Failed(words) => {
                let why = explain::explain(self.session.certificate(), &words, &self.host);
                self.state = State::Failed(why.clone());
                Err(io::Error::new(io::ErrorKind::InvalidData, why))
            }
        }
    }

    /// Takes in bytes from the socket.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.unread = true;
        self.session.feed(bytes);
    }

    /// `read` has something to say though nothing came since.
    pub fn has_news(&self) -> bool {
        self.unread || self.is_over()
    }

    /// The text of what has come; what OpenSSL answers on its own is appended to `out`.
    pub fn read(&mut self, buffer: &mut [u8], out: &mut Vec<u8>) -> Text {
        let mut got = 0;
        while self.state == State::Up && got < buffer.len() {
            match self.session.read(&mut buffer[got..]) {
                Step::Done(more) => got += more,
                Step::Wants => {
                    self.unread = false;
                    break;
                }
                Step::Closed => self.state = State::Closed,
                Step::Failed(words) => self.state = State::Failed(format!("TLS: {words}")),
            }
        }
        self.session.take(out);
        match &self.state {
            _ if got > 0 => Text::Some(got),
            State::Closed => Text::Closed,
            State::Failed(why) => Text::Failed(why.clone()),
            State::Shaking | State::Up => Text::None,
        }
    }

    /// Nothing more can be read.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Closed | State::Failed(_))
    }

    /// Text that is to go: encrypted to the end of `out`, or held until it can be.
    pub fn send(&mut self, text: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        self.unsent.extend_from_slice(text);
        self.encrypt(out)
    }

    fn encrypt(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        if self.state == State::Shaking {
            return Ok(());
        }
        let mut done = 0;
        while done < self.unsent.len() {
            match self.session.write(&self.unsent[done..]) {
                Step::Done(more) => done += more,
                // The server negotiates anew: after its next bytes.
                Step::Wants => break,
                Step::Closed => return Err(io::ErrorKind::BrokenPipe.into()),
                Step::Failed(words) => return Err(io::Error::other(format!("TLS: {words}"))),
            }
        }
        self.unsent.drain(..done);
        self.session.take(out);
        Ok(())
    }

    /// Goes on with text that was held.
    pub fn resume(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        self.encrypt(out)
    }

    /// Says to the server that nothing more comes.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        if matches!(self.state, State::Up | State::Closed) {
            self.session.close();
            self.session.take(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_host_without_openssl_is_told() {
        let why = Library::load(&[c"libssl.so.none", c"libssl.so.neither"]).unwrap_err();
        assert!(why.contains("libssl.so.none"), "{why}");
        // A library, but not this one.
        let why = Library::load(&[c"libc.so.6"]).unwrap_err();
        assert!(why.contains("libc.so.6: it has no TLS_client_method"), "{why}");
    }

    #[test]
    fn authorities_that_are_none_are_refused() {
        match Client::new("localhost", Some(Path::new("/dev/null"))) {
            Err(Missing::Authority(why)) => assert!(!why.is_empty()),
            Err(Missing::Library(_)) => {}
            Ok(_) => panic!("an empty file was believed"),
        }
    }

    #[test]
    fn hostile_bytes_end_the_handshake_or_leave_it_open() {
        let Ok(client) = Client::new("localhost", None) else {
            return;
        };
        proptest!(|(bytes in prop::collection::vec(any::<u8>(), 0..400), record in any::<bool>())| {
            let (mut tls, mut out) = (client.connection().unwrap(), Vec::new());
            prop_assert!(!tls.shake(&mut out).unwrap() && !out.is_empty(), "it begins");
            // What is sent before the handshake is done does not leave.
            out.clear();
            tls.send(b"secret", &mut out).unwrap();
            prop_assert!(out.is_empty());
            if record {
                let length = (bytes.len() as u16).to_be_bytes();
                tls.feed(&[22, 3, 3, length[0], length[1]]);
            }
            tls.feed(&bytes);
            prop_assert!(!matches!(tls.shake(&mut out), Ok(true)));
            let mut buffer = vec![0; 2 * RECORD];
            prop_assert!(!matches!(tls.read(&mut buffer, &mut out), Text::Some(_)));
            prop_assert!(!out.windows(6).any(|part| part == b"secret"));
        });
    }
}
