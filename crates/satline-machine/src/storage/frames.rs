//! Frames and pages: what lies where.

use super::chain::NONE;

/// What a frame is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// On the free list. Its page, if it has one, can still be had back.
    Free,
    /// On the flush list.
    Flush,
    /// In some user's page table.
    Used,
    /// In no page table and on no list: kept by the replacement policy. Its page can be had back.
    Kept,
    /// Its page comes in.
    ComingIn,
    /// Its page is written; then the frame goes to the free list. The page can be had back.
    GoingOut,
}

/// A frame of main storage. What programs do to the page in it is kept by page: see [`super::Storage`].
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// The page in it, or none.
    pub(super) page: u32,
    pub(super) state: State,
    /// Its page is being written.
    pub(super) writing: bool,
    /// Its page comes in only to be written on a slower tier.
    pub(super) migrates: bool,
    /// Users who were woken because this page is there and have not run since: it is not taken before.
    pub(super) holds: u32,
}

impl Frame {
    pub(super) const EMPTY: Self = Self {
        page: NONE,
        state: State::Free,
        writing: false,
        migrates: false,
        holds: 0,
    };

    pub fn state(&self) -> State {
        self.state
    }

    /// Whether it can be taken from its user now.
    pub fn takeable(&self) -> bool {
        self.state == State::Used && !self.writing && self.holds == 0
    }
}

/// A page of some program, or of the shared segments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    /// Where it is in storage, or none.
    pub frame: u32,
    /// Where it is kept outside, or none.
    pub slot: u32,
    /// Whose it is; the shared pages' owner is the number after the last program.
    pub owner: u32,
}

/// What storage knows of a user, in one line of the cache.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Account {
    /// The number of his first page.
    pub base: u32,
    pub in_queue: bool,
    pub disturbed: bool,
    /// Own pages in his page table, and how often one came into it or left it.
    pub resident: u32,
    pub moves: u32,
    pub projected: u32,
    pub page_reads: u64,
    pub page_writes: u64,
    pub steals: u64,
    /// The frame that is held for him, or none.
    pub hold: u32,
    /// The page for which he waits without a frame, or none.
    pub wants: u32,
    /// The next who waits for the same page.
    pub next_waiter: u32,
}

impl Account {
    pub fn new(base: u32) -> Self {
        Self {
            base,
            in_queue: false,
            disturbed: false,
            resident: 0,
            moves: 0,
            projected: 0,
            page_reads: 0,
            page_writes: 0,
            steals: 0,
            hold: NONE,
            wants: NONE,
            next_waiter: NONE,
        }
    }
}
