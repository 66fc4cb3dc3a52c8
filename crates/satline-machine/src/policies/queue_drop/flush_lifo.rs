//! Always flush, last in, first out.
//!
//! What: at queue-drop all of the user's own pages go to the flush list; whose went there last are taken first.
//! Why: who has been out for long keeps his pages longer than with flush-fifo, and who has just left loses his.
//! Reference: [T87], tuning experiments on the base system.

use super::{QueueDrop, flush};
use crate::policies::replacement::Replacement;
use crate::storage::Storage;

#[derive(Debug)]
struct FlushLifo;

pub fn make() -> Box<dyn QueueDrop> {
    Box::new(FlushLifo)
}

impl QueueDrop for FlushLifo {
    fn dropped(&mut self, storage: &mut Storage, user: u32, replacement: &mut dyn Replacement) {
        flush(storage, user, replacement, Storage::to_flush_list_front);
    }
}
