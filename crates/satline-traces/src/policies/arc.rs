//! ARC: adaptive replacement.
//!
//! What: pages touched once and pages touched again are two LRU lists, each with the ghosts of those that left it; a ghost
//! that is wanted again moves the target for the first list's share.
//! Why: it balances recency against frequency by its own mistakes, without a parameter.
//! Reference: Megiddo, Modha, ARC: a self-tuning, low overhead replacement cache, FAST 2003. The target is a real number,
//! as there.

use super::{Ghosts, Links, NONE, Policy, Setup};

/// Touched once.
const T1: u32 = 0;
/// Touched again.
const T2: u32 = 1;

#[derive(Debug)]
pub struct Arc {
    lists: Links,
    list_of: Vec<u32>,
    page_of: Vec<u32>,
    /// B1 and B2 of the paper.
    ghosts: [Ghosts; 2],
    /// p of the paper: frames that T1 is to have.
    target: f64,
    frames: u32,
    /// The ghost for which the last victim was taken.
    recalled: u32,
}

impl Arc {
    /// A ghost is wanted: learns from it and forgets it. The list that it left; `None`: it is no ghost.
    fn recall(&mut self, page: u32) -> Option<u32> {
        let list = [T1, T2]
            .into_iter()
            .find(|&list| self.ghosts[list as usize].contains(page))?;
        let [b1, b2] = [&self.ghosts[0], &self.ghosts[1]].map(|ghosts| f64::from(ghosts.count()));
        self.target = match list {
            T1 => (self.target + (b2 / b1).max(1.0)).min(f64::from(self.frames)),
            _ => (self.target - (b1 / b2).max(1.0)).max(0.0),
        };
        self.ghosts[list as usize].remove(page);
        self.recalled = page;
        Some(list)
    }

    /// The oldest of this list or, where none can be taken, of the other; it becomes a ghost.
    fn take(&mut self, list: u32, takeable: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        for list in [list, 1 - list] {
            if let Some(frame) = self.lists.take_oldest(list, &mut *takeable) {
                self.ghosts[list as usize].push(self.page_of[frame as usize]);
                return Some(frame);
            }
        }
        None
    }
}

impl Policy for Arc {
    const SOURCE: &str = include_str!("arc.rs");

    fn new(setup: &Setup) -> Self {
        let frames = setup.frames as usize;
        Self {
            lists: Links::new(setup.frames, 2),
            list_of: vec![T1; frames],
            page_of: vec![NONE; frames],
            ghosts: [Ghosts::new(setup.pages), Ghosts::new(setup.pages)],
            target: 0.0,
            frames: setup.frames,
            recalled: NONE,
        }
    }

    fn touched(&mut self, frame: u32) {
        let list = std::mem::replace(&mut self.list_of[frame as usize], T2);
        if list == T2 {
            self.lists.renew(T2, frame);
        } else {
            self.lists.remove(T1, frame);
            self.lists.push(T2, frame);
        }
    }

    fn came(&mut self, frame: u32, page: u32) {
        let known = self.recalled == page || self.recall(page).is_some();
        self.recalled = NONE;
        let list = if known { T2 } else { T1 };
        self.page_of[frame as usize] = page;
        self.list_of[frame as usize] = list;
        self.lists.push(list, frame);
    }

    fn victim(&mut self, wanted: Option<u32>, takeable: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        let ghost = wanted.and_then(|page| self.recall(page));
        let [t1, t2] = [self.lists.len(T1), self.lists.len(T2)];
        if ghost.is_none() {
            let [b1, b2] = [self.ghosts[0].count(), self.ghosts[1].count()];
            // Case IV of the paper: neither L1 nor L1 and L2 together remember more than their share.
            if t1 + b1 >= self.frames {
                if t1 >= self.frames {
                    return self.lists.take_oldest(T1, takeable);
                }
                self.ghosts[0].forget_oldest();
            } else if t1 + t2 + b1 + b2 >= 2 * self.frames {
                self.ghosts[1].forget_oldest();
            }
        }
        // REPLACE of the paper.
        let t1 = f64::from(t1);
        let first = t1 >= 1.0 && (t1 > self.target || (ghost == Some(T2) && t1 == self.target));
        self.take(if first { T1 } else { T2 }, takeable)
    }

    fn left(&mut self, frame: u32) {
        self.lists.remove(self.list_of[frame as usize], frame);
    }
}
