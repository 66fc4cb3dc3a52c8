//! Split subpools of free storage.
//!
//! What: subpools of 2, 4 … 32 doublewords for small blocks, and of 64, 96 … 1,024 for large ones; a larger request goes to the
//! main chain.
//! Why: finer steps waste less of small blocks, and hardly any block is left for the main chain.
//! Reference: [TB84], HPO.

use super::Subpools;

#[derive(Debug)]
struct Split(Vec<u32>);

pub fn make() -> Box<dyn Subpools> {
    let (small, large) = ((2..=32).step_by(2), (64..=1024).step_by(32));
    Box::new(Split(small.chain(large).collect()))
}

impl Subpools for Split {
    fn sizes(&self) -> &[u32] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_blocks_have_subpools() {
        let policy = make();
        let of = |doublewords| policy.subpool(doublewords).map(|number| policy.sizes()[number]);
        for (doublewords, size) in [(1, 2), (31, 32), (33, 64), (65, 96), (1024, 1024)] {
            assert_eq!(of(doublewords), Some(size));
        }
        assert_eq!((of(1025), policy.sizes().len()), (None, 16 + 31));
    }
}
