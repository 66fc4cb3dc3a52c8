//! Answers that say themselves where they end, in place of what a terminal prints.

use crate::lines::Answer;

use super::{EndedBy, Reader, Reading, Status};

#[derive(Debug, Default)]
pub(super) struct Messages {
    pub(super) answer: Answer,
    pub(super) bytes: u64,
    /// What has come is none.
    wrong: Option<String>,
}

impl Reader {
    /// The reader of one session with an HTTP service.
    pub fn of_messages() -> Self {
        Self {
            messages: Some(Box::default()),
            ..Self::new(None, 0, false)
        }
    }

    /// The answers of an HTTP service.
    pub fn answer(&self) -> Option<&Answer> {
        self.messages.as_ref().map(|messages| &messages.answer)
    }

    /// Why what has come is no answer.
    pub fn wrong(&self) -> Option<&str> {
        self.messages.as_ref()?.wrong.as_deref()
    }

    /// The line stands, and nothing is printed on it before something is asked.
    pub fn stands(&mut self, now_ns: i64) {
        self.reading.status = Status::Complete(now_ns, EndedBy::Message);
    }

    /// The connection was closed: true if that ended an answer.
    pub fn closed(&mut self, now_ns: i64) -> bool {
        let ended = self
            .messages
            .as_mut()
            .is_some_and(|messages| messages.answer.closed());
        if ended {
            self.stands(now_ns);
        }
        ended
    }
}

impl Messages {
    pub(super) fn feed(&mut self, data: &[u8], reading: &mut Reading, now_ns: i64) {
        (reading.surely, self.bytes) = (true, self.bytes + data.len() as u64);
        reading.reaction_ns.get_or_insert(now_ns);
        let fed = self.answer.feed(data, |part| reading.keep(part));
        match fed {
            Err(why) => self.wrong = Some(why),
            Ok(()) if self.answer.is_done() => reading.status = Status::Complete(now_ns, EndedBy::Message),
            Ok(()) => {}
        }
    }
}
