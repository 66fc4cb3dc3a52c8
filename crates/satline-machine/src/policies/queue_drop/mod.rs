//! What becomes of a user's own pages when he leaves the queue.
//!
//! The replacement policy hears of the queue-drop first and may take pages for itself; the policy here has the rest.

mod flush_fifo;
mod flush_lifo;
mod keep_bits;
mod reset_bits;

use super::Entry;
use crate::configuration::QUEUE_DROP_DEFAULT;
pub use crate::storage::QueueDrop;
use crate::storage::{Replacement, Storage};

/// Makes one.
pub type Make = fn() -> Box<dyn QueueDrop>;

#[rustfmt::skip]
pub const POLICIES: &[Entry<Make>] = &[
    Entry { name: QUEUE_DROP_DEFAULT, source: include_str!("reset_bits.rs"), make: reset_bits::make },
    Entry { name: "keep-bits", source: include_str!("keep_bits.rs"), make: keep_bits::make },
    Entry { name: "flush-fifo", source: include_str!("flush_fifo.rs"), make: flush_fifo::make },
    Entry { name: "flush-lifo", source: include_str!("flush_lifo.rs"), make: flush_lifo::make },
];

/// Hands each of the user's own frames that can be taken to `put`, in the order of his pages.
fn flush(
    storage: &mut Storage,
    user: u32,
    replacement: &mut dyn Replacement,
    put: fn(&mut Storage, frame: u32),
) {
    for page in 0..storage.own_pages(user) {
        let frame = storage.frame_of(user, page);
        // One that is just being written stays with him.
        if let Some(frame) = frame.filter(|&frame| storage.frame(frame).takeable()) {
            put(storage, frame);
            replacement.left(frame);
        }
    }
}
