//! Pages stay, their reference bits are off.
//!
//! What: at queue-drop the reference bits of the user's pages are reset, and the pages stay where they are.
//! Why: until the scan comes by they are there for his next stay; then they go before pages of users in queue.
//! Reference: [T87], base system.

use super::QueueDrop;
use crate::policies::replacement::{Replacement, reset_touched};
use crate::storage::Storage;

#[derive(Debug)]
struct ResetBits;

pub fn make() -> Box<dyn QueueDrop> {
    Box::new(ResetBits)
}

impl QueueDrop for ResetBits {
    fn dropped(&mut self, storage: &mut Storage, user: u32, _: &mut dyn Replacement) {
        reset_touched(storage, user);
    }
}
