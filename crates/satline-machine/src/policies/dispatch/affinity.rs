//! A list for each processor, with soft affinity.
//!
//! What: each processor has a list of its own, Q1 before Q2 and then who was served longest ago; a new transaction goes to the
//! shortest, and stays there.
//! Why: a user who goes on where he was finds his data in that processor's cache; but one list may be empty while another
//! is long.
//! Reference: [TB84], VM/SP HPO.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Dispatch, Ready};

/// (Q2, served, user): the least goes first.
type Key = (bool, u64, u32);

#[derive(Debug)]
struct List {
    waiting: BinaryHeap<Reverse<Key>>,
    /// The processor got a user when it last asked.
    runs: bool,
}

/// Lists by processor.
#[derive(Debug)]
pub(super) struct Lists {
    lists: Vec<List>,
    /// A processor with an empty list takes from others.
    steals: bool,
}

pub fn make(users: usize, processors: usize) -> Box<dyn Dispatch> {
    Box::new(Lists::new(users, processors, false))
}

fn key(ready: &Ready) -> Key {
    (!ready.interactive, ready.served.ns(), ready.user)
}

impl Lists {
    pub fn new(users: usize, processors: usize, steals: bool) -> Self {
        let list = |_| List {
            waiting: BinaryHeap::with_capacity(users),
            runs: false,
        };
        Self {
            lists: (0..processors.max(1)).map(list).collect(),
            steals,
        }
    }

    /// With the fewest who wait or run, the first of them.
    fn shortest(&self) -> usize {
        let length = |list: &List| list.waiting.len() + usize::from(list.runs);
        let lists = self.lists.iter().enumerate();
        let best = lists.min_by_key(|(number, list)| (length(list), *number));
        best.map_or(0, |(number, _)| number)
    }

    /// The longest of the other lists with two who wait, the first of them.
    fn rich(&self, processor: usize) -> Option<usize> {
        let others = self.lists.iter().enumerate();
        let rich = others.filter(|&(number, list)| number != processor && list.waiting.len() >= 2);
        let best = rich.max_by_key(|(number, list)| (list.waiting.len(), Reverse(*number)));
        best.map(|(number, _)| number)
    }
}

impl Dispatch for Lists {
    fn enter(&mut self, ready: Ready) {
        let list = ready.last.map_or_else(|| self.shortest(), usize::from);
        // He is counted among those who wait from now on.
        self.lists[list].runs &= !ready.interrupted;
        self.lists[list].waiting.push(Reverse(key(&ready)));
    }

    fn next(&mut self, processor: usize) -> Option<u32> {
        let own = self.lists[processor].waiting.pop();
        let found = own.or_else(|| {
            let rich = self.rich(processor).filter(|_| self.steals)?;
            let waiting = &mut self.lists[rich].waiting;
            // Its first stays for its own processor.
            let first = waiting.pop()?;
            let second = waiting.pop();
            waiting.push(first);
            second
        });
        self.lists[processor].runs = found.is_some();
        found.map(|Reverse((_, _, user))| user)
    }

    fn waiting(&self) -> usize {
        self.lists.iter().map(|list| list.waiting.len()).sum()
    }

    fn has_for(&self, processor: usize) -> bool {
        !self.lists[processor].waiting.is_empty() || (self.steals && self.rich(processor).is_some())
    }

    fn yields(&self, first: &Ready, second: &Ready) -> bool {
        key(first) > key(second)
    }

    fn outranks(&self, processor: usize, running: &Ready) -> bool {
        let first = self.lists[processor].waiting.peek();
        first.is_some_and(|&Reverse(first)| first < key(running))
    }

    fn looks(&self) -> bool {
        self.steals
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ready;
    use super::*;

    fn on(user: u32, last: Option<u16>) -> Ready {
        Ready {
            last,
            ..ready(user, true, user.into(), false)
        }
    }

    #[test]
    fn a_transaction_stays_and_a_new_one_goes_to_the_shortest_list() {
        let mut lists = Lists::new(9, 2, false);
        lists.enter(on(5, Some(1)));
        lists.enter(on(6, None));
        assert!(lists.has_for(0) && lists.has_for(1));
        assert_eq!((lists.next(0), lists.next(1)), (Some(6), Some(5)));
        // Both run somebody: the first.
        lists.enter(on(7, None));
        assert!(!lists.has_for(1));
        assert_eq!((lists.next(1), lists.next(0)), (None, Some(7)));
        // The other one is idle.
        lists.enter(on(4, None));
        assert_eq!(lists.next(1), Some(4));
        // An interrupted user is one, and not two.
        let taken_off = Ready {
            interrupted: true,
            ..on(7, Some(0))
        };
        lists.enter(taken_off);
        lists.enter(on(8, None));
        assert_eq!((lists.next(0), lists.next(0)), (Some(7), Some(8)));
    }

    #[test]
    fn an_idle_processor_takes_the_second_of_two_if_it_may() {
        for steals in [false, true] {
            let mut lists = Lists::new(8, 3, steals);
            lists.enter(on(1, Some(1)));
            assert_eq!((lists.has_for(0), lists.next(0)), (false, None));
            lists.enter(on(2, Some(1)));
            lists.enter(on(3, Some(1)));
            let found = lists.next(0);
            assert_eq!(found, steals.then_some(2));
            assert_eq!(lists.next(1), Some(1));
        }
    }
}
