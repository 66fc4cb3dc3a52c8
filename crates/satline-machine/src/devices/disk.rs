//! Moving-arm disk: 3330, 3340, 3350, 3380 and their like.
//!
//! What: one arm over many cylinders; one request at a time.
//! Why: the seek is what page allocation can save, so it depends on the distance and not only on a mean.
//! Reference: spec page 7, devices; [T87] on what the placement of slots does to it.

use std::sync::Arc;

use super::kinds::Built;
use super::{Figures, Mechanism, SeekCurve};
use crate::engine::Span;

pub const FIGURES: &[&str] = &["seek_min_ms", "seek_mean_ms", "seek_max_ms"];

#[derive(Debug, Clone)]
struct Disk {
    seek: Arc<SeekCurve>,
    arm: u32,
}

/// A disk whose arm stands in the middle.
///
/// # Errors
/// A seek figure is missing or impossible.
pub fn build(figures: &Figures, cylinders: u32) -> Built {
    let ms = |key| figures.within(key, 0.0, 10_000.0);
    let seek = SeekCurve::new(
        cylinders,
        ms("seek_min_ms")?,
        ms("seek_mean_ms")?,
        ms("seek_max_ms")?,
    )
    .map_err(|error| figures.located(error))?;
    Ok(Box::new(Disk {
        seek: seek.into(),
        arm: cylinders / 2,
    }))
}

impl Mechanism for Disk {
    fn another(&self) -> Box<dyn Mechanism> {
        Box::new(self.clone())
    }

    fn exposures(&self) -> usize {
        1
    }

    fn position(&mut self, cylinder: u32) -> Span {
        let time = self.seek.between(self.arm, cylinder);
        self.arm = cylinder;
        time
    }

    fn arm(&self) -> Option<u32> {
        Some(self.arm)
    }
}
