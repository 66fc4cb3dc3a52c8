//! Which device a page goes to.

mod round_robin;
mod round_turkey;

use super::Entry;
pub use crate::storage::PageOutDevice;

/// Makes one.
pub type Make = fn() -> Box<dyn PageOutDevice>;

#[rustfmt::skip]
pub const POLICIES: &[Entry<Make>] = &[
    Entry { name: "round-robin", source: include_str!("round_robin.rs"), make: round_robin::make },
    Entry { name: "round-turkey", source: include_str!("round_turkey.rs"), make: round_turkey::make },
];
