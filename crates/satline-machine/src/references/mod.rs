//! Which pages programs refer to, and when, in their own (virtual) time.
//!
//! A phase of a transaction has a set of pages. The set's i-th of n pages (i from 0) is touched first at
//! T·(i/n)^(1/growth) of a phase of length T, so that the working set after a part t of it is n·t^growth. From then on
//! a page is *in use* until the phase ends, and is touched again after exponential intervals.
//!
//! There is no event per reference. A touch of a page whose reference bit is on changes nothing; so the next touch is
//! drawn only when somebody wants to know of it again: the bit was reset, or the page was taken. Intervals are without
//! memory, so the touch drawn then has the law of the touch that would have come. Faults are exact, hits cost nothing.
//!
//! Which pages are touched first, and when, depends on nothing but the streams; only repeated touches, which have a
//! stream of their own, depend on paging.

mod kind;
mod program;
mod sets;

pub use kind::Kind;
pub use program::{Program, Touch};
pub use sets::Sets;
