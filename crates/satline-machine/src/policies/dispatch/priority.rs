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
struct Priority(BinaryHeap<Reverse<Key>>);

pub fn make(users: usize) -> Box<dyn Dispatch> {
    Box::new(Priority(BinaryHeap::with_capacity(users)))
}

fn key(ready: &Ready) -> Key {
    u128::from(!ready.interactive) << 96 | u128::from(ready.served.ns()) << 32 | u128::from(ready.user)
}

impl Dispatch for Priority {
    fn enter(&mut self, ready: Ready) {
        self.0.push(Reverse(key(&ready)));
    }

    fn next(&mut self) -> Option<u32> {
        self.0.pop().map(|Reverse(key)| key as u32)
    }

    fn yields(&self, first: &Ready, second: &Ready) -> bool {
        key(first) > key(second)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{order, ready};
    use super::*;

    #[test]
    fn q1_goes_first_then_who_was_served_longest_ago() {
        let mut list = make(4);
        for (user, interactive, served) in [(0, false, 1), (1, true, 9), (2, false, 0), (3, true, 5)] {
            list.enter(ready(user, interactive, served, false));
        }
        assert_eq!(order(&mut *list), [3, 1, 2, 0]);
    }

    #[test]
    fn a_better_user_goes_before_an_interrupted_one() {
        let mut list = make(2);
        list.enter(ready(0, false, 3, true));
        list.enter(ready(1, true, 8, false));
        assert_eq!(order(&mut *list), [1, 0]);
        let (better, worse) = (ready(1, true, 8, false), ready(0, false, 3, false));
        assert!(list.yields(&worse, &better) && !list.yields(&better, &worse));
    }
}
