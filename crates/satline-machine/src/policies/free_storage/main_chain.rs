//! Free storage without subpools.
//!
//! What: every request is served from the main chain.
//! Why: it shows what subpools save, and how free storage falls into pieces.
//! Reference: [TB84], the main chain.

use super::Subpools;

#[derive(Debug)]
struct MainChain;

pub fn make() -> Box<dyn Subpools> {
    Box::new(MainChain)
}

impl Subpools for MainChain {
    fn sizes(&self) -> &[u32] {
        &[]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_small_enough_for_a_subpool() {
        assert_eq!(make().subpool(1), None);
    }
}
