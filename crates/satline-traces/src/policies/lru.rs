//! Least recently used, exactly.
//!
//! What: the page whose last touch is longest ago is taken; every single touch is known.
//! Why: what reference bits approximate; its misses at all sizes follow from one pass over a trace.
//! Reference: Mattson, Gecsei, Slutz, Traiger, Evaluation techniques for storage hierarchies, 1970.

use super::{Links, Policy, Setup};

#[derive(Debug)]
pub struct Lru(Links);

impl Policy for Lru {
    const SOURCE: &str = include_str!("lru.rs");

    fn new(setup: &Setup) -> Self {
        Self(Links::new(setup.frames, 1))
    }

    fn touched(&mut self, frame: u32) {
        self.0.renew(0, frame);
    }

    fn came(&mut self, frame: u32, _page: u32) {
        self.0.push(0, frame);
    }

    fn victim(&mut self, _wanted: Option<u32>, takeable: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        self.0.take_oldest(0, takeable)
    }

    fn left(&mut self, frame: u32) {
        self.0.remove(0, frame);
    }
}
