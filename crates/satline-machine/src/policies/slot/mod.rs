//! Which slot of an area a page goes to.

mod moving_cursor;
mod one_edge;
mod zig_zag;

use super::Entry;
pub use crate::storage::SlotChoice;

/// Makes one for so many areas.
pub type Make = fn(areas: usize) -> Box<dyn SlotChoice>;

#[rustfmt::skip]
pub const POLICIES: &[Entry<Make>] = &[
    Entry { name: "zig-zag", source: include_str!("zig_zag.rs"), make: zig_zag::make },
    Entry { name: "moving-cursor", source: include_str!("moving_cursor.rs"), make: moving_cursor::make },
    Entry { name: "one-edge", source: include_str!("one_edge.rs"), make: one_edge::make },
];
