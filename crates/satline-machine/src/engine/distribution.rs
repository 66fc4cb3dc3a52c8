//! Lengths of time by chance.

use rand::RngExt;
use rand_distr::{Distribution as _, Exp1, StandardNormal};
use satline_program::Error;

use super::{Span, Stream};

/// A distribution of lengths of time. Parameters are in seconds.
///
/// A draw is a fixed function of standard draws, so that two machines that differ in a mean only get the same
/// lengths, scaled, from the same stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution(Form);

#[derive(Debug, Clone, PartialEq)]
enum Form {
    Fixed(f64),
    Uniform { low: f64, width: f64 },
    Exponential { mean: f64 },
    LogNormal { mu: f64, sigma: f64 },
    Hyperexponential { first: f64, means: [f64; 2] },
    Empirical(Box<[(f64, f64)]>),
}

impl Distribution {
    /// Always the same.
    ///
    /// # Errors
    /// It is negative or not finite.
    pub fn fixed(seconds: f64) -> Result<Self, Error> {
        check(&[seconds], "fixed")?;
        Ok(Self(Form::Fixed(seconds)))
    }

    /// Equally likely from low to high.
    ///
    /// # Errors
    /// One is negative or not finite, or they are in the wrong order.
    pub fn uniform(low: f64, high: f64) -> Result<Self, Error> {
        check(&[low, high, high - low], "uniform")?;
        Ok(Self(Form::Uniform {
            low,
            width: high - low,
        }))
    }

    /// Without memory: variance = mean².
    ///
    /// # Errors
    /// The mean is negative or not finite.
    pub fn exponential(mean: f64) -> Result<Self, Error> {
        check(&[mean], "exponential")?;
        Ok(Self(Form::Exponential { mean }))
    }

    /// Lognormal with this mean and standard deviation: σ² = ln(1 + sd²/mean²), µ = ln(mean) − σ²/2.
    ///
    /// # Errors
    /// The mean is not positive, or one is negative or not finite.
    pub fn lognormal(mean: f64, sd: f64) -> Result<Self, Error> {
        check(&[mean, sd, 1.0 / mean], "lognormal")?;
        let sigma2 = (1.0 + (sd / mean).powi(2)).ln();
        Ok(Self(Form::LogNormal {
            mu: mean.ln() - sigma2 / 2.0,
            sigma: sigma2.sqrt(),
        }))
    }

    /// Two exponentials: the first with this probability, else the second. More spread than one exponential.
    ///
    /// # Errors
    /// The probability is not within 0 to 1, or a mean is negative or not finite.
    pub fn hyperexponential(first: f64, means: [f64; 2]) -> Result<Self, Error> {
        check(&[first, 1.0 - first, means[0], means[1]], "hyperexponential")?;
        Ok(Self(Form::Hyperexponential { first, means }))
    }

    /// A measured distribution: (share of values at or below, value), straight lines between. The first share is 0,
    /// the last 1.
    ///
    /// # Errors
    /// Shares do not rise from 0 to 1, or values are negative, not finite or fall.
    pub fn empirical(table: &[(f64, f64)]) -> Result<Self, Error> {
        let ends = [table.first().map(|row| row.0), table.last().map(|row| row.0)];
        if ends != [Some(0.0), Some(1.0)] {
            return Err(Error::input(
                "empirical distribution: the shares do not go from 0 to 1",
                "give rows (share, seconds), the first with share 0 and the last with share 1",
            ));
        }
        for rows in table.windows(2) {
            let ((from, low), (to, high)) = (rows[0], rows[1]);
            // A share twice would be a jump without a width to draw from.
            check(&[low, high, high - low, 1.0 / (to - from)], "empirical")?;
        }
        Ok(Self(Form::Empirical(table.into())))
    }

    /// The mean, s.
    pub fn mean_s(&self) -> f64 {
        match &self.0 {
            Form::Fixed(seconds) => *seconds,
            Form::Uniform { low, width } => low + width / 2.0,
            Form::Exponential { mean } => *mean,
            Form::LogNormal { mu, sigma } => (mu + sigma * sigma / 2.0).exp(),
            Form::Hyperexponential { first, means } => first * means[0] + (1.0 - first) * means[1],
            Form::Empirical(table) => table
                .windows(2)
                .map(|rows| (rows[1].0 - rows[0].0) * (rows[0].1 + rows[1].1) / 2.0)
                .sum(),
        }
    }

    /// One draw.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> Span {
        Span::from_seconds(match &self.0 {
            Form::Fixed(seconds) => *seconds,
            Form::Uniform { low, width } => low + width * stream.random::<f64>(),
            Form::Exponential { mean } => mean * standard_exponential(stream),
            Form::LogNormal { mu, sigma } => {
                let normal: f64 = StandardNormal.sample(stream);
                (mu + sigma * normal).exp()
            }
            Form::Hyperexponential { first, means } => {
                let which = usize::from(stream.random::<f64>() >= *first);
                means[which] * standard_exponential(stream)
            }
            Form::Empirical(table) => interpolate(table, stream.random()),
        })
    }
}

#[inline]
fn standard_exponential(stream: &mut Stream) -> f64 {
    Exp1.sample(stream)
}

/// The value at a share within 0 to 1.
fn interpolate(table: &[(f64, f64)], share: f64) -> f64 {
    let above = table.partition_point(|row| row.0 <= share).min(table.len() - 1);
    let ((from, low), (to, high)) = (table[above - 1], table[above]);
    low + (high - low) * (share - from) / (to - from)
}

fn check(parameters: &[f64], name: &str) -> Result<(), Error> {
    // A century: beyond it the clock's end comes near.
    if parameters.iter().all(|value| (0.0..=3.2e9).contains(value)) {
        return Ok(());
    }
    Err(Error::input(
        format!("{name} distribution: a parameter is impossible"),
        "lengths of time are finite, not negative, under a century, and in rising order; shares are within 0 to 1",
    ))
}
