//! Compressed storage: pages kept in frames of main storage itself, as zram and zswap do.
//!
//! What: nothing turns and nothing moves; many requests are served at once. What it costs is processor time and frames, which
//! the machine file states under `[paging]` `compression`, and not time of the device.
//! Why: the fast tier of a machine without drums.
//! Reference: Linux, drivers/block/zram. The pool has its full size from the start, at one mean ratio.

use super::kinds::Built;
use super::{Figures, Mechanism};
use crate::engine::Span;

pub const FIGURES: &[&str] = &[];

/// As many as anybody asks for.
const EXPOSURES: usize = 64;

#[derive(Debug, Clone)]
struct Compressed;

/// A device that serves at once.
///
/// # Errors
/// None.
pub fn build(_figures: &Figures, _cylinders: u32) -> Built {
    Ok(Box::new(Compressed))
}

impl Mechanism for Compressed {
    fn another(&self) -> Box<dyn Mechanism> {
        Box::new(self.clone())
    }

    fn exposures(&self) -> usize {
        EXPOSURES
    }

    fn position(&mut self, _cylinder: u32) -> Span {
        Span::ZERO
    }

    fn arm(&self) -> Option<u32> {
        None
    }
}
