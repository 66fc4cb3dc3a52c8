//! Dispatching in turn.
//!
//! What: first come, first served, for a quantum each; an interrupted user goes on before all others.
//! Why: the control against which priorities show what they are worth.
//! Reference: a textbook's round robin, without preemption.

use std::collections::VecDeque;

use super::{Dispatch, Ready};

#[derive(Debug)]
struct RoundRobin(VecDeque<u32>);

pub fn make(users: usize, _: usize) -> Box<dyn Dispatch> {
    Box::new(RoundRobin(VecDeque::with_capacity(users)))
}

impl Dispatch for RoundRobin {
    fn enter(&mut self, ready: Ready) {
        if ready.interrupted {
            self.0.push_front(ready.user);
        } else {
            self.0.push_back(ready.user);
        }
    }

    fn next(&mut self, _: usize) -> Option<u32> {
        self.0.pop_front()
    }

    fn waiting(&self) -> usize {
        self.0.len()
    }

    fn has_for(&self, _: usize) -> bool {
        !self.0.is_empty()
    }

    fn yields(&self, _: &Ready, _: &Ready) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{order, ready};
    use super::*;

    #[test]
    fn the_interrupted_one_goes_on_and_the_others_take_turns() {
        let mut list = make(3, 1);
        list.enter(ready(2, false, 0, false));
        list.enter(ready(1, true, 0, false));
        list.enter(ready(0, false, 9, true));
        assert_eq!(order(&mut *list), [0, 2, 1]);
    }
}
