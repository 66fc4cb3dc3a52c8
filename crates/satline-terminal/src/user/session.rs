//! Lines that begin; over SSH: how many log-ons may be under way, and users who share a connection.

use std::io;

use crate::common::Common;
use crate::emulator::CONNECTIONS;
use crate::environment;
use crate::lines::ssh::Session;
use crate::lines::ssh2::Line;
use crate::lines::{Lines, Link};
use crate::poll::Watch;
use crate::recorder::Outcome;

use super::User;

impl User {
    /// Starts the shell, or begins to connect.
    pub(super) fn open(&self, c: &mut Common) -> io::Result<Link> {
        let link = match &c.lines {
            Lines::Pty(launcher) => {
                let directory = c.directory.join(&self.name);
                let environment = crate::environment::of_user(c, &self.name, &self.nonce, &directory);
                std::fs::create_dir_all(&directory)?;
                Link::Pty(launcher.start(&directory, &environment)?)
            }
            Lines::Remote {
                address,
                protocol,
                echo,
                tls,
            } => Link::connect(*address, *protocol, *echo, tls.as_ref())?,
            Lines::Ssh(_) => Link::Ssh(self.open_session(c)?),
            Lines::Ssh2(_) => Link::Ssh2(self.open_channel(c)?),
        };
        if !link.is_shared() {
            c.poll.add(link.fd(), self.index() as u64, link.watch())?;
        }
        if let Some(pid) = link.pid() {
            c.shells.insert(pid, self.index());
            c.list_user(pid, &self.name);
        }
        Ok(link)
    }

    /// False if too many log-ons are under way: then this one's turn comes later. On a shared connection too: sessions that
    /// all begin at once keep each other, and the connections that are still to be made, waiting until time is out.
    pub(super) fn pass_the_door(&mut self, c: &mut Common) -> bool {
        if matches!(c.lines, Lines::Ssh(_) | Lines::Ssh2(_)) && !self.at_door {
            self.at_door = c.door.enter(self.index());
            return self.at_door;
        }
        true
    }

    /// The log-on is through, or has failed: it keeps nobody waiting any more.
    pub(super) fn through_the_door(&mut self, c: &mut Common) {
        if std::mem::take(&mut self.at_door) {
            c.through_the_door();
        }
    }

    /// A session, which waits where the connection that it shares does not stand yet.
    pub(super) fn open_session(&self, c: &mut Common) -> io::Result<Session> {
        let remote = environment::remote_command(c, &self.name, &self.nonce);
        let Lines::Ssh(ssh) = &mut c.lines else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let made = ssh.connect(self.index())?;
        let session = ssh.open(self.index(), remote.as_deref())?;
        if let Some((connection, fd, pid)) = made {
            c.poll.add(fd, CONNECTIONS + connection as u64, Watch::Input)?;
            c.add_client(pid);
        }
        if let Some(client) = session.client() {
            c.add_client(client);
        }
        Ok(session)
    }

    /// A channel by libssh2, on a connection that is made if there is none.
    fn open_channel(&self, c: &mut Common) -> io::Result<Line> {
        let remote = environment::remote_command(c, &self.name, &self.nonce);
        let Lines::Ssh2(ssh2) = &mut c.lines else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        ssh2.open(self.index(), remote.as_deref(), &c.poll, CONNECTIONS)
    }

    /// Something came on the connection that the user shares: true if there is something of it to look at.
    pub fn has_news(&self) -> bool {
        self.session
            .as_ref()
            .is_some_and(|session| session.link.has_news())
    }

    /// The shared connection stands: the session begins, if it waited for that.
    pub fn connected(&mut self, c: &mut Common) {
        let remote = environment::remote_command(c, &self.name, &self.nonce);
        let index = self.index();
        let (Some(session), Lines::Ssh(ssh)) = (&mut self.session, &c.lines) else {
            return;
        };
        let Link::Ssh(link) = &mut session.link else {
            return;
        };
        if !link.waits_for_connection() {
            return;
        }
        match ssh.begin(index, link, remote.as_deref()) {
            Err(error) => self.lost(c, Outcome::Refused, &error.to_string()),
            Ok(()) => {
                if let Some(client) = link.client() {
                    c.add_client(client);
                }
            }
        }
    }

    /// The shared connection is lost: so is a session that waited for it. Those that were open learn it themselves.
    pub fn not_connected(&mut self, c: &mut Common, why: &str) {
        let waits = self
            .session
            .as_ref()
            .is_some_and(|session| matches!(&session.link, Link::Ssh(link) if link.waits_for_connection()));
        if waits {
            self.lost(c, Outcome::Refused, &format!("gave no connection{why}"));
        }
    }
}
