//! One list for all processors, by time of last service.
//!
//! What: one list for all processors: who was served longest ago goes first, whether in Q1 or in Q2; a better user takes the
//! processor on which he became ready, no other.
//! Why: the dispatcher of attached processors before their changes; with Q1 before Q2 (the first change) it is `priority`.
//! Reference: [TB84], VM/370 release 5 on attached processors.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Dispatch, Ready};

/// (Served, user): the least goes first.
type Key = (u64, u32);

#[derive(Debug)]
struct ByDeadline(BinaryHeap<Reverse<Key>>);

pub fn make(users: usize, _: usize) -> Box<dyn Dispatch> {
    Box::new(ByDeadline(BinaryHeap::with_capacity(users)))
}

fn key(ready: &Ready) -> Key {
    (ready.served.ns(), ready.user)
}

impl Dispatch for ByDeadline {
    fn enter(&mut self, ready: Ready) {
        self.0.push(Reverse(key(&ready)));
    }

    fn next(&mut self, _: usize) -> Option<u32> {
        self.0.pop().map(|Reverse((_, user))| user)
    }

    fn waiting(&self) -> usize {
        self.0.len()
    }

    fn has_for(&self, _: usize) -> bool {
        !self.0.is_empty()
    }

    fn yields(&self, first: &Ready, second: &Ready) -> bool {
        key(first) > key(second)
    }

    fn outranks(&self, _: usize, running: &Ready) -> bool {
        self.0.peek().is_some_and(|&Reverse(first)| first < key(running))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{order, ready};
    use super::*;

    #[test]
    fn who_was_served_longest_ago_goes_first_in_q1_or_not() {
        let mut list = make(4, 2);
        for (user, interactive, served) in [(0, false, 1), (1, true, 9), (2, false, 0), (3, true, 5)] {
            list.enter(ready(user, interactive, served, false));
        }
        assert!(list.has_for(0) && list.has_for(1));
        // User 2 is the best of the list: served at 0.
        assert!(list.outranks(1, &ready(7, true, 6, false)));
        assert!(!list.outranks(1, &ready(1, false, 0, false)));
        assert_eq!(order(&mut *list), [2, 0, 3, 1]);
    }
}
