//! Pages stay, and so do their reference bits.
//!
//! What: at queue-drop nothing is reset: the scan treats pages of users out of queue as those of users in queue.
//! Why: interactive pages live one and a half sweeps of the scan and not half a one; but it runs faster, and steals more.
//! Reference: [T87], tuning experiments on the base system.

use super::QueueDrop;
use crate::policies::replacement::Replacement;
use crate::storage::Storage;

#[derive(Debug)]
struct KeepBits;

pub fn make() -> Box<dyn QueueDrop> {
    Box::new(KeepBits)
}

impl QueueDrop for KeepBits {
    fn dropped(&mut self, _: &mut Storage, _: u32, _: &mut dyn Replacement) {}
}
