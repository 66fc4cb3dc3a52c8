//! Which device a page goes to.

mod round_robin;
mod round_turkey;

use std::fmt::Debug;

use super::Entry;
use crate::storage::Area;

/// Which device a page goes to.
pub trait PageOutDevice: Debug + Send {
    /// An area of this tier that has a free slot; there is at least one.
    fn choose(&mut self, areas: &[Area], tier: u32) -> usize;

    /// It is asked once for so many page-outs at most: those that follow the first go to the same area as long as their
    /// slots are on the same cylinder, and with it in one start-I/O. 1: every page goes alone, and at once.
    fn in_a_row(&self) -> usize {
        1
    }
}

/// Makes one.
pub type Make = fn() -> Box<dyn PageOutDevice>;

#[rustfmt::skip]
pub const POLICIES: &[Entry<Make>] = &[
    Entry { name: "round-robin", source: include_str!("round_robin.rs"), make: round_robin::make },
    Entry { name: "round-turkey", source: include_str!("round_turkey.rs"), make: round_turkey::make },
];
