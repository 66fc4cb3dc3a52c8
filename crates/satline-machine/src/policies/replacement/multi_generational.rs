//! Multi-generational LRU: Linux's replacement since 6.1.
//!
//! What: pages belong to two to four generations; when two are left all bits are read, and referenced pages begin a new one.
//! The oldest generation gives pages away, but for those referenced since. Pages read ahead come into the oldest.
//! Why: bits read in bulk and seldom tell more than two ages.
//! Reference: Linux, mm/vmscan.c, lru_gen; the model is that of trace replays (`generations`).

use satline_traces::policies::Generations;

use super::traced::{self, FirstTouch};
use super::{Replacement, Setup};

pub fn make(setup: Setup) -> Box<dyn Replacement> {
    traced::make::<Generations>(setup, FirstTouch::Counts)
}
