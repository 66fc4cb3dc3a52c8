//! Page numbers of a trace to dense ones.

use std::collections::HashMap;

/// Gives each page number the next free dense one, in order of first appearance.
#[derive(Debug, Default)]
pub struct Numbering(HashMap<u64, u32>);

impl Numbering {
    /// The page's dense number. `None`: there are too many pages.
    pub fn of(&mut self, page: u64) -> Option<u32> {
        let next = u32::try_from(self.0.len()).ok()?;
        // The last number is kept for "none".
        if next == u32::MAX {
            return self.0.get(&page).copied();
        }
        Some(*self.0.entry(page).or_insert(next))
    }

    pub fn len(&self) -> u32 {
        self.0.len() as u32
    }
}
