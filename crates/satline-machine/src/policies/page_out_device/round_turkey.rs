//! The same device for a block of pages, then the next.
//!
//! What: page-outs go to the same device up to eight times in a row, unless a cylinder boundary is reached, and such a
//! block is one start-I/O; then it is the next device's turn.
//! Why: with slots that lie together eight pages cost one start-I/O and hardly a seek more than one.
//! Reference: [T87], round-turkey prototype.

use super::{PageOutDevice, round_robin};
use crate::storage::Area;

/// [T87]: up to eight times in a row.
const IN_A_ROW: usize = 8;

/// The turns are those of [`round_robin`]: it is asked once for each block.
#[derive(Debug)]
struct RoundTurkey(Box<dyn PageOutDevice>);

pub fn make() -> Box<dyn PageOutDevice> {
    Box::new(RoundTurkey(round_robin::make()))
}

impl PageOutDevice for RoundTurkey {
    fn choose(&mut self, areas: &[Area], tier: u32) -> usize {
        self.0.choose(areas, tier)
    }

    fn in_a_row(&self) -> usize {
        IN_A_ROW
    }
}
