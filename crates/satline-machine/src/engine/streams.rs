//! Random streams: one for each (seed, replication, user, purpose).
//!
//! A policy that changes the order of events must not change who thinks how long: when two machines are compared on
//! common random numbers, each user's n-th think time is the same in both. So no two users, and no two purposes of a
//! user, draw from one stream.

use rand_pcg::Pcg64;

/// A generator of random numbers: PCG, 128 bits of state.
pub type Stream = Pcg64;

/// All streams of one replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
    replication: u64,
}

impl Streams {
    pub fn new(seed: u64, replication: u64) -> Self {
        Self { seed, replication }
    }

    /// The stream of a user (or device) for a purpose. The purpose is hashed by its name, so that a new one changes no
    /// other.
    pub fn stream(&self, user: u64, purpose: &str) -> Stream {
        let mut hash = mix(self.seed);
        for part in [self.replication, user, purpose.len() as u64] {
            // The sum is not symmetric: (seed 1, replication 2) is not (seed 2, replication 1).
            hash = mix(hash.wrapping_add(part));
        }
        for chunk in purpose.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            hash = mix(hash.wrapping_add(u64::from_le_bytes(word)));
        }
        let word = |n: u64| u128::from(mix(hash.wrapping_add(n.wrapping_mul(GOLDEN))));
        Pcg64::new((word(1) << 64) | word(2), (word(3) << 64) | word(4))
    }
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64: spreads neighbouring numbers over all 64 bits.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rand::RngExt;

    use super::*;

    fn draws(streams: Streams, user: u64, purpose: &str) -> [u64; 3] {
        let mut stream = streams.stream(user, purpose);
        std::array::from_fn(|_| stream.random())
    }

    #[test]
    fn a_stream_repeats() {
        let streams = Streams::new(1, 2);
        assert_eq!(draws(streams, 3, "think"), draws(streams, 3, "think"));
    }

    #[test]
    fn streams_differ_in_each_of_seed_replication_user_and_purpose() {
        let mut seen = HashSet::new();
        for seed in 0..8 {
            for replication in 0..8 {
                for user in 0..8 {
                    for purpose in [
                        "think",
                        "cpu",
                        "cp",
                        "u",
                        "",
                        "a long purpose",
                        "a long purposf",
                        "\0",
                    ] {
                        assert!(seen.insert(draws(Streams::new(seed, replication), user, purpose)));
                    }
                }
            }
        }
    }

    #[test]
    fn neighbouring_streams_are_not_correlated() {
        let count = 20_000;
        let mut streams: Vec<Stream> = (0..6)
            .map(|user| Streams::new(1, 0).stream(user, "think"))
            .collect();
        let rows: Vec<[f64; 6]> = (0..count)
            .map(|_| std::array::from_fn(|i| streams[i].random::<f64>() - 0.5))
            .collect();
        for i in 0..6 {
            for j in 0..i {
                let covariance: f64 = rows.iter().map(|row| row[i] * row[j]).sum::<f64>() / f64::from(count);
                // The variance of a uniform is 1/12; five standard errors.
                assert!((covariance * 12.0).abs() < 5.0 / f64::from(count).sqrt());
            }
        }
    }
}
