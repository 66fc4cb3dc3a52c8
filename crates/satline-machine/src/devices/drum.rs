//! Fixed-head drum: 2305-2.
//!
//! What: a head for every track, so no seek; several requests are accepted at once, and the one whose sector comes
//! first is served first.
//! Why: queueing by sector lets a loaded drum move nearly a page in every slot that passes.
//! Reference: spec page 7, devices.

use super::kinds::Built;
use super::{Figures, Mechanism};
use crate::engine::Span;

pub const FIGURES: &[&str] = &["exposures"];

#[derive(Debug, Clone)]
struct Drum {
    exposures: usize,
}

/// A drum that accepts so many requests at once.
///
/// # Errors
/// The number of exposures is missing or impossible.
pub fn build(figures: &Figures, _cylinders: u32) -> Built {
    let exposures = figures.count("exposures", 64)? as usize;
    Ok(Box::new(Drum { exposures }))
}

impl Mechanism for Drum {
    fn another(&self) -> Box<dyn Mechanism> {
        Box::new(self.clone())
    }

    fn exposures(&self) -> usize {
        self.exposures
    }

    fn position(&mut self, _cylinder: u32) -> Span {
        Span::ZERO
    }

    fn arm(&self) -> Option<u32> {
        None
    }
}
