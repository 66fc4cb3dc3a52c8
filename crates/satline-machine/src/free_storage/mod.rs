//! The control program's own storage: blocks for its control blocks, buffers and channel programs, got and given back [TB84].
//!
//! [`MainChain`] is the chain of free blocks in the order of their addresses; before it stand the subpools of the policy in force,
//! each a stack of free blocks of one size. Fragmentation, and with it the length of a search, is what requests make of it.

mod chain;
mod manager;

pub use chain::{Free, MainChain};
pub use manager::{Block, FreeStorage, Prices, StorageCounts};
