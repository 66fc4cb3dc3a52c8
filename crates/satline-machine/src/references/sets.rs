//! Draws sets that repeat a part of the one before.

use rand::RngExt;

use crate::engine::Stream;

/// Pages 0 to n, the last set's in front.
#[derive(Debug)]
pub struct Sets {
    order: Vec<u32>,
    last: usize,
}

impl Sets {
    pub fn new(pages: u32) -> Self {
        Self {
            order: (0..pages).collect(),
            last: 0,
        }
    }

    /// A set of this size (at most all pages): a part of it from the set before, evenly drawn, the others from the
    /// rest of the space. Where the rest is too small, more are repeated.
    pub fn draw(&mut self, size: u32, repeatability: f64, stream: &mut Stream) -> &[u32] {
        let all = self.order.len();
        let (last, size) = (self.last, (size as usize).min(all));
        let wanted = (repeatability * size as f64 + stream.random::<f64>()) as usize;
        let kept = wanted.max((last + size).saturating_sub(all)).min(last).min(size);
        // The kept ones come to the front, the new ones behind the last set, and then next to the kept ones.
        for at in 0..kept {
            let other = stream.random_range(at..last);
            self.order.swap(at, other);
        }
        for at in last..last + size - kept {
            let other = stream.random_range(at..all);
            self.order.swap(at, other);
        }
        self.order[kept..last + size - kept].rotate_left(last - kept);
        self.last = size;
        &self.order[..size]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::engine::Streams;

    proptest! {
        #[test]
        fn a_set_is_of_distinct_pages_and_repeats_as_stated(
            pages in 1..60_u32, sizes in prop::collection::vec(1..70_u32, 2..6), share in 0.0..=1.0_f64, seed: u64,
        ) {
            let (mut sets, mut stream) = (Sets::new(pages), Streams::new(seed, 0).stream(0, "pages"));
            let mut before: Option<HashSet<u32>> = None;
            for size in sizes {
                let drawn = sets.draw(size, share, &mut stream).to_vec();
                let set: HashSet<u32> = drawn.iter().copied().collect();
                prop_assert_eq!(drawn.len(), size.min(pages) as usize);
                prop_assert_eq!(set.len(), drawn.len());
                prop_assert!(set.iter().all(|&page| page < pages));
                if let Some(before) = before {
                    let (same, size) = (set.intersection(&before).count(), drawn.len());
                    let wanted = (share * size as f64).min(before.len() as f64);
                    let needed = (before.len() + size).saturating_sub(pages as usize);
                    prop_assert!((same as f64 - wanted).abs() < 1.0 || same == needed, "{same} of {size}");
                }
                before = Some(set);
                prop_assert_eq!(sets.order.iter().copied().collect::<HashSet<_>>().len(), pages as usize);
            }
        }
    }
}
