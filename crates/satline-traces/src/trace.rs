//! A trace in storage, and where readers put what they read.

use std::collections::HashMap;

use satline_program::{Error, Result};

/// Most references that are kept in storage: 4 bytes each. More need `--first`.
pub const MOST_REFERENCES: usize = 1_000_000_000;

/// References to pages, renumbered 0 to `pages` in the order of their first appearance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    pub references: Vec<u32>,
    /// How many different pages: the footprint.
    pub pages: u32,
}

impl Trace {
    /// A trace of page numbers.
    ///
    /// # Errors
    /// There are too many.
    pub fn of(pages: impl IntoIterator<Item = u64>) -> Result<Self> {
        let mut builder = Builder::default();
        for page in pages {
            builder.page(page)?;
        }
        Ok(builder.finish())
    }

    /// For every reference the position of the next one to the same page; the length of the trace where there is none.
    pub fn next_uses(&self) -> Vec<u32> {
        let end = self.references.len() as u32;
        let mut next_of_page = vec![end; self.pages as usize];
        let mut next = vec![end; self.references.len()];
        for (at, &page) in self.references.iter().enumerate().rev() {
            next[at] = std::mem::replace(&mut next_of_page[page as usize], at as u32);
        }
        next
    }
}

/// Takes page numbers in the order of reference.
pub trait Sink {
    /// # Errors
    /// It cannot be kept.
    fn page(&mut self, page: u64) -> Result<()>;

    /// Whether it has all that it wants.
    fn is_full(&self) -> bool {
        false
    }
}

/// Makes a [`Trace`].
#[derive(Debug, Default)]
pub struct Builder {
    references: Vec<u32>,
    numbering: Numbering,
    first: Option<usize>,
}

impl Builder {
    /// Takes only so many references.
    pub fn first(first: Option<u64>) -> Self {
        Self {
            first: first.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
            ..Self::default()
        }
    }

    /// The page's dense number.
    ///
    /// # Errors
    /// There are too many pages.
    pub fn number(&mut self, page: u64) -> Result<u32> {
        self.numbering.of(page).ok_or_else(too_long)
    }

    /// One more reference, to a page that [`Builder::number`] gave.
    ///
    /// # Errors
    /// There are too many.
    pub fn push(&mut self, number: u32) -> Result<()> {
        let len = self.references.len();
        if len == self.references.capacity() {
            let more = (len / 2).max(1 << 16).min(MOST_REFERENCES.saturating_sub(len));
            if more == 0 || self.references.try_reserve_exact(more).is_err() {
                return Err(too_long());
            }
        }
        self.references.push(number);
        Ok(())
    }

    pub fn finish(self) -> Trace {
        Trace {
            pages: self.numbering.len(),
            references: self.references,
        }
    }
}

impl Sink for Builder {
    fn page(&mut self, page: u64) -> Result<()> {
        let number = self.number(page)?;
        self.push(number)
    }

    fn is_full(&self) -> bool {
        self.first.is_some_and(|first| self.references.len() >= first)
    }
}

fn too_long() -> Error {
    Error::input(
        "the trace has more references than storage holds",
        "replay a part of it: --first 100000000",
    )
}

/// Gives each page number the next free dense one, in order of first appearance.
#[derive(Debug, Default)]
struct Numbering(HashMap<u64, u32>);

impl Numbering {
    /// The page's dense number. `None`: there are too many pages.
    fn of(&mut self, page: u64) -> Option<u32> {
        let next = u32::try_from(self.0.len()).ok()?;
        // The last number is kept for "none".
        if next == u32::MAX {
            return self.0.get(&page).copied();
        }
        Some(*self.0.entry(page).or_insert(next))
    }

    fn len(&self) -> u32 {
        self.0.len() as u32
    }
}
