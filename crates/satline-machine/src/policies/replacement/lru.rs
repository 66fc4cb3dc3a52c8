//! Least recently used, exactly.
//!
//! What: the page whose last touch is longest ago is taken; every single touch is known.
//! Why: what one bit per frame approximates; no machine of the time could do it.
//! Reference: [T87] names LRU as the aim of the core table scan.

use super::{Replacement, Setup, fifo::take_first};
use crate::storage::{Chain, Storage};

/// In the order of the last touch.
#[derive(Debug)]
struct Lru(Chain);

pub fn make(setup: Setup) -> Box<dyn Replacement> {
    Box::new(Lru(Chain::new(setup.frames)))
}

impl Replacement for Lru {
    fn victim(&mut self, storage: &mut Storage) -> Option<u32> {
        take_first(&mut self.0, storage)
    }

    fn came(&mut self, frame: u32, _page: u32) {
        self.0.push_back(frame);
    }

    fn left(&mut self, frame: u32) {
        self.0.remove(frame);
    }

    fn every_touch(&self) -> bool {
        true
    }

    fn touched(&mut self, frame: u32) {
        self.0.remove(frame);
        self.0.push_back(frame);
    }
}
