//! Any page.
//!
//! What: a frame is taken by chance, each with the same probability.
//! Why: the peer without any memory, not even of arrival.
//! Reference: Belady, A study of replacement algorithms for a virtual-storage computer, 1966.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Policy, Setup};

#[derive(Debug)]
pub struct Random {
    drawn: Pcg64Mcg,
    frames: u32,
    inside: Vec<bool>,
}

impl Policy for Random {
    const SOURCE: &str = include_str!("random.rs");

    fn new(setup: &Setup) -> Self {
        Self {
            drawn: Pcg64Mcg::seed_from_u64(setup.seed),
            frames: setup.frames,
            inside: vec![false; setup.frames as usize],
        }
    }

    fn touched(&mut self, _frame: u32) {}

    fn came(&mut self, frame: u32, _page: u32) {
        self.inside[frame as usize] = true;
    }

    fn victim(&mut self, _wanted: Option<u32>, takeable: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        // Nearly always the first draw will do; where few frames can be taken, the next one after it does.
        let drawn = self.drawn.random_range(0..self.frames);
        let inside = &mut self.inside;
        let found = (drawn..self.frames)
            .chain(0..drawn)
            .find(|&frame| inside[frame as usize] && takeable(frame))?;
        inside[found as usize] = false;
        Some(found)
    }

    fn left(&mut self, frame: u32) {
        self.inside[frame as usize] = false;
    }
}
