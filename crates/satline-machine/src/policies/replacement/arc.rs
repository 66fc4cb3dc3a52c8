//! ARC: adaptive replacement.
//!
//! What: pages touched once and pages touched again are two LRU lists, each with ghosts of those that left it; a ghost that
//! is wanted again moves the target for the first list's share.
//! Why: recency against frequency, balanced by its own mistakes.
//! Reference: Megiddo, Modha, FAST 2003; the model is that of trace replays (`arc`).

use satline_traces::policies::Arc;

use super::traced::{self, FirstTouch};
use super::{Replacement, Setup};

pub fn make(setup: Setup) -> Box<dyn Replacement> {
    traced::make::<Arc>(setup, FirstTouch::Told)
}
