//! Random streams: one for each (seed, user, purpose), so that a change in one user's or one purpose's draws
//! leaves all others as they were.

use rand::RngExt;
use rand_distr::{Distribution, Exp, LogNormal};
use rand_pcg::Pcg64;

/// What a stream is for.
#[derive(Debug, Clone, Copy)]
pub enum Purpose {
    Command = 1,
    Think = 2,
    Typing = 3,
    Input = 4,
    Start = 5,
    Mark = 6,
}

/// SplitMix64: spreads neighbouring seeds over the whole state space.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The stream of one user for one purpose.
pub fn stream(seed: u64, user: u64, purpose: Purpose) -> Pcg64 {
    let which = (user << 8) | purpose as u64;
    let state = (u128::from(mix(seed)) << 64) | u128::from(mix(seed ^ mix(which)));
    Pcg64::new(state, u128::from(which))
}

/// A distribution of seconds.
#[derive(Debug, Clone, Copy)]
pub enum Seconds {
    Fixed(f64),
    Exponential(Exp<f64>),
    LogNormal(LogNormal<f64>),
}

impl Seconds {
    /// Exponential with this mean, s; mean 0 is always 0.
    pub fn exponential(mean: f64) -> Option<Self> {
        if mean == 0.0 {
            return Some(Self::Fixed(0.0));
        }
        (mean.is_finite() && mean > 0.0).then(|| Exp::new(1.0 / mean).ok().map(Self::Exponential))?
    }

    /// Lognormal with this mean and standard deviation, s: sigma² = ln(1 + sd²/mean²), mu = ln(mean) − sigma²/2.
    pub fn lognormal(mean: f64, sd: f64) -> Option<Self> {
        if mean == 0.0 || sd == 0.0 {
            return (mean.is_finite() && mean >= 0.0).then_some(Self::Fixed(mean));
        }
        if !(mean > 0.0 && sd > 0.0 && mean.is_finite() && sd.is_finite()) {
            return None;
        }
        let sigma2 = (1.0 + (sd / mean).powi(2)).ln();
        LogNormal::new(mean.ln() - sigma2 / 2.0, sigma2.sqrt())
            .ok()
            .map(Self::LogNormal)
    }

    /// One draw, s.
    pub fn draw(&self, random: &mut Pcg64) -> f64 {
        match self {
            Self::Fixed(seconds) => *seconds,
            Self::Exponential(distribution) => distribution.sample(random),
            Self::LogNormal(distribution) => distribution.sample(random),
        }
    }
}

/// Uniform in [0, 1).
pub fn unit(random: &mut Pcg64) -> f64 {
    random.random::<f64>()
}

/// Uniform in low..=high.
pub fn between(random: &mut Pcg64, low: i64, high: i64) -> i64 {
    random.random_range(low..=high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ() {
        let draws = |seed, user, purpose| {
            let mut random = stream(seed, user, purpose);
            (0..4).map(|_| unit(&mut random).to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(draws(1, 2, Purpose::Think), draws(1, 2, Purpose::Think));
        assert_ne!(draws(1, 2, Purpose::Think), draws(1, 3, Purpose::Think));
        assert_ne!(draws(1, 2, Purpose::Think), draws(1, 2, Purpose::Typing));
        assert_ne!(draws(1, 2, Purpose::Think), draws(2, 2, Purpose::Think));
    }

    #[test]
    fn means_are_as_asked() {
        let mut random = stream(7, 1, Purpose::Think);
        for distribution in [
            Seconds::exponential(3.0).unwrap(),
            Seconds::lognormal(3.0, 2.0).unwrap(),
        ] {
            let sum: f64 = (0..200_000).map(|_| distribution.draw(&mut random)).sum();
            // Four standard errors of the exponential, the wider of the two.
            assert!(
                (sum / 200_000.0 - 3.0).abs() < 4.0 * 3.0 / 200_000f64.sqrt(),
                "{}",
                sum / 200_000.0
            );
        }
    }

    #[test]
    fn impossible_distributions_are_refused() {
        assert!(Seconds::exponential(-1.0).is_none());
        assert!(Seconds::exponential(f64::NAN).is_none());
        assert!(Seconds::lognormal(1.0, -1.0).is_none());
        assert!(Seconds::lognormal(f64::INFINITY, 1.0).is_none());
    }
}
