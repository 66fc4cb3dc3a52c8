//! Random streams: one for each (seed, user, purpose), so that a change in one user's or one purpose's draws
//! leaves all others as they were.

use std::sync::Arc;

use rand::RngExt;
use rand_distr::{Distribution, Exp, LogNormal};
use rand_pcg::Pcg64;

use crate::draws::Draws;

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
pub(crate) fn mix(value: u64) -> u64 {
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
    Exponential {
        drawn: Exp<f64>,
        mean: f64,
    },
    LogNormal {
        drawn: LogNormal<f64>,
        mu: f64,
        sigma: f64,
    },
    /// Quantiles at equal steps of probability, from 0 to 1.
    Table(Arc<[f64]>),
}

impl Seconds {
    /// Exponential with this mean, s; mean 0 is always 0.
    pub fn exponential(mean: f64) -> Option<Self> {
        if mean == 0.0 {
            return Some(Self::Fixed(0.0));
        }
        if !(mean.is_finite() && mean > 0.0) {
            return None;
        }
        let drawn = Exp::new(1.0 / mean).ok()?;
        Some(Self::Exponential { drawn, mean })
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
        let (mu, sigma) = (mean.ln() - sigma2 / 2.0, sigma2.sqrt());
        let drawn = LogNormal::new(mu, sigma).ok()?;
        Some(Self::LogNormal { drawn, mu, sigma })
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
            Self::Exponential { drawn, .. } => drawn.sample(random),
            Self::LogNormal { drawn, .. } => drawn.sample(random),
            Self::Table(_) => self.quantile(unit(random)),
        }
    }

    /// One draw of these, s.
    pub fn of(&self, draws: &mut Draws) -> f64 {
        match draws {
            Draws::Independent(random) => self.draw(random),
            Draws::Stratified(_) => self.quantile(draws.unit()),
        }
    }

    /// What is not exceeded with this probability, in [0, 1), s.
    pub fn quantile(&self, part: f64) -> f64 {
        match self {
            Self::Fixed(seconds) => *seconds,
            Self::Exponential { mean, .. } => -mean * (-part).ln_1p(),
            Self::LogNormal { mu, sigma, .. } => (mu + sigma * normal_quantile(part)).exp(),
            Self::Table(quantiles) => {
                let place = part * (quantiles.len() - 1) as f64;
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

/// Σ c_i x^i, the highest power first.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients
        .iter()
        .fold(0.0, |sum, coefficient| sum * x + coefficient)
}

/// Quantile of the standard normal distribution, to about 16 digits: PPND16 of Wichura's algorithm AS 241 (Applied
/// Statistics 37, 1988).
fn normal_quantile(part: f64) -> f64 {
    const A: [f64; 8] = [
        2_509.080_928_730_122_7,
        33_430.575_583_588_13,
        67_265.770_927_008_7,
        45_921.953_931_549_87,
        13_731.693_765_509_46,
        1_971.590_950_306_551_3,
        133.141_667_891_784_38,
        3.387_132_872_796_366_5,
    ];
    const B: [f64; 8] = [
        5_226.495_278_852_854,
        28_729.085_735_721_943,
        39_307.895_800_092_71,
        21_213.794_301_586_597,
        5_394.196_021_424_751,
        687.187_007_492_057_9,
        42.313_330_701_600_91,
        1.0,
    ];
    const C: [f64; 8] = [
        7.745_450_142_783_414e-4,
        2.272_384_498_926_918_4e-2,
        0.241_780_725_177_450_6,
        1.270_458_252_452_368_4,
        3.647_848_324_763_204_5,
        5.769_497_221_460_691,
        4.630_337_846_156_546,
        1.423_437_110_749_683_5,
    ];
    const D: [f64; 8] = [
        1.050_750_071_644_416_9e-9,
        5.475_938_084_995_345e-4,
        1.519_866_656_361_645_7e-2,
        0.148_103_976_427_480_08,
        0.689_767_334_985_1,
        1.676_384_830_183_803_8,
        2.053_191_626_637_759,
        1.0,
    ];
    const E: [f64; 8] = [
        2.010_334_399_292_288_1e-7,
        2.711_555_568_743_487_6e-5,
        1.242_660_947_388_078_4e-3,
        2.653_218_952_657_612_4e-2,
        0.296_560_571_828_504_87,
        1.784_826_539_917_291_3,
        5.463_784_911_164_114,
        6.657_904_643_501_103,
    ];
    const F: [f64; 8] = [
        2.044_263_103_389_939_8e-15,
        1.421_511_758_316_446e-7,
        1.846_318_317_510_054_8e-5,
        7.868_691_311_456_133e-4,
        1.487_536_129_085_061_5e-2,
        0.136_929_880_922_735_8,
        0.599_832_206_555_888,
        1.0,
    ];
    let centred = part - 0.5;
    if centred.abs() <= 0.425 {
        let r = 0.180_625 - centred * centred;
        return centred * polynomial(&A, r) / polynomial(&B, r);
    }
    let tail = if centred < 0.0 { part } else { 1.0 - part };
    // Below the least draw there is nothing: no infinity.
    let r = (-tail.max(f64::MIN_POSITIVE).ln()).sqrt();
    let away = if r <= 5.0 {
        polynomial(&C, r - 1.6) / polynomial(&D, r - 1.6)
    } else {
        polynomial(&E, r - 5.0) / polynomial(&F, r - 5.0)
    };
    if centred < 0.0 { -away } else { away }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::DrawsKey;

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
    fn stratified_draws_keep_the_distribution() {
        // χ² over ten equally likely parts by the other way of drawing: 9 degrees of freedom, 27.9 once in 1000.
        for distribution in [
            Seconds::exponential(3.0).unwrap(),
            Seconds::lognormal(3.0, 2.0).unwrap(),
            Seconds::table(&[0.0, 2.0, 8.0]).unwrap(),
        ] {
            let mut random = stream(7, 1, Purpose::Think);
            let mut drawn: Vec<f64> = (0..200_000).map(|_| distribution.draw(&mut random)).collect();
            drawn.sort_by(f64::total_cmp);
            // One draw of each of many users, of which each is at another place of its sequence.
            let mut counts = [0.0; 10];
            for user in 0..10_000u64 {
                let mut draws = Draws::new(DrawsKey::Stratified, 9, user, Purpose::Think);
                let value = (0..=user % 7)
                    .map(|_| distribution.of(&mut draws))
                    .last()
                    .unwrap();
                counts[(drawn.partition_point(|&other| other < value) / 20_000).min(9)] += 1.0;
            }
            // The parts are known from draws themselves, of 20 times as many.
            let chi: f64 = counts
                .iter()
                .map(|count: &f64| (count - 1000.0).powi(2) / 1000.0)
                .sum();
            assert!(chi < 27.9 * 1.05, "{counts:?}");
        }
    }

    #[test]
    fn normal_quantiles_are_those_of_the_tables() {
        // Newton's method on erfc.
        for (part, quantile) in [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.08, -1.405_071_560_309_633),
            (1e-3, -3.090_232_306_167_813_6),
            (1.0 - 1e-3, 3.090_232_306_167_813),
            (1e-12, -7.034_483_825_301_132),
            (2f64.powi(-53), -8.209_536_151_601_387),
        ] {
            assert!(
                (normal_quantile(part) - quantile).abs() < 1e-11,
                "{part}: {}",
                normal_quantile(part)
            );
        }
        assert!(normal_quantile(0.0).is_finite());
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
