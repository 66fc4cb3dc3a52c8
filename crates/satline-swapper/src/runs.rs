//! Sets of pages as runs of neighbours in order of virtual address.

use std::cmp::{max, min};

/// Neighbouring pages, from `start` up to but not including `end`; page numbers, not addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub start: u64,
    pub end: u64,
}

impl Run {
    /// How many pages it has.
    pub fn pages(self) -> u64 {
        self.end - self.start
    }
}

/// A set of pages. Its runs are in order, not empty, and never touch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runs(Vec<Run>);

impl Runs {
    /// The runs in order of address.
    pub fn iter(&self) -> impl Iterator<Item = Run> + '_ {
        self.0.iter().copied()
    }

    /// How many runs it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no page.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many pages it has.
    pub fn pages(&self) -> u64 {
        self.0.iter().map(|run| run.pages()).sum()
    }

    /// Whether it has this page.
    pub fn holds(&self, page: u64) -> bool {
        let after = self.0.partition_point(|run| run.start <= page);
        after > 0 && page < self.0[after - 1].end
    }

    /// Adds a run that begins at or after the end of the last; an empty one adds nothing.
    ///
    /// # Panics
    /// If it begins before the last one ends.
    pub fn push(&mut self, run: Run) {
        if run.start >= run.end {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            last => {
                assert!(last.is_none_or(|last| last.end < run.start), "runs out of order");
                self.0.push(run);
            }
        }
    }

    /// The pages that are in either.
    #[must_use]
    pub fn union(&self, other: &Runs) -> Runs {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut joined: Vec<Run> = Vec::with_capacity(self.len() + other.len());
        loop {
            let a_first = match (a.peek(), b.peek()) {
                (Some(a), Some(b)) => a.start <= b.start,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => return Runs(joined),
            };
            let Some(&next) = (if a_first { a.next() } else { b.next() }) else {
                return Runs(joined);
            };
            match joined.last_mut() {
                Some(last) if next.start <= last.end => last.end = max(last.end, next.end),
                _ => joined.push(next),
            }
        }
    }

    /// The pages that are in both.
    #[must_use]
    pub fn intersection(&self, other: &Runs) -> Runs {
        let (mut i, mut j) = (0, 0);
        let mut common = Runs::default();
        while let (Some(a), Some(b)) = (self.0.get(i), other.0.get(j)) {
            common.push(Run {
                start: max(a.start, b.start),
                end: min(a.end, b.end),
            });
            if a.end <= b.end {
                i += 1;
            } else {
                j += 1;
            }
        }
        common
    }

    /// The pages that are in this one but not in the other.
    #[must_use]
    pub fn difference(&self, other: &Runs) -> Runs {
        let mut left = Runs::default();
        let mut j = 0;
        for run in &self.0 {
            let mut start = run.start;
            while other.0.get(j).is_some_and(|b| b.end <= start) {
                j += 1;
            }
            let mut k = j;
            while let Some(b) = other.0.get(k).filter(|b| b.start < run.end) {
                left.push(Run { start, end: b.start });
                start = max(start, b.end);
                k += 1;
            }
            left.push(Run { start, end: run.end });
        }
        left
    }

    /// Cuts it in order of address into sets of `set_pages` pages (the last may be smaller). [T87] swap set.
    pub fn sets(&self, set_pages: u64) -> Vec<Runs> {
        let set_pages = set_pages.max(1);
        let (mut sets, mut set, mut room) = (Vec::new(), Runs::default(), set_pages);
        for mut run in self.iter() {
            while run.start < run.end {
                let taken = min(run.pages(), room);
                set.push(Run {
                    start: run.start,
                    end: run.start + taken,
                });
                run.start += taken;
                room -= taken;
                if room == 0 {
                    sets.push(std::mem::take(&mut set));
                    room = set_pages;
                }
            }
        }
        if !set.is_empty() {
            sets.push(set);
        }
        sets
    }

    /// Whether all pages of a run are in it.
    fn holds_all(&self, run: Run) -> bool {
        let next = self.0.partition_point(|own| own.start <= run.start);
        next.checked_sub(1)
            .and_then(|at| self.0.get(at))
            .is_some_and(|own| run.end <= own.end)
    }

    /// As few runs as hold all its pages when gaps up to `gap_pages` are filled with pages of `filler`.
    ///
    /// A gap is filled only where `filler` has all of it: a read over pages that are not outside would bring nothing.
    #[must_use]
    pub fn bridged(&self, gap_pages: u64, filler: &Runs) -> Runs {
        let mut bridges = Runs::default();
        for pair in self.0.windows(2) {
            let gap = Run {
                start: pair[0].end,
                end: pair[1].start,
            };
            if gap.pages() <= gap_pages && filler.holds_all(gap) {
                bridges.push(gap);
            }
        }
        self.union(&bridges)
    }
}

impl FromIterator<Run> for Runs {
    fn from_iter<I: IntoIterator<Item = Run>>(runs: I) -> Self {
        let mut all = Runs::default();
        runs.into_iter().for_each(|run| all.push(run));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn runs(pages: &BTreeSet<u64>) -> Runs {
        pages
            .iter()
            .map(|&page| Run {
                start: page,
                end: page + 1,
            })
            .collect()
    }

    fn pages(runs: &Runs) -> BTreeSet<u64> {
        runs.iter().flat_map(|run| run.start..run.end).collect()
    }

    fn is_proper(runs: &Runs) -> bool {
        runs.0.iter().all(|run| run.start < run.end) && runs.0.windows(2).all(|w| w[0].end < w[1].start)
    }

    fn some_pages() -> impl Strategy<Value = BTreeSet<u64>> {
        proptest::collection::btree_set(0u64..64, 0..40)
    }

    proptest! {
        #[test]
        fn it_is_a_set(a in some_pages(), b in some_pages()) {
            let (x, y) = (runs(&a), runs(&b));
            for (got, expected) in [
                (x.union(&y), &a | &b),
                (x.intersection(&y), &a & &b),
                (x.difference(&y), &a - &b),
            ] {
                prop_assert!(is_proper(&got), "{got:?}");
                prop_assert_eq!(pages(&got), expected);
            }
            for page in 0..64 {
                prop_assert_eq!(x.holds(page), a.contains(&page));
            }
        }

        #[test]
        fn sets_are_full_in_order_and_lose_nothing(a in some_pages(), size in 1u64..20) {
            let all = runs(&a);
            let sets = all.sets(size);
            let listed: Vec<u64> = sets.iter().flat_map(pages).collect();
            prop_assert_eq!(listed, a.iter().copied().collect::<Vec<_>>());
            for (index, set) in sets.iter().enumerate() {
                prop_assert!(is_proper(set));
                prop_assert!(set.pages() == size || index + 1 == sets.len() && set.pages() < size);
            }
        }

        #[test]
        fn bridges_are_short_and_made_of_filler(a in some_pages(), b in some_pages(), gap in 0u64..5) {
            let (all, filler) = (runs(&a), runs(&b));
            let bridged = all.bridged(gap, &filler);
            prop_assert!(is_proper(&bridged));
            prop_assert!(all.difference(&bridged).is_empty());
            let added = bridged.difference(&all);
            prop_assert!(added.difference(&filler).is_empty());
            prop_assert!(added.iter().all(|run| run.pages() <= gap));
            for pair in bridged.0.windows(2) {
                let between: Vec<u64> = (pair[0].end..pair[1].start).collect();
                let is_long = between.len() as u64 > gap;
                prop_assert!(is_long || !between.iter().all(|&page| filler.holds(page)));
            }
        }
    }
}
