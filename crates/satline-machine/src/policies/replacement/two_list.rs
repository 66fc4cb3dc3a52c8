//! Two lists with refault distance: Linux's classic replacement.
//!
//! What: pages come into an inactive list; one found referenced at its end goes round again, a second time it becomes
//! active; others are taken. One that comes back after no more evictions and activations than there are active pages
//! becomes active at once. The active list is never the longer.
//! Why: pages touched once pass through without driving out those in use; `paging.readahead` is its other half.
//! Reference: Linux, mm/vmscan.c and mm/workingset.c, 3.15 to 6.0; the model is that of trace replays (`two-list`).

use satline_traces::policies::TwoList;

use super::traced::{self, FirstTouch};
use super::{Replacement, Setup};

pub fn make(setup: Setup) -> Box<dyn Replacement> {
    traced::make::<TwoList>(setup, FirstTouch::Counts)
}
