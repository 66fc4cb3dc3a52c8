//! The marks that the shell prints about its prompt and about each line that it runs.

use super::{EndedBy, Reading, Status};

impl Reading {
    /// The letter and arguments of one of our shell's marks.
    pub(super) fn mark<'a>(&self, osc: &'a [u8]) -> Option<(u8, Option<&'a [u8]>)> {
        let aid = self.aid.as_deref()?;
        let mut fields = osc.split(|&byte| byte == b';');
        if fields.next()? != b"133" {
            return None;
        }
        let letter = fields.next()?;
        let last = fields.next_back()?;
        (letter.len() == 1 && last == aid).then(|| (letter[0], fields.next()))
    }

    pub(super) fn take_mark(&mut self, mark: (u8, Option<&[u8]>), start: u64, end: u64, now_ns: i64) {
        if matches!(self.status, Status::Complete(..)) || !self.sent {
            return;
        }
        match mark {
            (b'C', _) => {
                self.end_echo(end);
                self.status = Status::Pending;
                self.done_mark = false;
            }
            // A prompt that is merely redrawn while the line is echoed has no line end before it.
            (b'D', status) if self.echo_over || self.line_ends || self.wait.inside => {
                self.done_mark = true;
                self.prompt_start = false;
                self.output_end = start;
                self.exit_status = status.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
                self.reaction_ns = self.reaction_ns.or(Some(now_ns));
            }
            (b'A', _) => self.prompt_start = self.done_mark,
            (b'B', _) if self.prompt_start => {
                self.surely = true;
                self.status = Status::Complete(now_ns, EndedBy::Marks);
            }
            _ => {}
        }
    }
}
