//! Global LRU by core-table scan.
//!
//! What: a pointer sweeps over the frames; a referenced frame loses its bit, an unreferenced one is taken, and there the
//! pointer stops.
//! Why: one bit per frame approximates LRU without lists; since bits are reset at queue-drop, pages of users out of
//! queue live half a sweep on average and those of users in queue one and a half.
//! Reference: [T87], base system.

use super::{Replacement, Setup};
use crate::storage::Storage;

#[derive(Debug)]
struct CoreTableScan {
    pointer: u32,
}

pub fn make(_setup: Setup) -> Box<dyn Replacement> {
    Box::new(CoreTableScan { pointer: 0 })
}

impl Replacement for CoreTableScan {
    fn victim(&mut self, storage: &mut Storage) -> Option<u32> {
        // The first sweep resets every bit, so the second finds a frame if one can be taken at all.
        for _ in 0..2 * storage.frames() {
            let at = self.pointer;
            self.pointer = (at + 1) % storage.frames();
            if !storage.scan(at).takeable() {
                continue;
            }
            if !storage.is_referenced(at) {
                return Some(at);
            }
            storage.reset(at);
        }
        None
    }
}
