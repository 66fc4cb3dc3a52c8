//! The swap lists: users whose working set waits in storage to go out.
//!
//! Reference: [T87], prepage prototype: FIFO, one list for users dropped from Q1 and one for those from Q2.

use std::collections::VecDeque;

use crate::configuration::PhysicalOrder;

/// Users in the order in which they are swapped out.
#[derive(Debug)]
pub(super) struct SwapList {
    order: PhysicalOrder,
    /// Dropped from Q1, from Q2: (which drop of all it was, user), the first in front.
    lists: [VecDeque<(u64, u32)>; 2],
    drops: u64,
    /// Of him a set went out already; his others follow before anybody else's.
    under_way: Option<u32>,
}

impl SwapList {
    pub fn new(order: PhysicalOrder, users: usize) -> Self {
        Self {
            order,
            lists: std::array::from_fn(|_| VecDeque::with_capacity(users)),
            drops: 0,
            under_way: None,
        }
    }

    pub fn len(&self) -> u32 {
        (self.lists[0].len() + self.lists[1].len()) as u32
    }

    pub fn contains(&self, user: u32) -> bool {
        self.lists.iter().flatten().any(|&(_, one)| one == user)
    }

    /// A user dropped from Q1 (`interactive`) or Q2.
    pub fn push(&mut self, user: u32, interactive: bool) {
        self.drops += 1;
        self.lists[usize::from(!interactive)].push_back((self.drops, user));
    }

    /// Whose set goes out next; from now on he is under way.
    pub fn next(&mut self) -> Option<u32> {
        let [q1, q2] = self.lists.each_ref().map(VecDeque::front);
        let first = match self.order {
            PhysicalOrder::Q2First => q2.or(q1),
            PhysicalOrder::Q1First => q1.or(q2),
            PhysicalOrder::Fifo => [q1, q2].into_iter().flatten().min(),
        };
        self.under_way = self.under_way.or(first.map(|&(_, user)| user));
        self.under_way
    }

    /// He came back, or is out altogether.
    pub fn remove(&mut self, user: u32) {
        self.lists
            .iter_mut()
            .for_each(|list| list.retain(|&(_, one)| one != user));
        if self.under_way == Some(user) {
            self.under_way = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Users 1 and 3 dropped from Q1, 0 and 2 from Q2, in the order 0 1 2 3.
    fn order(order: PhysicalOrder) -> Vec<u32> {
        let mut list = SwapList::new(order, 4);
        (0..4).for_each(|user| list.push(user, user % 2 == 1));
        std::iter::from_fn(|| {
            let user = list.next()?;
            list.remove(user);
            Some(user)
        })
        .collect()
    }

    #[test]
    fn users_go_out_in_the_order_that_was_chosen() {
        assert_eq!(order(PhysicalOrder::Q2First), [0, 2, 1, 3]);
        assert_eq!(order(PhysicalOrder::Fifo), [0, 1, 2, 3]);
        assert_eq!(order(PhysicalOrder::Q1First), [1, 3, 0, 2]);
    }

    #[test]
    fn one_user_goes_out_completely_before_the_next() {
        let mut list = SwapList::new(PhysicalOrder::Q2First, 4);
        list.push(7, true);
        assert_eq!(list.next(), Some(7));
        list.push(8, false);
        assert_eq!((list.next(), list.len()), (Some(7), 2));
        list.remove(7);
        assert_eq!(
            (list.next(), list.contains(7), list.contains(8)),
            (Some(8), false, true)
        );
    }
}
