//! Lines over SSH: the host's own `ssh` (OpenSSH) on a pair of sockets for each user, so that configuration, agents, known
//! hosts and jump hosts are those that its people use; decision 9 has the figures.
//!
//! One user on each connection, or several: then a client without a session of its own holds the connection, and each
//! user's client hands it its ends and only waits.

pub(in crate::lines) mod causes;
mod client;
mod explain;
mod facts;

use std::io::{self, Read, Write};
use std::net::ToSocketAddrs;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

pub use client::{Carrier, Host, Settings};
pub use explain::explain;
pub use facts::Facts;

use super::Received;
use crate::poll::later;

/// Bytes of what a client says of itself that are kept.
const SAID_LIMIT: u64 = 4096;

/// Opens sessions.
#[derive(Debug)]
pub struct Ssh {
    pub host: Host,
    /// Users on one connection.
    pub per_connection: usize,
    /// Connections that are shared, in order of their users.
    connections: Vec<Shared>,
    /// Where their sockets are.
    pub directory: PathBuf,
    /// Time that a connection may take, ns.
    patience_ns: i64,
}

/// A connection that several users share.
#[derive(Debug, Default)]
struct Shared {
    holder: Option<Holder>,
    ready: bool,
}

#[derive(Debug)]
struct Holder {
    near: UnixStream,
    errors: UnixStream,
}

/// What became of a shared connection.
#[derive(Debug, PartialEq, Eq)]
pub enum News {
    None,
    /// It stands: sessions may begin.
    Ready,
    /// It did not come to be, or is lost; why.
    Lost(String),
}

/// One user's session.
#[derive(Debug)]
pub struct Session {
    near: UnixStream,
    /// The client's end, as long as the connection that it is to use does not stand.
    far: Option<UnixStream>,
    errors: Option<UnixStream>,
    client: Option<i32>,
    heard: bool,
}

impl Ssh {
    /// `directory` must be set before the first session.
    pub fn new(host: Host, per_connection: usize, patience_ns: i64) -> Self {
        Self {
            host,
            per_connection,
            connections: Vec::new(),
            directory: PathBuf::new(),
            patience_ns,
        }
    }

    /// The connection that a user (from 0) shares; None: it has its own.
    fn shared_by(&self, user: usize) -> Option<usize> {
        (self.per_connection > 1).then(|| user / self.per_connection)
    }

    /// The users of a shared connection.
    pub fn users_of(&self, connection: usize) -> std::ops::Range<usize> {
        connection * self.per_connection..(connection + 1) * self.per_connection
    }

    /// True if a further connection must be made for this user.
    pub fn must_connect(&self, user: usize) -> bool {
        self.shared_by(user).is_none_or(|shared| {
            self.connections
                .get(shared)
                .is_none_or(|one| one.holder.is_none())
        })
    }

    fn socket_of(&self, connection: usize) -> PathBuf {
        self.directory.join(format!("ssh-{connection}"))
    }

    /// A session for this user, whose client runs now or as soon as `connect` and `news` have made the connection.
    pub fn open(&self, user: usize, remote: Option<&str>) -> io::Result<Session> {
        let (near, far) = UnixStream::pair()?;
        near.set_nonblocking(true)?;
        let mut session = Session {
            near,
            far: Some(far),
            errors: None,
            client: None,
            heard: false,
        };
        let ready = |shared: usize| self.connections.get(shared).is_some_and(|one| one.ready);
        if self.shared_by(user).is_none_or(ready) {
            self.begin(user, &mut session, remote)?;
        }
        Ok(session)
    }

    /// Starts the client of a session that waited for its connection; gives its process.
    pub fn begin(&self, user: usize, session: &mut Session, remote: Option<&str>) -> io::Result<()> {
        let Some(far) = session.far.take() else {
            return Ok(());
        };
        let control = self.shared_by(user).map(|shared| self.socket_of(shared));
        let (pid, errors) = self.host.session(far, control.as_deref(), remote)?;
        (session.client, session.errors) = (Some(pid), Some(errors));
        Ok(())
    }

    /// Begins to make the connection that this user shares, if it must be made: its number, descriptor and process.
    pub fn connect(&mut self, user: usize) -> io::Result<Option<(usize, RawFd, i32)>> {
        let Some(shared) = self.shared_by(user).filter(|_| self.must_connect(user)) else {
            return Ok(None);
        };
        let socket = self.socket_of(shared);
        // What an earlier holder left.
        let _ = std::fs::remove_file(&socket);
        let (near, far) = UnixStream::pair()?;
        near.set_nonblocking(true)?;
        let (pid, errors) = self.host.holder(far, Some(&socket))?;
        if self.connections.len() <= shared {
            self.connections.resize_with(shared + 1, Shared::default);
        }
        let fd = near.as_raw_fd();
        self.connections[shared] = Shared {
            holder: Some(Holder { near, errors }),
            ready: false,
        };
        Ok(Some((shared, fd, pid)))
    }

    /// Looks at a shared connection.
    pub fn news(&mut self, connection: usize) -> News {
        let Some(one) = self.connections.get_mut(connection) else {
            return News::None;
        };
        let Some(holder) = &mut one.holder else {
            return News::None;
        };
        match holder.near.read(&mut [0u8; 64]) {
            Err(error) if later(&error) => News::None,
            Ok(got) if got > 0 => {
                one.ready = true;
                News::Ready
            }
            _ => {
                let why = explain(&said(&holder.errors), one.ready);
                *one = Shared::default();
                News::Lost(why)
            }
        }
    }

    /// Makes a connection and ends it, so that what is wrong with it is known before anything starts; the error says what.
    pub fn try_out(&self) -> Result<(), String> {
        let (near, far) = UnixStream::pair().map_err(|error| error.to_string())?;
        let (pid, errors) = self.host.holder(far, None).map_err(|error| error.to_string())?;
        let patience = Duration::from_nanos(self.patience_ns.max(1) as u64);
        let told = near
            .set_read_timeout(Some(patience))
            // Unlike a plain read, again after an interruption.
            .and_then(|()| (&near).read_exact(&mut [0u8; 1]));
        crate::processes::send(pid, libc::SIGKILL);
        crate::processes::reap_one(pid);
        match told {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(explain(&said(&errors), false)),
            Err(_) => Err(format!(": no connection within {:.0} s", patience.as_secs_f64())),
        }
    }
}

/// The sockets do not stay behind.
impl Drop for Ssh {
    fn drop(&mut self) {
        for connection in 0..self.connections.len() {
            let _ = std::fs::remove_file(self.socket_of(connection));
        }
    }
}

impl Session {
    pub fn fd(&self) -> RawFd {
        self.near.as_raw_fd()
    }

    /// The client's process, once it runs.
    pub fn client(&self) -> Option<i32> {
        self.client
    }

    pub fn waits_for_connection(&self) -> bool {
        self.far.is_some()
    }

    pub fn receive(&mut self, buffer: &mut [u8]) -> Received {
        match self.near.read(buffer) {
            Ok(got) if got > 0 => {
                self.heard = true;
                Received::Data(got)
            }
            Err(error) if later(&error) => Received::Later,
            _ => {
                let why = explain(&self.errors.as_ref().map(said).unwrap_or_default(), self.heard);
                if self.heard {
                    Received::Ended(format!("closed the session{why}"))
                } else {
                    Received::Refused(format!("gave no session{why}"))
                }
            }
        }
    }

    /// Gives the bytes taken.
    pub fn send(&mut self, text: &[u8]) -> io::Result<usize> {
        match self.near.write(text) {
            Err(error) if later(&error) => Ok(0),
            other => other,
        }
    }
}

/// What a client that has ended said of itself.
fn said(errors: &UnixStream) -> String {
    let mut text = Vec::new();
    // Whoever it started may still hold the other end.
    let _ = errors.set_nonblocking(true);
    let _ = errors.take(SAID_LIMIT).read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// True if every address of this name is one of loopback.
pub fn is_loopback(host: &str, port: u16) -> io::Result<bool> {
    let mut all = (host, port).to_socket_addrs()?.peekable();
    Ok(all.peek().is_some() && all.all(|address| address.ip().is_loopback()))
}
