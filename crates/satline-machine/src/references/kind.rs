//! The figures of a kind of transaction, on this machine.

use rand::RngExt;
use rand_distr::{Distribution as _, StandardNormal};
use satline_program::Error;

use crate::configuration::{Locality, TransactionKind};
use crate::engine::Stream;

/// Sets of fewer pages find their powers in a table.
const TABLE: u32 = 1024;

/// What a kind of transaction touches. Virtual times are in ns on this machine.
#[derive(Debug, Clone)]
pub struct Kind {
    /// Lognormal size of the set: µ and σ of its logarithm.
    size: (f64, f64),
    pub repeatability: f64,
    exponent: f64,
    /// n^(1/growth) for n from 0: powers are the dearest part of a touch.
    powers: Box<[f64]>,
    pub reference_interval_ns: f64,
    pub phase_ns: u64,
    pub changed: f64,
    pub shared_pages: u32,
}

impl Kind {
    /// The figures of a transaction kind on a processor of this speed (370/158-3 = 1).
    ///
    /// # Errors
    /// A figure is impossible.
    pub fn new(of: &TransactionKind, speed: f64) -> Result<Self, Error> {
        let Locality {
            working_set_pages: mean,
            working_set_sd: sd,
            repeatability,
            growth,
            ..
        } = of.locality;
        let limits = [
            ("working_set_pages", mean, 0.0..=1e6),
            ("working_set_sd", sd, 0.0..=1e6),
            ("repeatability", repeatability, 0.0..=1.0),
            ("growth", growth, 1e-3..=1e3),
            ("changed", of.locality.changed, 0.0..=1.0),
        ];
        if let Some((key, value, within)) = limits.iter().find(|(_, value, within)| !within.contains(value)) {
            return Err(Error::input(
                format!("transaction {:?}: locality.{key} is {value}", of.name),
                format!("give a value from {} to {}", within.start(), within.end()),
            ));
        }
        let variance = (1.0 + (sd / mean.max(1e-9)).powi(2)).ln();
        let interval = of.locality.reference_interval.ns() as f64 / speed;
        Ok(Self {
            size: (mean.max(1e-9).ln() - variance / 2.0, variance.sqrt()),
            repeatability,
            exponent: 1.0 / growth,
            powers: (0..TABLE).map(|n| f64::from(n).powf(1.0 / growth)).collect(),
            // With 0 a page would be touched without end at one instant.
            reference_interval_ns: interval.max(1.0),
            phase_ns: (of.locality.phase.ns() as f64 / speed) as u64,
            changed: of.locality.changed,
            shared_pages: of.locality.shared_pages,
        })
    }

    /// The size of a set; its mean and standard deviation are those stated, but for what the limits cut off.
    pub fn draw_size(&self, stream: &mut Stream, most: u32) -> u32 {
        let (mu, sigma) = self.size;
        let normal: f64 = StandardNormal.sample(stream);
        // Rounded up or down by chance, so that the mean stays.
        let size = (mu + sigma * normal).exp() + stream.random::<f64>();
        (size as u32).clamp(1, most.max(1))
    }

    /// The part of a phase after which page `number` of so many is touched first: (number/pages)^(1/growth).
    #[inline]
    pub fn offset(&self, number: usize, pages: usize) -> f64 {
        match self.powers.get(pages) {
            Some(whole) => self.powers[number] / whole,
            None => (number as f64 / pages as f64).powf(self.exponent),
        }
    }
}
