//! Global LRU by core-table scan.
//!
//! What: a pointer sweeps over the frames; a referenced frame loses its bit, an unreferenced one is taken, and there the
//! pointer stops.
//! Why: one bit per frame approximates LRU without lists; since bits are reset at queue-drop, pages of users out of
//! queue live half a sweep on average and those of users in queue one and a half.
//! Reference: [T87], base system.

use satline_traces::policies::Hand;

use super::{Replacement, Setup};
use crate::storage::Storage;

#[derive(Debug)]
struct CoreTableScan(Hand);

pub fn make(_setup: Setup) -> Box<dyn Replacement> {
    Box::new(CoreTableScan(Hand::default()))
}

impl Replacement for CoreTableScan {
    fn victim(&mut self, storage: &mut Storage) -> Option<u32> {
        self.0.sweep(storage.frames(), |at| {
            let takeable = storage.scan(at).takeable();
            let referenced = takeable && storage.is_referenced(at);
            if referenced {
                storage.reset(at);
            }
            !takeable || referenced
        })
    }
}
