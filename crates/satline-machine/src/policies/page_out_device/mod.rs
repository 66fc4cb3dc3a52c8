//! Which device a page goes to.

mod round_robin;

use std::fmt::Debug;

use super::Entry;
use crate::storage::Area;

/// Which device a page goes to.
pub trait PageOutDevice: Debug + Send {
    /// An area of this tier that has a free slot; there is at least one.
    fn choose(&mut self, areas: &[Area], tier: u32) -> usize;
}

/// Makes one.
pub type Make = fn() -> Box<dyn PageOutDevice>;

#[rustfmt::skip]
pub const POLICIES: &[Entry<Make>] = &[
    Entry { name: "round-robin", source: include_str!("round_robin.rs"), make: round_robin::make },
];
