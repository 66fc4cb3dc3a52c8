//! What one user draws for one purpose: independent draws, or draws that are stratified over every short stretch.
//!
//! Stratified draws are a van der Corput sequence in base 2 under nested uniform scrambling [Owen 1995], whose order is
//! scrambled likewise: each is uniform in [0, 1), and of any 2^k that follow each other, counted from the first, one
//! falls into each 2^-k. So after a few lines a user's think times and commands come close to their distribution. Users
//! stay independent of each other. In a product-form network a user may go through any sequence of classes, so long as
//! users do so independently: mean throughput and response stay what they were.

use std::collections::HashMap;

use rand::RngExt;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use crate::random::{Purpose, between, mix, stream, unit};

/// The key `draws` of a workload and the option `--draws`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum DrawsKey {
    /// Each draw by itself.
    Independent,
    /// A user's draws fill their distribution evenly.
    #[default]
    Stratified,
}

/// Uniform draws of one stream.
#[derive(Debug, Clone)]
pub enum Draws {
    Independent(Pcg64),
    Stratified(Sequence),
}

impl Draws {
    pub fn new(how: DrawsKey, seed: u64, user: u64, purpose: Purpose) -> Self {
        let mut random = stream(seed, user, purpose);
        match how {
            DrawsKey::Independent => Self::Independent(random),
            DrawsKey::Stratified => Self::Stratified(Sequence::new(random.random())),
        }
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        match self {
            Self::Independent(random) => unit(random),
            Self::Stratified(sequence) => sequence.next(),
        }
    }
}

/// The lines that share what fills their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Of {
    Command(usize),
    Setup(usize),
    LogOn(usize),
}

impl Of {
    fn key(self) -> u64 {
        let (kind, number) = match self {
            Self::Command(number) => (0, number),
            Self::Setup(number) => (1, number),
            Self::LogOn(number) => (2, number),
        };
        mix((number as u64) << 2 | kind)
    }
}

/// What fills the places of a user's lines. Stratified: a sequence for each place of each command, so that what others
/// draw leaves it as it is.
#[derive(Debug)]
pub enum Inputs {
    Independent(Pcg64),
    Stratified {
        key: u64,
        /// How many of each so far.
        lines: HashMap<Of, u32>,
    },
}

impl Inputs {
    pub fn new(how: DrawsKey, seed: u64, user: u64) -> Self {
        let mut random = stream(seed, user, Purpose::Input);
        match how {
            DrawsKey::Independent => Self::Independent(random),
            DrawsKey::Stratified => Self::Stratified {
                key: random.random(),
                lines: HashMap::new(),
            },
        }
    }

    /// For one more line of these.
    pub fn of(&mut self, which: Of) -> Filling<'_> {
        match self {
            Self::Independent(random) => Filling::Independent(random),
            Self::Stratified { key, lines } => {
                let count = lines.entry(which).or_default();
                let at = *count;
                *count = count.wrapping_add(1);
                Filling::Stratified {
                    key: mix(*key ^ which.key()),
                    at,
                    place: 0,
                }
            }
        }
    }
}

/// Draws for the places of one line, one after the other.
#[derive(Debug)]
pub enum Filling<'a> {
    Independent(&'a mut Pcg64),
    Stratified { key: u64, at: u32, place: u64 },
}

impl Filling<'_> {
    /// Uniform in low..=high.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        match self {
            Self::Independent(random) => between(random, low, high),
            Self::Stratified { key, at, place } => {
                *place += 1;
                let drawn = at_place(mix(*key ^ mix(*place)), *at);
                let count = (high as f64) - (low as f64) + 1.0;
                low.saturating_add((drawn * count) as i64).min(high)
            }
        }
    }
}

/// A stratified sequence and the place in it.
#[derive(Debug, Clone)]
pub struct Sequence {
    key: u64,
    next: u32,
}

impl Sequence {
    fn new(key: u64) -> Self {
        Self { key, next: 0 }
    }

    fn next(&mut self) -> f64 {
        let drawn = at_place(self.key, self.next);
        self.next = self.next.wrapping_add(1);
        drawn
    }
}

/// The draw at a place of the sequence with this key, in [0, 1).
fn at_place(key: u64, place: u32) -> f64 {
    // The order within each 2^k first, then the strata themselves, then the place within the finest.
    let order = scrambled(mix(key ^ 1), place);
    let stratum = scrambled(key, order.reverse_bits());
    let rest = mix(key ^ mix(u64::from(place) ^ (1 << 40))) >> 11;
    // 53 bits in all, so that it cannot round to 1.
    let bits = (u64::from(stratum) << 21) | (rest >> 32);
    bits as f64 / (1u64 << 53) as f64
}

/// Nested uniform scrambling: each bit is flipped, or not, by a hash of those above it.
fn scrambled(key: u64, value: u32) -> u32 {
    let value = u64::from(value);
    (0..32).fold(0, |scrambled, bit| {
        let above = value >> (bit + 1);
        let flip = mix(key ^ mix((above << 6) | bit)) & 1;
        scrambled | ((((value >> bit) & 1) ^ flip) as u32) << bit
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(count: usize, seed: u64, user: u64) -> Vec<f64> {
        let mut draws = Draws::new(DrawsKey::Stratified, seed, user, Purpose::Think);
        (0..count).map(|_| draws.unit()).collect()
    }

    #[test]
    fn every_short_stretch_fills_its_strata() {
        for user in 1..50 {
            let drawn = first(256, 7, user);
            for size in [2, 4, 8, 32, 256] {
                for stretch in drawn.chunks(size) {
                    let mut strata: Vec<usize> = stretch
                        .iter()
                        .map(|value| (value * size as f64) as usize)
                        .collect();
                    strata.sort_unstable();
                    assert_eq!(strata, (0..size).collect::<Vec<_>>(), "user {user}");
                }
            }
        }
    }

    /// Pearson's χ² of counts that should be equal.
    fn chi_square(counts: &[usize]) -> f64 {
        let expected = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
        counts
            .iter()
            .map(|&count| (count as f64 - expected).powi(2) / expected)
            .sum()
    }

    #[test]
    fn each_draw_is_uniform_by_itself() {
        // Over users, who are independent: the k-th draw of each. 19 degrees of freedom: 43.8 is exceeded once in 1000.
        for nth in [0, 1, 2, 3, 6, 100] {
            let mut counts = [0; 20];
            for user in 0..20_000 {
                let mut draws = Draws::new(DrawsKey::Stratified, 11, user, Purpose::Command);
                let value = (0..=nth).map(|_| draws.unit()).last().unwrap_or_default();
                counts[(value * 20.0) as usize] += 1;
            }
            assert!(chi_square(&counts) < 43.8, "draw {nth}: {counts:?}");
        }
    }

    #[test]
    fn pairs_in_a_row_come_in_either_order() {
        let up = (0..2000).filter(|&user| {
            let drawn = first(2, 3, user);
            drawn[0] < drawn[1]
        });
        // Four standard deviations.
        assert!((up.count() as i64 - 1000).abs() < 90);
        let both = (0..1000).filter(|&user| {
            let drawn = first(4, 3, user);
            (drawn[0] < drawn[1]) == (drawn[2] < drawn[3])
        });
        assert!((both.count() as i64 - 500).abs() < 64);
    }

    #[test]
    fn users_are_independent() {
        // Of two users' draws at the same place each quarter of the square gets a quarter: 3 degrees of freedom.
        for nth in [0, 1, 5] {
            let mut counts = [0; 4];
            for seed in 0..4000 {
                let (a, b) = (first(nth + 1, seed, 1)[nth], first(nth + 1, seed, 2)[nth]);
                counts[(a * 2.0) as usize * 2 + (b * 2.0) as usize] += 1;
            }
            assert!(chi_square(&counts) < 16.3, "draw {nth}: {counts:?}");
        }
    }

    #[test]
    fn places_of_a_line_are_filled_evenly_and_each_by_itself() {
        let mut inputs = Inputs::new(DrawsKey::Stratified, 5, 1);
        let mut other = Inputs::new(DrawsKey::Stratified, 5, 1);
        let mut seen = Vec::new();
        for _ in 0..8 {
            let mut filling = inputs.of(Of::Command(3));
            seen.push(filling.between(1, 8));
            filling.between(1, 1000);
            // Lines of another command in between change nothing.
            other.of(Of::Command(4)).between(1, 8);
            assert_eq!(other.of(Of::Command(3)).between(1, 8), seen[seen.len() - 1]);
        }
        seen.sort_unstable();
        assert_eq!(seen, (1..=8).collect::<Vec<_>>());
        assert_eq!(inputs.of(Of::Setup(9)).between(4, 4), 4);
        assert!((i64::MIN..=i64::MAX).contains(&inputs.of(Of::Setup(9)).between(i64::MIN, i64::MAX)));
    }
}
