//! Replacement by last in, first out.
//!
//! What: the page that came last is taken, referenced or not.
//! Why: it shows what it costs to take just what is needed now.
//! Reference: none; a textbook's stack.

use super::{Chain, Replacement, Setup, Storage};

#[derive(Debug)]
struct LastIn(Chain);

pub fn make(setup: Setup) -> Box<dyn Replacement> {
    Box::new(LastIn(Chain::new(setup.frames)))
}

impl Replacement for LastIn {
    fn victim(&mut self, storage: &mut Storage) -> Option<u32> {
        let mut next = self.0.first();
        while let Some(frame) = next {
            if storage.scan(frame).takeable() {
                self.0.remove(frame);
                return Some(frame);
            }
            next = self.0.after(frame);
        }
        None
    }

    fn came(&mut self, frame: u32, _page: u32) {
        self.0.push_front(frame);
    }

    fn left(&mut self, frame: u32) {
        self.0.remove(frame);
    }
}
