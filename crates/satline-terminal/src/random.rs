//! Random streams: one for each (seed, user, purpose), so that a change in one user's or one purpose's draws
//! leaves all others as they were.

use std::sync::Arc;

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
    Arrival = 7,
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
#[derive(Debug, Clone)]
pub enum Seconds {
    Fixed(f64),
    Exponential(Exp<f64>),
    LogNormal(LogNormal<f64>),
    /// Quantiles at equal steps of probability, from 0 to 1.
    Table(Arc<[f64]>),
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

    /// From measured quantiles, s, by the inverse of the distribution function: with n+1 of them and u uniform in
    /// [0, 1), x = n·u, i = ⌊x⌋: q_i + (x − i)(q_{i+1} − q_i). None unless there are two that do not fall.
    pub fn table(quantiles: &[f64]) -> Option<Self> {
        let sound = quantiles.len() > 1
            && quantiles.iter().all(|value| value.is_finite() && *value >= 0.0)
            && quantiles.windows(2).all(|pair| pair[0] <= pair[1]);
        sound.then(|| Self::Table(quantiles.into()))
    }

    /// One draw, s.
    pub fn draw(&self, random: &mut Pcg64) -> f64 {
        match self {
            Self::Fixed(seconds) => *seconds,
            Self::Exponential(distribution) => distribution.sample(random),
            Self::LogNormal(distribution) => distribution.sample(random),
            Self::Table(quantiles) => {
                let place = unit(random) * (quantiles.len() - 1) as f64;
                let index = (place as usize).min(quantiles.len() - 2);
                quantiles[index] + (place - index as f64) * (quantiles[index + 1] - quantiles[index])
            }
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
            // Half of all uniform in 0 to 2, half in 2 to 8: the mean is 0.5 · 1 + 0.5 · 5.
            Seconds::table(&[0.0, 2.0, 8.0]).unwrap(),
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
    fn a_table_gives_its_quantiles_back() {
        let table = Seconds::table(&[1.0, 1.0, 4.0, 10.0, 100.0]).unwrap();
        let mut random = stream(7, 1, Purpose::Think);
        let mut drawn: Vec<f64> = (0..40_000).map(|_| table.draw(&mut random)).collect();
        drawn.sort_by(f64::total_cmp);
        assert!(drawn[0] >= 1.0 && drawn[39_999] < 100.0);
        for (part, quantile) in [(0.25, 1.0), (0.5, 4.0), (0.75, 10.0)] {
            // Five standard deviations of the number below the quantile.
            let below = drawn.iter().filter(|&&value| value <= quantile).count() as f64;
            let sd = f64::sqrt(40_000.0 * part * (1.0 - part));
            assert!((below - 40_000.0 * part).abs() < 5.0 * sd, "{quantile}: {below}");
        }
    }

    #[test]
    fn impossible_distributions_are_refused() {
        assert!(Seconds::exponential(-1.0).is_none());
        assert!(Seconds::exponential(f64::NAN).is_none());
        assert!(Seconds::lognormal(1.0, -1.0).is_none());
        assert!(Seconds::lognormal(f64::INFINITY, 1.0).is_none());
        for wrong in [&[][..], &[1.0], &[2.0, 1.0], &[-1.0, 1.0], &[0.0, f64::NAN]] {
            assert!(Seconds::table(wrong).is_none(), "{wrong:?}");
        }
    }
}
