//! Cluster readahead: a page that is read brings its neighbours with it.
//!
//! What: neighbours come in unreferenced, as far as there are free frames that nobody waits for; those on the page's own
//! cylinder in one start-I/O with it, others in start-I/Os of their own behind it. The window grows with the pages of
//! the clusters before that were asked for, and shrinks to the page alone where none was.
//! Why: what lies together, or has addresses next to each other, may be needed together, and costs one seek and latency.
//! Reference: Linux, mm/swap_state.c, swap_cluster_readahead and swap_vma_readahead, since 4.14. There windows by address
//! are remembered by mapping; here by user. A page that was never touched has no slot yet and is nobody's neighbour.

use std::ops::Range;

use super::chain::NONE;
use super::core::Storage;
use crate::configuration::{self, Neighbours, Window};

/// Hits that Linux begins with.
const FIRST_HITS: u32 = 4;

/// What is known of the clusters before.
#[derive(Debug, Clone, Copy)]
struct Past {
    /// Pages read ahead and asked for since the last cluster.
    hits: u32,
    /// The slot or page of an earlier cluster.
    previous: u32,
    /// Pages of the last one.
    window: u32,
}

#[derive(Debug)]
pub(super) struct Readahead {
    plan: configuration::Readahead,
    /// By owner of the pages, or one for all slots.
    pasts: Vec<Past>,
}

impl Readahead {
    /// For so many programs.
    pub fn new(plan: configuration::Readahead, programs: usize) -> Self {
        let past = Past {
            hits: FIRST_HITS,
            previous: NONE,
            window: 0,
        };
        Self {
            plan,
            pasts: vec![past; programs + 1],
        }
    }

    /// Somebody asked for a page of this owner that was read ahead.
    pub fn hit(&mut self, owner: u32) {
        self.past(owner).hits += 1;
    }

    fn past(&mut self, owner: u32) -> &mut Past {
        match self.plan.by {
            Neighbours::Slot => &mut self.pasts[0],
            Neighbours::VirtualAddress => &mut self.pasts[owner as usize],
        }
    }

    /// How many pages the cluster about this slot or page has, as Linux's `__swapin_nr_pages` says, and the one before.
    fn window(&mut self, owner: u32, at: u32) -> (u32, u32) {
        let most = self.plan.pages;
        let fixed = self.plan.window == Window::Fixed;
        let by_slot = self.plan.by == Neighbours::Slot;
        let past = self.past(owner);
        let hits = std::mem::take(&mut past.hits);
        let previous = past.previous;
        let next_to = at.abs_diff(previous) == 1;
        let wanted = match hits {
            // No hits to judge by: only a neighbour of the one before may begin a run.
            0 if !next_to => 1,
            0 => 2,
            _ => (hits + 2).next_power_of_two().max(4),
        };
        // It does not shrink too fast.
        let window = wanted.min(most).max(past.window / 2);
        past.window = window;
        if !by_slot || hits == 0 {
            past.previous = at;
        }
        (if fixed { most } else { window }, previous)
    }
}

impl Storage {
    /// Starts to read the page of a frame that was claimed for it, with its neighbours.
    pub(super) fn start_with_neighbours(&mut self, frame: u32) {
        let page = self.frames[frame as usize].page;
        let mut together = std::mem::take(&mut self.together);
        // The page that somebody waits for goes before all others.
        together.push(frame);
        for neighbour in self.cluster(page) {
            let by_slot = self.reads_by_slot();
            let other = if by_slot {
                self.page_on[neighbour as usize]
            } else {
                neighbour
            };
            self.claim_ahead(other, &mut together);
        }
        let place = |frame: u32| {
            let slot = self.pages[self.frames[frame as usize].page as usize].slot;
            (self.areas.place(slot), slot)
        };
        let (own, _) = place(frame);
        together[1..].sort_unstable_by_key(|&other| {
            let (of, slot) = place(other);
            ((of.area, of.cylinder) != (own.area, own.cylinder), slot)
        });
        self.start(&together, false);
        together.clear();
        self.together = together;
    }

    fn reads_by_slot(&self) -> bool {
        let readahead = self.readahead.as_ref();
        readahead.is_some_and(|readahead| readahead.plan.by == Neighbours::Slot)
    }

    /// The slots or pages of the cluster about a page.
    fn cluster(&mut self, page: u32) -> Range<u32> {
        let super::frames::Page { owner, slot, .. } = self.pages[page as usize];
        let Some(readahead) = &mut self.readahead else {
            return 0..0;
        };
        if readahead.plan.by == Neighbours::Slot {
            let (window, _) = readahead.window(owner, slot);
            return self.areas.around(slot, window);
        }
        let (window, previous) = readahead.window(owner, page);
        let base = self.accounts[owner as usize].base;
        let next = self.accounts.get(owner as usize + 1);
        let end = next.map_or(self.pages.len() as u32, |account| account.base);
        // Onwards in the direction of the last two, else to both sides.
        let first = match page {
            _ if previous.wrapping_add(1) == page => page,
            _ if page.wrapping_add(1) == previous => (page + 1).saturating_sub(window),
            _ => page.saturating_sub((window - 1) / 2),
        };
        first.max(base)..(first + window).min(end)
    }

    /// Takes a frame for a page that lies outside storage and that nobody has asked for, if one can be spared.
    pub(super) fn claim_ahead(&mut self, page: u32, into: &mut Vec<u32>) -> bool {
        if page == NONE || self.free.len() <= self.reserved {
            return false;
        }
        let of = self.pages[page as usize];
        if of.frame != NONE || of.slot == NONE {
            return false;
        }
        let Some(frame) = self.claim(page) else {
            return false;
        };
        self.ahead.set(page, true);
        self.counts.ahead += 1;
        into.push(frame);
        true
    }

    /// Somebody waits for the page that comes into this frame.
    pub(super) fn asked_for(&mut self, frame: u32) {
        let page = self.frames[frame as usize].page;
        if self.ahead.take(page) {
            self.counts.ahead_used += 1;
            if let Some(readahead) = &mut self.readahead {
                readahead.hit(self.pages[page as usize].owner);
            }
        }
    }

    /// Whether anything reads single pages that nobody has asked for.
    pub(super) fn reads_ahead(&self) -> bool {
        self.readahead.is_some() || self.prefetch.is_some()
    }
}
