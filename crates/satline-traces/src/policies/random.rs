//! Any page.
//!
//! What: a frame is taken by chance, each with the same probability.
//! Why: the peer without any memory, not even of arrival.
//! Reference: Belady, A study of replacement algorithms for a virtual-storage computer, 1966.

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Policy, Setup};

#[derive(Debug)]
pub struct Random<G = Pcg64Mcg> {
    drawn: G,
    frames: u32,
}

impl<G> Random<G> {
    /// Draws by a generator of the caller.
    pub fn of(drawn: G, frames: u32) -> Self {
        Self { drawn, frames }
    }
}

impl<G: Rng + SeedableRng> Policy for Random<G> {
    const SOURCE: &str = include_str!("random.rs");

    fn new(setup: &Setup) -> Self {
        Self::of(G::seed_from_u64(setup.seed), setup.frames)
    }

    fn touched(&mut self, _frame: u32) {}

    fn came(&mut self, _frame: u32, _page: u32) {}

    fn victim(&mut self, _wanted: Option<u32>, takeable: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        // Nearly always the first draw will do; where few frames can be taken, the next one after it does.
        let drawn = self.drawn.random_range(0..self.frames);
        (drawn..self.frames)
            .chain(0..drawn)
            .find(|&frame| takeable(frame))
    }

    fn left(&mut self, _frame: u32) {}
}
