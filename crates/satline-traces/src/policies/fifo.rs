//! First in, first out.
//!
//! What: the page that came first is taken, referenced since or not.
//! Why: the peer that knows nothing of references.
//! Reference: Belady, A study of replacement algorithms for a virtual-storage computer, 1966.

use super::{Links, Policy, Setup};

#[derive(Debug)]
pub struct Fifo(Links);

impl Policy for Fifo {
    const SOURCE: &str = include_str!("fifo.rs");

    fn new(setup: &Setup) -> Self {
        Self(Links::new(setup.frames, 1))
    }

    fn touched(&mut self, _frame: u32) {}

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
