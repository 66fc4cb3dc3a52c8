//! The pages referenced last, the last one first.

use super::PLACES;

#[derive(Debug)]
pub struct Recent<T> {
    entries: [T; PLACES],
    len: usize,
}

impl<T: Copy + Default + PartialEq> Recent<T> {
    pub fn new() -> Self {
        Self {
            entries: [T::default(); PLACES],
            len: 0,
        }
    }

    /// Its place, and it becomes the first. `None`: it was not among them.
    pub fn place(&mut self, of: T) -> Option<usize> {
        let found = self.entries[..self.len].iter().position(|&entry| entry == of);
        match found {
            Some(place) => {
                self.take(place);
            }
            None => self.push(of),
        }
        found
    }

    /// The one at this place, which becomes the first. `None`: there are fewer.
    pub fn take(&mut self, place: usize) -> Option<T> {
        let entry = *self.entries[..self.len].get(place)?;
        self.entries.copy_within(..place, 1);
        self.entries[0] = entry;
        Some(entry)
    }

    pub fn push(&mut self, first: T) {
        self.len = (self.len + 1).min(PLACES);
        self.entries.copy_within(..self.len - 1, 1);
        self.entries[0] = first;
    }
}
