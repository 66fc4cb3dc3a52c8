//! The manager: subpools before the main chain, and what requests cost.
//!
//! Chosen: a subpool that is empty gets its block from the main chain. Where no block of the main chain is large enough, all free
//! blocks of the subpools go back to it; if that does not do, free storage gets further pages.

use super::MainChain;
use crate::engine::Span;
use crate::policies::free_storage::Subpools;

/// A page, doublewords.
const PAGE: u32 = 512;

/// What requests take of a processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Prices {
    /// A block from a subpool, or back to it.
    pub subpool_request: Span,
    /// A block from the main chain, or back to it, the search excepted.
    pub main_request: Span,
    /// A block that the search looks at.
    pub block_searched: Span,
}

/// A block that is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    pub at: u32,
    /// Doublewords: those of its subpool, where it is of one.
    pub length: u32,
    pub subpool: Option<u16>,
}

/// Since the start. Getting a block is a request, and giving it back is one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StorageCounts {
    pub main_requests: u64,
    pub subpool_requests: u64,
    /// By requests to the main chain.
    pub blocks_searched: u64,
    /// Pages that free storage got beside what it had.
    pub pages_added: u64,
    /// Of what is busy now, doublewords.
    pub busy: u64,
    /// The processor time of all requests, ns.
    pub time_ns: u64,
}

#[derive(Debug)]
pub struct FreeStorage {
    policy: Box<dyn Subpools>,
    prices: Prices,
    chain: MainChain,
    /// By subpool: addresses of its free blocks, the last one given back on top.
    stacks: Vec<Vec<u32>>,
    counts: StorageCounts,
}

impl FreeStorage {
    /// So many doublewords, all free, and in the main chain.
    pub fn new(doublewords: u32, policy: Box<dyn Subpools>, prices: Prices) -> Self {
        Self {
            stacks: policy.sizes().iter().map(|_| Vec::with_capacity(256)).collect(),
            policy,
            prices,
            chain: MainChain::new(doublewords),
            counts: StorageCounts::default(),
        }
    }

    /// A block of at least so many doublewords.
    pub fn get(&mut self, doublewords: u32) -> Block {
        let subpool = self.policy.subpool(doublewords);
        let length = subpool.map_or(doublewords, |number| self.policy.sizes()[number]);
        let at = match subpool.and_then(|number| self.stacks[number].pop()) {
            Some(at) => {
                self.served_by_subpool();
                at
            }
            None => self.get_from_chain(length),
        };
        self.counts.busy += u64::from(length);
        Block {
            at,
            length,
            subpool: subpool.map(|number| number as u16),
        }
    }

    /// It is free.
    pub fn give(&mut self, block: Block) {
        self.counts.busy -= u64::from(block.length);
        match block.subpool {
            Some(number) => {
                self.stacks[usize::from(number)].push(block.at);
                self.served_by_subpool();
            }
            None => self.give_to_chain(block.at, block.length),
        }
    }

    pub fn counts(&self) -> &StorageCounts {
        &self.counts
    }

    pub fn chain(&self) -> &MainChain {
        &self.chain
    }

    /// Free doublewords in subpools.
    pub fn pooled(&self) -> u64 {
        let sizes = self.policy.sizes().iter();
        let pooled = sizes.zip(&self.stacks);
        pooled
            .map(|(&size, stack)| u64::from(size) * stack.len() as u64)
            .sum()
    }

    /// Whether each doubleword is busy, in a subpool, or in the main chain, and the chain is one.
    ///
    /// # Errors
    /// What does not hold.
    pub fn check(&self) -> Result<(), String> {
        self.chain.check()?;
        let (free, pooled, busy) = (self.chain.free(), self.pooled(), self.counts.busy);
        match free + pooled + busy == u64::from(self.chain.size()) {
            true => Ok(()),
            false => Err(format!(
                "{free} doublewords in the main chain, {pooled} in subpools and {busy} busy are not {}",
                self.chain.size()
            )),
        }
    }

    fn get_from_chain(&mut self, doublewords: u32) -> u32 {
        if let Some(at) = self.search(doublewords) {
            return at;
        }
        for number in 0..self.stacks.len() {
            let size = self.policy.sizes()[number];
            while let Some(at) = self.stacks[number].pop() {
                self.give_to_chain(at, size);
            }
        }
        if let Some(at) = self.search(doublewords) {
            return at;
        }
        let pages = doublewords.div_ceil(PAGE);
        self.counts.pages_added += u64::from(pages);
        self.chain.extend(pages * PAGE);
        self.search(doublewords).expect("it was made large enough")
    }

    fn search(&mut self, doublewords: u32) -> Option<u32> {
        let (at, looked) = self.chain.get(doublewords);
        self.served_by_chain(looked);
        at
    }

    fn give_to_chain(&mut self, at: u32, doublewords: u32) {
        let looked = self.chain.give(at, doublewords);
        self.served_by_chain(looked);
    }

    fn served_by_subpool(&mut self) {
        self.counts.subpool_requests += 1;
        self.counts.time_ns += self.prices.subpool_request.ns();
    }

    fn served_by_chain(&mut self, looked: u32) {
        self.counts.main_requests += 1;
        self.counts.blocks_searched += u64::from(looked);
        self.counts.time_ns +=
            self.prices.main_request.ns() + self.prices.block_searched.ns() * u64::from(looked);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policies::free_storage::POLICIES;

    fn of(policy: &str, doublewords: u32) -> FreeStorage {
        let entry = POLICIES.iter().find(|entry| entry.name == policy).unwrap();
        let prices = Prices {
            subpool_request: Span::from_ns(1),
            main_request: Span::from_ns(1000),
            block_searched: Span::from_ns(100),
        };
        FreeStorage::new(doublewords, (entry.make)(), prices)
    }

    #[test]
    fn subpools_worked_by_hand() {
        let mut storage = of("ten", 512);
        let block = |at, length, subpool| Block { at, length, subpool };
        // Nothing is in the subpools at first: 28 doublewords get 30 of the main chain, 31 are too many for any.
        let first = storage.get(28);
        assert_eq!(first, block(0, 30, Some(9)));
        assert_eq!(storage.get(30), block(30, 30, Some(9)));
        let large = storage.get(31);
        assert_eq!(large, block(60, 31, None));
        assert_eq!(storage.get(3), block(91, 3, Some(0)));
        assert_eq!(storage.counts().time_ns, 4 * 1100);
        // What came back last goes out first, at the price of a subpool.
        storage.give(first);
        assert_eq!(storage.get(29), first);
        assert_eq!(storage.counts().time_ns, 4 * 1100 + 2);
        storage.give(large);
        let expected = StorageCounts {
            main_requests: 5,
            subpool_requests: 2,
            blocks_searched: 5,
            pages_added: 0,
            busy: 63,
            time_ns: 4 * 1100 + 2 + 1100,
        };
        assert_eq!(*storage.counts(), expected);
        assert_eq!(storage.check(), Ok(()));
    }

    #[test]
    fn an_eleventh_subpool_takes_the_input_area_of_a_new_release() {
        for (policy, subpool) in [
            ("main-chain", None),
            ("ten", None),
            ("eleven", Some(10)),
            ("split", Some(15)),
        ] {
            assert_eq!(of(policy, 512).get(31).subpool, subpool, "{policy}");
        }
    }

    #[test]
    fn short_storage_takes_back_what_subpools_have_and_then_grows() {
        let mut storage = of("ten", 90);
        let blocks = [storage.get(30), storage.get(30), storage.get(30)];
        for block in blocks {
            storage.give(block);
        }
        assert_eq!((storage.pooled(), storage.chain().free()), (90, 0));
        assert_eq!(storage.get(80).at, 0);
        assert_eq!((storage.pooled(), storage.counts().pages_added), (0, 0));
        assert_eq!(storage.get(600).at, 80);
        assert_eq!(storage.counts().pages_added, 2);
        assert_eq!(storage.chain().size(), 90 + 1024);
        assert_eq!(storage.check(), Ok(()));
    }

    proptest! {
        #[test]
        fn blocks_never_overlap_and_nothing_is_lost(
            policy in 0..POLICIES.len(), size in 64..4096_u32,
            steps in prop::collection::vec((any::<bool>(), 1..1200_u32, 0..8_u32, any::<prop::sample::Index>()), 1..200),
        ) {
            let mut storage = of(POLICIES[policy].name, size);
            let mut busy: Vec<Block> = Vec::new();
            for (get, doublewords, small, which) in steps {
                if get || busy.is_empty() {
                    // Most are small.
                    let wanted = if small > 0 { doublewords % 40 + 1 } else { doublewords };
                    let block = storage.get(wanted);
                    prop_assert!(block.length >= wanted && block.at + block.length <= storage.chain().size());
                    let apart = |other: &Block| other.at + other.length <= block.at || block.at + block.length <= other.at;
                    prop_assert!(busy.iter().all(apart), "{block:?} {busy:?}");
                    let free = storage.chain().blocks().iter();
                    prop_assert!(free.clone().all(|free| free.at + free.length <= block.at || block.at + block.length <= free.at));
                    busy.push(block);
                } else {
                    let block = busy.swap_remove(which.index(busy.len()));
                    storage.give(block);
                }
                prop_assert_eq!(storage.check(), Ok(()));
                let taken: u64 = busy.iter().map(|block| u64::from(block.length)).sum();
                prop_assert_eq!(storage.counts().busy, taken);
            }
        }
    }
}
