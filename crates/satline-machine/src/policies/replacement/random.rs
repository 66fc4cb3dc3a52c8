//! Any page.
//!
//! What: a frame is taken by chance, each with the same probability.
//! Why: the peer without any memory, not even of arrival.
//! Reference: none; a usual yardstick.

use rand::RngExt;

use super::{Replacement, Setup};
use crate::engine::Stream;
use crate::storage::Storage;

#[derive(Debug)]
struct Random(Stream);

pub fn make(setup: Setup) -> Box<dyn Replacement> {
    Box::new(Random(setup.streams.stream(0, "random replacement")))
}

impl Replacement for Random {
    fn victim(&mut self, storage: &mut Storage) -> Option<u32> {
        let frames = storage.frames();
        // Nearly always the first draw will do; where few frames can be taken, the next one after it does.
        let drawn = self.0.random_range(0..frames);
        (drawn..frames)
            .chain(0..drawn)
            .find(|&frame| storage.scan(frame).takeable())
    }
}
