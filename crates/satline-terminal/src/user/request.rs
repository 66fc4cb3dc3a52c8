//! Users of an HTTP service: connections that are closed and made anew.

use std::io;

use satline_program::clock::monotonic_ns;

use crate::common::Common;
use crate::lines::Answer;
use crate::recorder::Outcome;

use super::{State, User};

impl User {
    /// The connection stands: that is all of the log-on.
    pub(super) fn stands(&mut self, c: &mut Common) {
        let now = monotonic_ns();
        if let Some(session) = &mut self.session {
            session.reader.stands(now);
        }
        self.watch(c);
        self.look(c, now);
    }

    /// Looks at what was just fed: true if it is no answer and the line was given up; a connection that the server
    /// closes after this answer is done with.
    pub(super) fn answer_is_wrong(&mut self, c: &mut Common) -> bool {
        let Some(session) = &mut self.session else {
            return false;
        };
        if let Some(why) = session.reader.wrong() {
            let why = why.to_owned();
            self.lost(c, Outcome::Unexpected, &why);
            return true;
        }
        let over = |answer: &Answer| answer.is_done() && answer.closes();
        if session.reader.answer().is_some_and(over) {
            c.poll.remove(session.link.fd());
            session.closed = true;
        }
        false
    }

    /// The server has closed the connection: that ends an answer, or the connection is made anew with the next request,
    /// or an answer is lost. `whole`: it was the server's will, so that nothing can be missing.
    pub(super) fn closed(&mut self, c: &mut Common, how: &str, whole: bool, now: i64) {
        let Some(session) = &mut self.session else { return };
        let ended = whole && self.state == State::Waiting && session.reader.closed(now);
        if self.state == State::Waiting && !ended {
            return self.lost(c, Outcome::Died, how);
        }
        c.poll.remove(session.link.fd());
        session.closed = true;
        if ended {
            self.look(c, now);
        }
    }

    /// Begins to connect again; what is sent goes as soon as the connection stands.
    pub(super) fn connect_anew(&mut self, c: &mut Common) -> io::Result<()> {
        let link = self.open(c)?;
        if let Some(session) = &mut self.session {
            // The old one is no longer polled.
            session.watch = link.watch();
            session.link = link;
        }
        Ok(())
    }
}
