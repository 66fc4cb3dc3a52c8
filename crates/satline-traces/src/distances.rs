//! LRU at all sizes in one pass.
//!
//! A reference's stack distance is the number of different pages since the last one to its page, that page included;
//! LRU of C frames misses it when the distance is larger than C, or the page new [Mattson et al., 1970]. Distances are
//! counted in a Fenwick tree over positions (Bennett, Kruskal, 1975), made anew when it is full: time n log(pages).

use crate::policies::NONE;
use crate::trace::Trace;

/// `misses[c]`: misses of LRU with c frames, for 0 to `trace.pages`.
pub fn lru_misses(trace: &Trace) -> Vec<u64> {
    let pages = trace.pages as usize;
    let mut by_distance = vec![0_u64; pages + 1];
    let mut stack = Stack::new(pages);
    for &page in &trace.references {
        if let Some(distance) = stack.reference(page) {
            by_distance[distance as usize] += 1;
        }
    }
    let mut misses = trace.references.len() as u64;
    let below = by_distance.iter().map(|hits| {
        misses -= hits;
        misses
    });
    below.collect()
}

/// The last reference to each page, in order.
struct Stack {
    /// By page: its position. Positions only grow.
    position_of: Vec<u32>,
    /// Sums of marks, one at each page's position.
    sums: Vec<u32>,
    /// By position: the page, as long as it is the page's last one.
    page_at: Vec<u32>,
    next: u32,
    seen: u32,
}

impl Stack {
    fn new(pages: usize) -> Self {
        let room = (4 * pages).max(64);
        Self {
            position_of: vec![NONE; pages],
            sums: vec![0; room + 1],
            page_at: vec![NONE; room],
            next: 0,
            seen: 0,
        }
    }

    fn reference(&mut self, page: u32) -> Option<u32> {
        if self.next as usize == self.page_at.len() {
            self.compact();
        }
        let before = std::mem::replace(&mut self.position_of[page as usize], self.next);
        let mut distance = None;
        if before == NONE {
            self.seen += 1;
        } else if before + 1 == self.next {
            // The same page again.
            self.position_of[page as usize] = before;
            return Some(1);
        } else {
            distance = Some(self.seen - self.up_to(before) + 1);
            self.add(before, u32::MAX);
            self.page_at[before as usize] = NONE;
        }
        self.page_at[self.next as usize] = page;
        self.add(self.next, 1);
        self.next += 1;
        distance
    }

    /// Marks at positions up to and with this.
    fn up_to(&self, position: u32) -> u32 {
        let (mut at, mut sum) = (position as usize + 1, 0_u32);
        while at > 0 {
            sum = sum.wrapping_add(self.sums[at]);
            at &= at - 1;
        }
        sum
    }

    fn add(&mut self, position: u32, what: u32) {
        let mut at = position as usize + 1;
        while at < self.sums.len() {
            self.sums[at] = self.sums[at].wrapping_add(what);
            at += at & at.wrapping_neg();
        }
    }

    /// Moves all marks together at the beginning.
    fn compact(&mut self) {
        let mut next = 0;
        for at in 0..self.page_at.len() {
            let page = std::mem::replace(&mut self.page_at[at], NONE);
            if page != NONE {
                self.page_at[next as usize] = page;
                self.position_of[page as usize] = next;
                next += 1;
            }
        }
        self.next = next;
        for at in 1..self.sums.len() {
            let low = at & (at - 1);
            // Marks are at all positions below `next`: the sum over positions low to at − 1.
            self.sums[at] = (at.min(next as usize) as u32).saturating_sub(low as u32);
        }
    }
}
