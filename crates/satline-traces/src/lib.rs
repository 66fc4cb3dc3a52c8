//! Page-reference traces: read from what tools write, kept in a compact form, and replayed against replacement policies.
//!
//! Pages are renumbered 0, 1, 2 … once ([`Trace`]), so that every table of a replay is an array. A policy knows frames
//! ([`policies::Policy`]) and not how a page is found in one; so it can serve a simulated machine too.

#![forbid(unsafe_code)]

pub mod compact;
pub mod distances;
pub mod formats;
pub mod options;
pub mod policies;
pub mod program;
pub mod replay;
mod trace;

pub use trace::{Builder, MOST_REFERENCES, Sink, Trace};
