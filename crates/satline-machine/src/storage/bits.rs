//! Bits in a row, and which programs know of a shared page: the few bytes that every touch of a page looks at.

/// One bit per page or slot, all off at first.
#[derive(Debug)]
pub struct Bits(Vec<u64>);

impl Bits {
    pub fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    #[inline]
    pub fn get(&self, at: u32) -> bool {
        self.0[at as usize / 64] >> (at % 64) & 1 == 1
    }

    #[inline]
    pub fn set(&mut self, at: u32, on: bool) {
        let word = &mut self.0[at as usize / 64];
        *word = *word & !(1 << (at % 64)) | u64::from(on) << (at % 64);
    }

    /// Turns one off; whether it was on.
    #[inline]
    pub fn take(&mut self, at: u32) -> bool {
        let was = self.get(at);
        self.set(at, false);
        was
    }
}

/// By shared page: programs that touched it since they were last asked for.
#[derive(Debug)]
pub struct Sharers {
    /// Words of one page, a bit for each program.
    words: usize,
    bits: Vec<u64>,
}

impl Sharers {
    pub fn new(pages: u32, programs: usize) -> Self {
        let words = programs.div_ceil(64);
        Self {
            words,
            bits: vec![0; words * pages as usize],
        }
    }

    #[inline]
    pub fn add(&mut self, page: u32, program: u32) {
        self.bits[page as usize * self.words + program as usize / 64] |= 1 << (program % 64);
    }

    /// Hands out all of a page, and forgets them.
    #[inline]
    pub fn take(&mut self, page: u32, mut each: impl FnMut(usize)) {
        let from = page as usize * self.words;
        for (number, word) in self.bits[from..from + self.words].iter_mut().enumerate() {
            let mut left = std::mem::take(word);
            while left != 0 {
                each(number * 64 + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sharers_are_handed_out_once(adds in prop::collection::vec((0..3u32, 0..130u32), 0..60), page in 0..3u32) {
            let (mut sharers, mut sets) = (Sharers::new(3, 130), vec![BTreeSet::new(); 3]);
            for (page, program) in adds {
                sharers.add(page, program);
                sets[page as usize].insert(program as usize);
            }
            let mut taken = Vec::new();
            sharers.take(page, |program| taken.push(program));
            prop_assert!(taken.iter().eq(&sets[page as usize]));
            sharers.take(page, |program| panic!("{program} again"));
        }

        #[test]
        fn bits_keep_what_is_set(sets in prop::collection::vec((0..100u32, any::<bool>()), 0..60)) {
            let (mut bits, mut known) = (Bits::new(100), [false; 100]);
            for (at, on) in sets {
                bits.set(at, on);
                known[at as usize] = on;
            }
            prop_assert!((0..100).all(|at| bits.get(at) == known[at as usize]));
        }
    }
}
