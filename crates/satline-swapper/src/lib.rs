//! The swapper: working sets of idle users are swapped out in order of address and read back as sets when they return. [T87]
//!
//! The kernel swaps page by page, in the order in which reclaim meets them. This program watches users (control groups,
//! process trees), records the working set of a stay at queue-drop, writes pages out in order when storage is short, and
//! prepages a limited number of swap sets at queue-add. [`decision`] alone decides; everything else looks or acts.

pub mod abilities;
mod admission;
pub mod amount;
pub mod book;
pub mod budget;
pub mod calls;
pub mod daemon;
pub mod decision;
#[cfg(test)]
mod decision_examples;
pub mod face;
pub mod hold;
pub mod jobs;
pub mod meter;
pub mod metrics;
pub mod options;
pub mod pages;
pub mod policy;
mod policy_check;
pub mod population;
pub mod pressure;
pub mod process;
pub mod recorder;
pub mod replay;
pub mod room;
pub mod roots;
pub mod runs;
pub mod seen;
pub mod sentry;
pub mod stat;
pub mod storage;
pub mod tiers;
pub mod user;
pub mod workers;
