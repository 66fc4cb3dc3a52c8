//! Which slot of an area a page goes to.

mod moving_cursor;
mod one_edge;
mod zig_zag;

use std::fmt::Debug;

use super::Entry;
use crate::storage::Area;

/// Which slot of an area a page goes to.
pub trait SlotChoice: Debug + Send {
    /// A free slot of the area, numbered from its first; there is at least one. `number` is the area's place among all.
    /// Asked twice before the slot is taken it gives the same one: the first time may be to see how near it is.
    fn choose(&mut self, number: usize, area: &Area) -> u32;
}

/// Makes one for so many areas.
pub type Make = fn(areas: usize) -> Box<dyn SlotChoice>;

#[rustfmt::skip]
pub const POLICIES: &[Entry<Make>] = &[
    Entry { name: "zig-zag", source: include_str!("zig_zag.rs"), make: zig_zag::make },
    Entry { name: "moving-cursor", source: include_str!("moving_cursor.rs"), make: moving_cursor::make },
    Entry { name: "one-edge", source: include_str!("one_edge.rs"), make: one_edge::make },
];
