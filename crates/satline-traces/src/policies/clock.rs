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

/// The hand alone, for reference bits that are kept elsewhere.
#[derive(Debug, Default)]
pub struct Hand(u32);

impl Hand {
    /// The first frame that is not spared. `spares` is asked frame by frame, and resets the bit of a referenced one.
    pub fn sweep(&mut self, frames: u32, mut spares: impl FnMut(u32) -> bool) -> Option<u32> {
        // The first sweep resets every bit, so the second finds a frame if one can be taken at all.
        for _ in 0..2 * frames {
            let at = self.0;
            self.0 = if at + 1 == frames { 0 } else { at + 1 };
            if !spares(at) {
                return Some(at);
            }
        }
        None
    }
}

#[derive(Debug)]
pub struct Clock {
    states: Vec<u8>,
    hand: Hand,
}

impl Policy for Clock {
    const SOURCE: &str = include_str!("clock.rs");

    fn new(setup: &Setup) -> Self {
        Self {
            states: vec![OUT; setup.frames as usize],
            hand: Hand::default(),
        }
    }

    fn touched(&mut self, frame: u32) {
        self.states[frame as usize] = REFERENCED;
    }

    fn came(&mut self, frame: u32, _page: u32) {
        self.states[frame as usize] = IN;
    }

    fn victim(&mut self, _wanted: Option<u32>, takeable: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        let states = &mut self.states;
        let taken = self.hand.sweep(states.len() as u32, |frame| {
            let state = &mut states[frame as usize];
            let was = *state;
            *state = was.min(IN);
            was != IN || !takeable(frame)
        })?;
        self.left(taken);
        Some(taken)
    }

    fn left(&mut self, frame: u32) {
        self.states[frame as usize] = OUT;
    }
}
