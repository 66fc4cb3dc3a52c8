//! How many log-ons may be under way at one time, where the other end bounds them.

use std::collections::VecDeque;

/// Who waits is let in one by one, in order.
#[derive(Debug)]
pub struct Door {
    most: usize,
    under_way: usize,
    /// Users from 0.
    waiting: VecDeque<usize>,
}

impl Door {
    pub fn new(most: usize) -> Self {
        Self {
            most,
            under_way: 0,
            waiting: VecDeque::new(),
        }
    }

    /// True if this user's log-on may begin now; else it is told by `leave` when it may.
    pub fn enter(&mut self, user: usize) -> bool {
        if self.under_way < self.most {
            self.under_way += 1;
            return true;
        }
        if !self.waiting.contains(&user) {
            self.waiting.push_back(user);
        }
        false
    }

    /// A log-on is no longer under way; who may ask again now.
    pub fn leave(&mut self) -> Option<usize> {
        self.under_way = self.under_way.saturating_sub(1);
        self.waiting.pop_front()
    }

    /// Those for whom there is room though nobody left: others were asked in and did not want to any more.
    pub fn overlooked(&mut self) -> Vec<usize> {
        let room = self.most.saturating_sub(self.under_way).min(self.waiting.len());
        self.waiting.drain(..room).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Door;

    #[test]
    fn as_many_as_allowed_and_the_others_in_order() {
        let mut door = Door::new(2);
        assert_eq!(
            [0, 1, 2, 3, 2].map(|user| door.enter(user)),
            [true, true, false, false, false]
        );
        assert_eq!(door.leave(), Some(2));
        assert!(door.enter(2) && !door.enter(4));
        assert_eq!([door.leave(), door.leave()], [Some(3), Some(4)]);
        assert!(door.enter(5) && door.enter(6) && !door.enter(7) && door.overlooked().is_empty());
        door.under_way = 0;
        assert_eq!((door.overlooked(), door.leave()), (vec![7], None));
    }
}
