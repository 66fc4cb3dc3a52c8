//! Dispatching by last come, first served.
//!
//! What: who became ready last runs first; an interrupted user goes on after those who have come since.
//! Why: it shows what it costs when those who wait longest wait longer.
//! Reference: none; a textbook's stack.

use super::{Dispatch, Ready};

#[derive(Debug)]
struct LastCome(Vec<u32>);

pub fn make(users: usize, _processors: usize) -> Box<dyn Dispatch> {
    Box::new(LastCome(Vec::with_capacity(users)))
}

impl Dispatch for LastCome {
    fn enter(&mut self, ready: Ready) {
        self.0.push(ready.user);
    }

    fn next(&mut self, _processor: usize) -> Option<u32> {
        self.0.pop()
    }

    fn waiting(&self) -> usize {
        self.0.len()
    }

    fn has_for(&self, _processor: usize) -> bool {
        !self.0.is_empty()
    }

    fn yields(&self, _: &Ready, _: &Ready) -> bool {
        false
    }
}
