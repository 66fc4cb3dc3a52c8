//! Ten subpools of free storage.
//!
//! What: subpools of 3, 6 … 30 doublewords; a larger request goes to the main chain.
//! Why: most control blocks are that small; one that grows beyond 30 takes the long way at every request.
//! Reference: [TB84], VM/370 and VM/SP.

use super::Subpools;

#[derive(Debug)]
struct Ten([u32; 10]);

pub fn make() -> Box<dyn Subpools> {
    Box::new(Ten(std::array::from_fn(|number| 3 * (number as u32 + 1))))
}

impl Subpools for Ten {
    fn sizes(&self) -> &[u32] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_block_has_30_doublewords() {
        assert_eq!(make().sizes(), [3, 6, 9, 12, 15, 18, 21, 24, 27, 30]);
        assert_eq!((make().subpool(30), make().subpool(31)), (Some(9), None));
    }
}
