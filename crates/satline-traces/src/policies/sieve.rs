//! SIEVE.
//!
//! What: pages stay in the order in which they came; a hand goes from the oldest to the newest, resets the bits of
//! referenced pages and takes the first unreferenced one, and stays there. New pages come behind the newest.
//! Why: CLOCK that does not move what it spares: new pages are judged soon, old ones of worth stay.
//! Reference: Zhang, Yang, Yue, Vigfusson, Rashmi, SIEVE is simpler than LRU, NSDI 2024.

use super::{Links, NONE, Policy, Setup};

#[derive(Debug)]
pub struct Sieve {
    order: Links,
    referenced: Vec<bool>,
    /// The frame to be looked at next; none: the oldest.
    hand: u32,
}

impl Policy for Sieve {
    const SOURCE: &str = include_str!("sieve.rs");

    fn new(setup: &Setup) -> Self {
        Self {
            order: Links::new(setup.frames, 1),
            referenced: vec![false; setup.frames as usize],
            hand: NONE,
        }
    }

    fn touched(&mut self, frame: u32) {
        self.referenced[frame as usize] = true;
    }

    fn came(&mut self, frame: u32, _page: u32) {
        self.referenced[frame as usize] = false;
        self.order.push(0, frame);
    }

    fn victim(&mut self, _wanted: Option<u32>, takeable: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        // The first round resets every bit.
        for _ in 0..2 * self.order.len(0) {
            let at = match self.hand {
                NONE => self.order.oldest(0)?,
                hand => hand,
            };
            self.hand = self.order.newer(at).unwrap_or(NONE);
            if std::mem::replace(&mut self.referenced[at as usize], false) {
                continue;
            }
            if takeable(at) {
                self.order.remove(0, at);
                return Some(at);
            }
        }
        None
    }

    fn left(&mut self, frame: u32) {
        if self.hand == frame {
            self.hand = self.order.newer(frame).unwrap_or(NONE);
        }
        self.order.remove(0, frame);
    }
}
