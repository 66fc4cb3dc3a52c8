//! The main chain: free blocks in the order of their addresses, first fit, neighbours merged.

/// A free block, doublewords.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Free {
    pub at: u32,
    pub length: u32,
}

impl Free {
    fn end(self) -> u32 {
        self.at + self.length
    }
}

/// The chain. Lengths and addresses are in doublewords, from the begin of free storage.
#[derive(Debug, Clone)]
pub struct MainChain {
    blocks: Vec<Free>,
    /// All of them, free and busy.
    size: u32,
}

impl MainChain {
    /// All of it is free.
    pub fn new(doublewords: u32) -> Self {
        let mut made = Self {
            blocks: Vec::with_capacity(1024),
            size: 0,
        };
        made.extend(doublewords);
        made
    }

    /// Takes so many doublewords from the begin of the first block that has them. Their address, `None` where no block has; and the
    /// blocks looked at.
    pub fn get(&mut self, doublewords: u32) -> (Option<u32>, u32) {
        let found = self.blocks.iter().position(|block| block.length >= doublewords);
        let Some(place) = found else {
            return (None, self.blocks.len() as u32);
        };
        let block = &mut self.blocks[place];
        let at = block.at;
        if block.length == doublewords {
            self.blocks.remove(place);
        } else {
            block.at += doublewords;
            block.length -= doublewords;
        }
        (Some(at), place as u32 + 1)
    }

    /// Takes a block back, which becomes one with its free neighbours. The blocks looked at: those before it, and the one behind it
    /// that ends the search.
    pub fn give(&mut self, at: u32, doublewords: u32) -> u32 {
        let place = self.blocks.partition_point(|block| block.at < at);
        let looked = (place + 1).min(self.blocks.len()) as u32;
        let end = at + doublewords;
        let before = place.checked_sub(1).map(|before| self.blocks[before]);
        let behind = self.blocks.get(place).copied();
        assert!(
            before.is_none_or(|before| before.end() <= at)
                && behind.is_none_or(|behind| end <= behind.at)
                && end <= self.size,
            "what is given back at {at} was busy"
        );
        let joins = before.is_some_and(|before| before.end() == at);
        let meets = behind.is_some_and(|behind| behind.at == end);
        match (joins, meets) {
            (true, true) => {
                self.blocks[place - 1].length += doublewords + self.blocks[place].length;
                self.blocks.remove(place);
            }
            (true, false) => self.blocks[place - 1].length += doublewords,
            (false, true) => {
                let behind = &mut self.blocks[place];
                (behind.at, behind.length) = (at, behind.length + doublewords);
            }
            (false, false) => self.blocks.insert(
                place,
                Free {
                    at,
                    length: doublewords,
                },
            ),
        }
        looked
    }

    /// So many more, behind all others.
    pub fn extend(&mut self, doublewords: u32) {
        let at = self.size;
        self.size += doublewords;
        self.give(at, doublewords);
    }

    /// The free blocks.
    pub fn blocks(&self) -> &[Free] {
        &self.blocks
    }

    /// Doublewords, free and busy.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Free doublewords.
    pub fn free(&self) -> u64 {
        self.blocks.iter().map(|block| u64::from(block.length)).sum()
    }

    /// Whether the chain is one: addresses in order, no block without length, none that touches another, all within the storage.
    ///
    /// # Errors
    /// What does not hold.
    pub fn check(&self) -> Result<(), String> {
        for pair in self.blocks.windows(2) {
            if pair[0].end() >= pair[1].at {
                return Err(format!("{:?} reaches or touches {:?}", pair[0], pair[1]));
            }
        }
        if let Some(empty) = self.blocks.iter().find(|block| block.length == 0) {
            return Err(format!("{empty:?} has no length"));
        }
        match self.blocks.last() {
            Some(last) if last.end() > self.size => Err(format!("{last:?} ends behind {}", self.size)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn blocks(chain: &MainChain) -> Vec<(u32, u32)> {
        chain
            .blocks()
            .iter()
            .map(|block| (block.at, block.length))
            .collect()
    }

    #[test]
    fn a_chain_worked_by_hand() {
        let mut chain = MainChain::new(100);
        for (doublewords, at) in [(10, 0), (5, 10), (20, 15), (5, 35)] {
            assert_eq!(chain.get(doublewords), (Some(at), 1));
        }
        assert_eq!(blocks(&chain), [(40, 60)]);
        // Two holes, with busy storage between them.
        assert_eq!(chain.give(10, 5), 1);
        assert_eq!(
            chain.give(35, 5),
            2,
            "past (10, 5), up to (40, 60), with which it is one"
        );
        assert_eq!(blocks(&chain), [(10, 5), (35, 65)]);
        // First fit: the small one where it fits, and its rest stays in place.
        assert_eq!(chain.get(6), (Some(35), 2));
        assert_eq!(chain.get(3), (Some(10), 1));
        assert_eq!(blocks(&chain), [(13, 2), (41, 59)]);
        assert_eq!(chain.get(60), (None, 2));
        // The last one between makes one block of three.
        assert_eq!(chain.give(15, 20), 2);
        assert_eq!(chain.give(35, 6), 2);
        assert_eq!(blocks(&chain), [(13, 87)]);
        assert_eq!((chain.free(), chain.check()), (87, Ok(())));
        chain.extend(13);
        assert_eq!(blocks(&chain), [(13, 100)]);
    }

    #[test]
    #[should_panic(expected = "was busy")]
    fn what_is_free_is_not_given_back() {
        let mut chain = MainChain::new(100);
        assert_eq!(chain.get(10), (Some(0), 1));
        chain.give(5, 10);
    }

    /// Storage as one cell for each doubleword: free or not.
    struct Cells(Vec<bool>);

    impl Cells {
        /// Runs of free cells: address and length.
        fn runs(&self) -> Vec<(u32, u32)> {
            let mut runs: Vec<(u32, u32)> = Vec::new();
            for (at, _) in self.0.iter().enumerate().filter(|(_, free)| **free) {
                match runs.last_mut() {
                    Some(last) if last.0 + last.1 == at as u32 => last.1 += 1,
                    _ => runs.push((at as u32, 1)),
                }
            }
            runs
        }

        fn set(&mut self, at: u32, doublewords: u32, free: bool) {
            for cell in &mut self.0[at as usize..(at + doublewords) as usize] {
                assert_ne!(*cell, free);
                *cell = free;
            }
        }
    }

    proptest! {
        #[test]
        fn it_is_what_cells_say(
            size in 20..600_u32, steps in prop::collection::vec((any::<bool>(), 1..40_u32, any::<prop::sample::Index>()), 1..300),
        ) {
            let mut chain = MainChain::new(size);
            let mut cells = Cells(vec![true; size as usize]);
            let mut busy: Vec<(u32, u32)> = Vec::new();
            for (get, doublewords, which) in steps {
                if get || busy.is_empty() {
                    let runs = cells.runs();
                    let first = runs.iter().position(|run| run.1 >= doublewords);
                    let expected = match first {
                        Some(place) => (Some(runs[place].0), place as u32 + 1),
                        None => (None, runs.len() as u32),
                    };
                    let got = chain.get(doublewords);
                    prop_assert_eq!(got, expected);
                    if let Some(at) = got.0 {
                        cells.set(at, doublewords, false);
                        busy.push((at, doublewords));
                    }
                } else {
                    let (at, doublewords) = busy.swap_remove(which.index(busy.len()));
                    let runs = cells.runs();
                    // Walks until one lies behind it.
                    let looked = runs.iter().position(|run| run.0 > at).map_or(runs.len(), |place| place + 1);
                    prop_assert_eq!(chain.give(at, doublewords), looked as u32);
                    cells.set(at, doublewords, true);
                }
                prop_assert_eq!(chain.check(), Ok(()));
                prop_assert_eq!(blocks(&chain), cells.runs());
                let taken: u64 = busy.iter().map(|block| u64::from(block.1)).sum();
                prop_assert_eq!(chain.free() + taken, u64::from(size));
            }
            for (at, doublewords) in busy {
                chain.give(at, doublewords);
            }
            prop_assert_eq!(blocks(&chain), vec![(0, size)]);
        }
    }
}
