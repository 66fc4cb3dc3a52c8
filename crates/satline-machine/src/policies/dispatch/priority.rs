//! Preemptive dispatching by priority.
//!
//! What: Q1 before Q2, then who was served longest ago; at every I/O or page completion the list is searched, and a
//! better user takes the processor.
//! Why: short tasks and those that wait for I/O keep the devices busy and cost compute-bound ones little.
//! Reference: [TB84], uniprocessor; [Bard], deadline priority by time of last service.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Dispatch, Ready};

/// The least goes first: (Q2, served, user) as one number. The user settles ties, so that an interrupted one keeps his
/// place.
type Key = u128;

#[derive(Debug)]
struct Priority {
    /// The first of all, if it is known: mostly who was interrupted goes on, and the heap is left alone.
    first: Option<Key>,
    others: BinaryHeap<Reverse<Key>>,
}

pub fn make(users: usize, _: usize) -> Box<dyn Dispatch> {
    Box::new(Priority {
        first: None,
        others: BinaryHeap::with_capacity(users),
    })
}

fn key(ready: &Ready) -> Key {
    u128::from(!ready.interactive) << 96 | u128::from(ready.served.ns()) << 32 | u128::from(ready.user)
}

impl Dispatch for Priority {
    fn enter(&mut self, ready: Ready) {
        let key = key(&ready);
        let goes_first = match self.first {
            Some(first) => key < first,
            None => self.others.peek().is_none_or(|&Reverse(other)| key < other),
        };
        let waits = match goes_first {
            true => self.first.replace(key),
            false => Some(key),
        };
        if let Some(waits) = waits {
            self.others.push(Reverse(waits));
        }
    }

    fn next(&mut self, _: usize) -> Option<u32> {
        let first = self.first.take();
        first
            .or_else(|| self.others.pop().map(|Reverse(key)| key))
            .map(|key| key as u32)
    }

    fn waiting(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    fn has_for(&self, _: usize) -> bool {
        self.first.is_some() || !self.others.is_empty()
    }

    fn yields(&self, first: &Ready, second: &Ready) -> bool {
        key(first) > key(second)
    }

    fn outranks(&self, _: usize, running: &Ready) -> bool {
        let others = self.others.peek().map(|&Reverse(key)| key);
        self.first.or(others).is_some_and(|first| first < key(running))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::tests::{order, ready};
    use super::*;

    #[test]
    fn q1_goes_first_then_who_was_served_longest_ago() {
        let mut list = make(4, 1);
        for (user, interactive, served) in [(0, false, 1), (1, true, 9), (2, false, 0), (3, true, 5)] {
            list.enter(ready(user, interactive, served, false));
        }
        assert_eq!(order(&mut *list), [3, 1, 2, 0]);
    }

    #[test]
    fn a_better_user_goes_before_an_interrupted_one() {
        let mut list = make(2, 1);
        list.enter(ready(0, false, 3, true));
        list.enter(ready(1, true, 8, false));
        assert_eq!(order(&mut *list), [1, 0]);
        let (better, worse) = (ready(1, true, 8, false), ready(0, false, 3, false));
        assert!(list.yields(&worse, &better) && !list.yields(&better, &worse));
    }

    proptest! {
        #[test]
        fn whoever_comes_in_between_the_best_goes_next(
            steps in prop::collection::vec(prop::option::of((any::<bool>(), 0..4u64)), 0..80),
        ) {
            let (mut list, mut sorted) = (make(80, 1), BTreeSet::new());
            for (user, step) in (0..).zip(steps) {
                match step {
                    Some((interactive, served)) => {
                        list.enter(ready(user, interactive, served, false));
                        sorted.insert((!interactive, served, user));
                    }
                    None => prop_assert_eq!(list.next(0), sorted.pop_first().map(|(_, _, user)| user)),
                }
            }
            prop_assert!(order(&mut *list).into_iter().eq(sorted.into_iter().map(|(_, _, user)| user)));
        }
    }
}
