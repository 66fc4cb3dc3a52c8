//! Lines over SSH by the host's own libssh2, in this process and without one for each connection; decision 9 has the figures.
//!
//! One user on each connection, or several: each has a channel with a terminal. A connection of one user is polled as
//! that user's line, one of several by its number; it lasts as long as its users do.

mod client;
mod connection;
mod library;

use std::cell::RefCell;
use std::ffi::CString;
use std::io;
use std::ops::Range;
use std::os::fd::RawFd;
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};

pub use client::{Client, Key, Wish};
use connection::Connection;

use super::Received;
use super::ssh::Host;
use crate::poll::{Poll, Watch};

/// Opens lines.
#[derive(Debug)]
pub struct Ssh2 {
    /// The host's own `ssh`, where there is one, by which the owner of another host is asked.
    pub host: Option<Host>,
    client: Rc<Client>,
    /// Users on one connection.
    per_connection: usize,
    /// Connections that several share, in order of their users.
    connections: Vec<Weak<RefCell<Shared>>>,
}

/// A connection and how it is polled.
#[derive(Debug)]
struct Shared {
    connection: Connection,
    /// Its token; None: it is one user's line.
    token: Option<u64>,
    watch: Watch,
}

/// One user's line.
#[derive(Debug)]
pub struct Line {
    shared: Rc<RefCell<Shared>>,
    seat: usize,
}

impl Ssh2 {
    pub fn new(host: Option<Host>, client: Client, per_connection: usize) -> Self {
        Self {
            host,
            client: Rc::new(client),
            per_connection,
            connections: Vec::new(),
        }
    }

    pub fn version(&self) -> &str {
        self.client.version()
    }

    /// All users connect to this host itself.
    pub fn is_loopback(&self) -> bool {
        self.client.wish.address.ip().is_loopback()
    }

    /// A line for this user (from 0), on a connection that is made if there is none; one that several share is polled
    /// by `first` and its number.
    pub fn open(&mut self, user: usize, command: Option<&str>, poll: &Poll, first: u64) -> io::Result<Line> {
        let command = command.map(CString::new).transpose()?;
        let number = user / self.per_connection;
        let stands = self.connections.get(number).and_then(Weak::upgrade);
        let shared = match stands.filter(|shared| shared.borrow().connection.over().is_none()) {
            Some(shared) => shared,
            None => self.connect(number, poll, first)?,
        };
        let seat = shared.borrow_mut().connection.enter(command);
        let line = Line { shared, seat };
        line.shared.borrow_mut().connection.advance();
        line.watch_shared(poll);
        Ok(line)
    }

    fn connect(&mut self, number: usize, poll: &Poll, first: u64) -> io::Result<Rc<RefCell<Shared>>> {
        let connection = Connection::new(&self.client)?;
        let (fd, watch) = (connection.fd(), connection.watch());
        let token = (self.per_connection > 1).then_some(first + number as u64);
        let shared = Rc::new(RefCell::new(Shared {
            connection,
            token,
            watch,
        }));
        if let Some(token) = token {
            poll.add(fd, token, watch)?;
            if self.connections.len() <= number {
                self.connections.resize_with(number + 1, Weak::new);
            }
            self.connections[number] = Rc::downgrade(&shared);
        }
        Ok(shared)
    }

    /// Reads what has come on a connection that several share; gives its users.
    pub fn look(&self, number: usize, poll: &Poll) -> Range<usize> {
        if let Some(shared) = self.connections.get(number).and_then(Weak::upgrade) {
            let shared = &mut *shared.borrow_mut();
            shared.connection.pump();
            shared.connection.take_in();
            shared.rewatch(poll);
        }
        number * self.per_connection..(number + 1) * self.per_connection
    }

    /// Makes a connection and ends it, so that what is wrong with it is known before anything starts; the error says what.
    pub fn try_out(&self, patience: Duration) -> Result<(), String> {
        let began = Instant::now();
        let mut connection = Connection::new(&self.client).map_err(|error| format!(": {error}"))?;
        while !connection.is_up() {
            if let Some(why) = connection.over() {
                return Err(why.to_owned());
            }
            if began.elapsed() > patience {
                return Err(format!(": no connection within {:.0} s", patience.as_secs_f64()));
            }
            std::thread::sleep(Duration::from_millis(1));
            connection.pump();
        }
        Ok(())
    }
}

impl Shared {
    /// Has the poll watch it as it must be now, if several share it.
    fn rewatch(&mut self, poll: &Poll) {
        let watch = self.connection.watch();
        let Some(token) = self.token.filter(|_| watch != self.watch) else {
            return;
        };
        // An error shows at the next read.
        if poll.change(self.connection.fd(), token, watch).is_ok() {
            self.watch = watch;
        }
    }
}

impl Line {
    pub fn fd(&self) -> RawFd {
        self.shared.borrow().connection.fd()
    }

    /// Several users share the connection, which is polled by its number.
    pub fn is_shared(&self) -> bool {
        self.shared.borrow().token.is_some()
    }

    /// True once the user's channel is open; the error if it cannot be.
    pub fn establish(&mut self) -> io::Result<bool> {
        let shared = &mut *self.shared.borrow_mut();
        let stands = shared.connection.stands(self.seat);
        if shared.token.is_some() || !matches!(stands, Ok(false)) {
            return stands;
        }
        shared.connection.pump();
        shared.connection.stands(self.seat)
    }

    /// How the poll is to watch the connection.
    pub fn watch(&self) -> Watch {
        self.shared.borrow().connection.watch()
    }

    /// Has the poll watch a connection that several share as it must be now.
    pub fn watch_shared(&self, poll: &Poll) {
        self.shared.borrow_mut().rewatch(poll);
    }

    /// There is something to read, or to say about the line.
    pub fn has_news(&self) -> bool {
        self.shared.borrow().connection.has_news(self.seat)
    }

    pub fn receive(&mut self, buffer: &mut [u8]) -> Received {
        let shared = &mut *self.shared.borrow_mut();
        if shared.token.is_none() {
            shared.connection.pump();
        }
        shared.connection.receive(self.seat, buffer)
    }

    /// Gives the bytes taken.
    pub fn send(&mut self, text: &[u8]) -> io::Result<usize> {
        self.shared.borrow_mut().connection.send(self.seat, text)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let mut shared = self.shared.borrow_mut();
        shared.connection.leave(self.seat);
        shared.connection.advance();
    }
}
