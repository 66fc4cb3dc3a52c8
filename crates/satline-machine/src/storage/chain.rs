//! Frames in a row: any can be taken out at once.

/// No frame.
pub const NONE: u32 = u32::MAX;

/// A list of frames, each in it at most once.
#[derive(Debug)]
pub struct Chain {
    /// By frame (before, after); a frame that is out has itself before it.
    links: Vec<(u32, u32)>,
    first: u32,
    last: u32,
    len: u32,
}

impl Chain {
    /// An empty list for frames 0 to so many.
    pub fn new(frames: u32) -> Self {
        Self {
            links: (0..frames).map(|frame| (frame, NONE)).collect(),
            first: NONE,
            last: NONE,
            len: 0,
        }
    }

    pub fn len(&self) -> u32 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn contains(&self, frame: u32) -> bool {
        self.links[frame as usize].0 != frame
    }

    pub fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    /// The one after a frame that is in the list.
    pub fn after(&self, frame: u32) -> Option<u32> {
        let after = self.links[frame as usize].1;
        (after != NONE).then_some(after)
    }

    /// # Panics
    /// It is in the list.
    pub fn push_back(&mut self, frame: u32) {
        self.insert(self.last, frame, NONE);
    }

    /// # Panics
    /// It is in the list.
    pub fn push_front(&mut self, frame: u32) {
        self.insert(NONE, frame, self.first);
    }

    pub fn pop_front(&mut self) -> Option<u32> {
        let first = self.first()?;
        self.remove(first);
        Some(first)
    }

    /// Takes a frame out; false if it was not in.
    pub fn remove(&mut self, frame: u32) -> bool {
        if !self.contains(frame) {
            return false;
        }
        let (before, after) = self.links[frame as usize];
        self.link(before, after);
        self.links[frame as usize] = (frame, NONE);
        self.len -= 1;
        true
    }

    fn insert(&mut self, before: u32, frame: u32, after: u32) {
        assert!(!self.contains(frame), "frame {frame} is in the list already");
        self.link(before, frame);
        self.link(frame, after);
        self.len += 1;
    }

    fn link(&mut self, before: u32, after: u32) {
        match before {
            NONE => self.first = after,
            frame => self.links[frame as usize].1 = after,
        }
        match after {
            NONE => self.last = before,
            frame => self.links[frame as usize].0 = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_queue_from_which_any_may_leave(steps in prop::collection::vec((0..4u8, 0..8u32), 0..100)) {
            let (mut chain, mut queue) = (Chain::new(8), VecDeque::new());
            for (what, frame) in steps {
                let inside = queue.contains(&frame);
                prop_assert_eq!(chain.contains(frame), inside);
                match what {
                    0 if !inside => { chain.push_back(frame); queue.push_back(frame); }
                    1 if !inside => { chain.push_front(frame); queue.push_front(frame); }
                    2 => prop_assert_eq!(chain.pop_front(), queue.pop_front()),
                    _ => { prop_assert_eq!(chain.remove(frame), inside); queue.retain(|&one| one != frame); }
                }
                let listed: Vec<u32> = std::iter::successors(chain.first(), |&one| chain.after(one)).collect();
                prop_assert_eq!(&listed, &Vec::from(queue.clone()));
                prop_assert_eq!(chain.len() as usize, queue.len());
            }
        }
    }
}
