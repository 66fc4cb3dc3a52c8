//! First in, first out.
//!
//! What: the page that has been in use longest is taken, referenced or not.
//! Why: the peer that knows nothing of references; what a better one gains is measured against it.
//! Reference: [T87], tuning experiments on the flush list.

use super::{Replacement, Setup};
use crate::storage::{Chain, Storage};

#[derive(Debug)]
struct Fifo(Chain);

pub fn make(setup: Setup) -> Box<dyn Replacement> {
    Box::new(Fifo(Chain::new(setup.frames)))
}

impl Replacement for Fifo {
    fn victim(&mut self, storage: &mut Storage) -> Option<u32> {
        take_first(&mut self.0, storage)
    }

    fn came(&mut self, frame: u32, _page: u32) {
        self.0.push_back(frame);
    }

    fn left(&mut self, frame: u32) {
        self.0.remove(frame);
    }
}

/// Takes the first takeable frame out of a list of all in use.
pub(super) fn take_first(list: &mut Chain, storage: &mut Storage) -> Option<u32> {
    let mut next = list.first();
    while let Some(frame) = next {
        if storage.scan(frame).takeable() {
            list.remove(frame);
            return Some(frame);
        }
        next = list.after(frame);
    }
    None
}
