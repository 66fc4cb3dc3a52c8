//! Main storage: frames, page tables, the free list, page-ins and page-outs, and every program as far as it touches pages.
//!
//! Pages have contents from the start of a run: a page that was never touched lies on a paging device as if it had been
//! written before (spec page 8, base system). [`Memory`] is what the model calls; [`Storage`] has the mechanisms, and is
//! what a replacement policy gets to see.

mod areas;
mod bits;
mod block;
mod blocks;
mod build;
mod chain;
mod check;
mod core;
mod decisions;
mod frames;
mod inner;
mod map;
mod memory;
mod migration;
mod periodic_scan;
mod prefetch;
mod read;
mod readahead;
mod refill;
mod sets;
mod sios;

pub use self::core::{Storage, Work};
pub use areas::{Area, Areas, Place};
pub use chain::Chain;
pub use decisions::{Decisions, PageOutDevice, Places, QueueDrop, Replacement, Setup, SlotChoice};
pub use frames::{Frame, State};
pub use memory::{Fault, Memory};
