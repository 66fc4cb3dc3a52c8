//! A random order that is the same in every run, so that probes are comparable.

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): enough to defeat read-ahead and prefetching.
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// The numbers 0 … `count` − 1, each once, shuffled (Fisher–Yates).
pub fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut random = SplitMix64(seed);
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        let chosen = (random.next() % (last as u64 + 1)) as usize;
        order.swap(last, chosen);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_holds_every_number_once_and_is_mixed() {
        let order = shuffled(1000, 7);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..1000));
        let neighbours = order.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
        assert!(neighbours < 20, "{neighbours} of 999 are in sequence");
        assert_ne!(order, shuffled(1000, 8));
        assert_eq!(order, shuffled(1000, 7));
    }

    #[test]
    fn small_orders() {
        assert!(shuffled(0, 1).is_empty());
        assert_eq!(shuffled(1, 1), [0]);
    }

    /// The first outputs of the authors' reference implementation for seed 1234567.
    #[test]
    fn splitmix64_gives_the_published_sequence() {
        let mut random = SplitMix64(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
        assert_eq!(random.next(), 9_817_491_932_198_370_423);
    }
}
