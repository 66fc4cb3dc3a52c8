//! A picture of storage: what every frame holds, one letter each.

use super::Memory;
use super::chain::NONE;
use super::frames::{Frame, State};

impl Memory {
    /// Appends a letter for each frame, in order of address.
    ///
    /// | letter | frame |
    /// |---|---|
    /// | `.` | on the free list |
    /// | `f` | on the flush list |
    /// | `k` | kept for a user who is logically swapped |
    /// | `<` `>` | its page comes in, goes out |
    /// | `q` `w` | in the page table of a user in queue; changed |
    /// | `o` `d` | of a user out of queue; changed |
    /// | `s` `t` | of all users (shared segments); changed |
    ///
    /// The last six are capitals where the page was referenced since its bit was last reset.
    pub fn map(&self, into: &mut String) {
        into.extend(self.storage.frames.iter().map(|frame| self.letter(frame)));
    }

    fn letter(&self, frame: &Frame) -> char {
        let (clean, changed) = match frame.state {
            State::Free => return '.',
            State::Flush => return 'f',
            State::Kept => return 'k',
            State::ComingIn => return '<',
            State::GoingOut => return '>',
            State::Used => self.letters_of_user(frame.page),
        };
        let storage = &self.storage;
        let letter = if storage.changed.get(frame.page) {
            changed
        } else {
            clean
        };
        match storage.referenced.get(frame.page) {
            true => letter.to_ascii_uppercase(),
            false => letter,
        }
    }

    fn letters_of_user(&self, page: u32) -> (char, char) {
        debug_assert_ne!(page, NONE, "a frame in use has a page");
        let owner = self.storage.pages[page as usize].owner as usize;
        match owner == self.storage.programs.len() {
            true => ('s', 't'),
            false if self.storage.accounts[owner].in_queue => ('q', 'w'),
            false => ('o', 'd'),
        }
    }
}
