//! CLOCK: one reference bit per frame and a hand.
//!
//! What: a hand sweeps over the frames; a referenced frame loses its bit, the first unreferenced one is taken. A page
//! comes with its bit off: the touch that wanted it does not count.
//! Why: LRU's one-bit approximation, as in the core table scan of VM [T87], and all that most hardware helps with.
//! Reference: Corbató, A paging experiment with the Multics system, 1968. As FIFO with reinsertion it is the same.

use super::{Policy, Setup};

/// Of a frame.
const OUT: u8 = 0;
const IN: u8 = 1;
const REFERENCED: u8 = 2;

#[derive(Debug)]
pub struct Clock {
    states: Vec<u8>,
    hand: usize,
}

impl Policy for Clock {
    const SOURCE: &str = include_str!("clock.rs");

    fn new(setup: &Setup) -> Self {
        Self {
            states: vec![OUT; setup.frames as usize],
            hand: 0,
        }
    }

    fn touched(&mut self, frame: u32) {
        self.states[frame as usize] = REFERENCED;
    }

    fn came(&mut self, frame: u32, _page: u32) {
        self.states[frame as usize] = IN;
    }

    fn victim(&mut self, _wanted: Option<u32>, takeable: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        // The first sweep resets every bit, so the second finds a frame if one can be taken at all.
        for _ in 0..2 * self.states.len() {
            let at = self.hand;
            self.hand = if at + 1 == self.states.len() { 0 } else { at + 1 };
            match self.states[at] {
                REFERENCED => self.states[at] = IN,
                IN if takeable(at as u32) => {
                    self.states[at] = OUT;
                    return Some(at as u32);
                }
                _ => {}
            }
        }
        None
    }

    fn left(&mut self, frame: u32) {
        self.states[frame as usize] = OUT;
    }
}
