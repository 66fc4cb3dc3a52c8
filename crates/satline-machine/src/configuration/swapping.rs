//! How working sets are swapped: the parts of the prepage and swap-area prototypes, each of them alone.

use crate::engine::Span;

/// The most pages of a swap set.
pub const MOST_SET_PAGES: u32 = 32;

/// Table `[swapping]` of a machine file; without it pages leave storage by the replacement policy alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwappingPlan {
    /// Pages of a swap set, 1 to [`MOST_SET_PAGES`].
    pub set_pages: u32,
    /// At least so many of a user's resident pages are in his working set.
    pub minimum_working_set: u32,
    /// Own pages that were not referenced in the stay go to the flush list at queue-drop.
    pub trim: bool,
    /// The working set stays in storage until frames run short; else it goes out at queue-drop.
    pub logical: bool,
    pub physical_order: PhysicalOrder,
    /// At a queue-add to Q1, and to Q2.
    pub prepage_interactive: Prepage,
    pub prepage_noninteractive: Prepage,
    pub swap_faults: SwapFaults,
    /// The control program's time for each page that moves in a set, beside that of the start-I/O.
    pub set_page: Span,
}

/// Whose logically swapped pages go out first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhysicalOrder {
    /// Those of users dropped from Q2, then of others; who dropped first in front.
    Q2First,
    /// Those of whoever dropped first.
    Fifo,
    Q1First,
}

/// Swap sets that are read at queue-add.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prepage {
    Sets(u32),
    All,
}

/// What a fault on a page of a swapped-out set reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwapFaults {
    Set,
    /// The page alone: the control.
    Page,
}

/// What a paging area is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// Single pages, and sets where no area is for swapping or those are full.
    #[default]
    Paging,
    /// Whole sets only.
    Swap,
    Any,
}

impl Purpose {
    pub fn holds_pages(self) -> bool {
        self != Self::Swap
    }

    pub fn holds_sets(self) -> bool {
        self != Self::Paging
    }
}

/// A word of machine files, and what it stands for.
pub type Word<T> = (&'static str, T);

pub const ORDERS: &[Word<PhysicalOrder>] = &[
    ("q2-first", PhysicalOrder::Q2First),
    ("fifo", PhysicalOrder::Fifo),
    ("q1-first", PhysicalOrder::Q1First),
];
pub const FAULTS: &[Word<SwapFaults>] = &[("set", SwapFaults::Set), ("page", SwapFaults::Page)];
pub const PURPOSES: &[Word<Purpose>] = &[
    ("paging", Purpose::Paging),
    ("swap", Purpose::Swap),
    ("any", Purpose::Any),
];

/// As a machine file says it.
pub fn word<T: PartialEq>(words: &[Word<T>], value: &T) -> &'static str {
    let found = words.iter().find(|(_, of)| of == value);
    found.expect("every value has its word").0
}
