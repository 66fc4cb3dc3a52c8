//! From where the control program's requests for free storage are served: a subpool, or the main chain.
//!
//! A subpool is a stack of free blocks of one size: getting one is short, however much free storage is in pieces. What no
//! subpool is for is searched in the main chain. A policy is the sizes of the subpools, and which of them a request goes to.

mod eleven;
mod main_chain;
mod split;
mod ten;

use std::fmt::Debug;

use super::Entry;
use crate::configuration::SUBPOOLS;

/// The subpools that there are, and who gets a block of which.
pub trait Subpools: Debug + Send {
    /// Doublewords of a block, by subpool.
    fn sizes(&self) -> &[u32];

    /// The subpool for a request of so many doublewords; its blocks are at least so large. `None`: the main chain. By default the
    /// first that is large enough, of sizes that rise.
    fn subpool(&self, doublewords: u32) -> Option<usize> {
        let sizes = self.sizes();
        let number = sizes.partition_point(|&size| size < doublewords);
        (number < sizes.len()).then_some(number)
    }
}

/// Makes one.
pub type Make = fn() -> Box<dyn Subpools>;

/// The first is the default.
#[rustfmt::skip]
pub const POLICIES: &[Entry<Make>] = &[
    Entry { name: SUBPOOLS[0], source: include_str!("main_chain.rs"), make: main_chain::make },
    Entry { name: SUBPOOLS[1], source: include_str!("ten.rs"), make: ten::make },
    Entry { name: SUBPOOLS[2], source: include_str!("eleven.rs"), make: eleven::make },
    Entry { name: SUBPOOLS[3], source: include_str!("split.rs"), make: split::make },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_gets_a_block_of_the_next_size() {
        for entry in POLICIES {
            let policy = (entry.make)();
            let sizes = policy.sizes();
            assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]), "{}", entry.name);
            for doublewords in 1..1200 {
                let least = sizes.iter().position(|&size| size >= doublewords);
                assert_eq!(policy.subpool(doublewords), least, "{} {doublewords}", entry.name);
            }
        }
    }
}
