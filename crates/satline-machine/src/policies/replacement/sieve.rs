//! SIEVE.
//!
//! What: pages stay in the order in which they came; a hand goes from the oldest to the newest, resets the bits of
//! referenced ones, takes the first unreferenced one and stays there. New pages come behind the newest.
//! Why: the core table scan's bit, but new pages are judged soon and what it spares is not moved.
//! Reference: Zhang, Yang, Yue, Vigfusson, Rashmi, NSDI 2024; the model is that of trace replays (`sieve`).

use satline_traces::policies::Sieve;

use super::traced::{self, FirstTouch};
use super::{Replacement, Setup};

pub fn make(setup: Setup) -> Box<dyn Replacement> {
    traced::make::<Sieve>(setup, FirstTouch::Told)
}
