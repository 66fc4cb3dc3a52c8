//! Always flush, first in, first out.
//!
//! What: at queue-drop all of the user's own pages go to the flush list; whose went there first are taken first.
//! Why: frames are at hand without a scan, and pages of users in queue are spared; but who comes back soon finds his gone.
//! Reference: [T87], tuning experiments on the base system.

use super::{QueueDrop, flush};
use crate::policies::replacement::Replacement;
use crate::storage::Storage;

#[derive(Debug)]
struct FlushFifo;

pub fn make() -> Box<dyn QueueDrop> {
    Box::new(FlushFifo)
}

impl QueueDrop for FlushFifo {
    fn dropped(&mut self, storage: &mut Storage, user: u32, replacement: &mut dyn Replacement) {
        flush(storage, user, replacement, Storage::to_flush_list);
    }
}
