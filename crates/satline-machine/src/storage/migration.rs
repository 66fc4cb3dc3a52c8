//! Page migration: at regular times the coldest pages of the fastest tier go to a slower one.
//!
//! What: pages that lie on the fast tier and are not in storage are read into free frames, a few at a time, and written on the
//! slower tier, until so many slots of the fast tier are free as the plan says pages. A page that somebody asks for
//! meanwhile stays with him.
//! Why: pages of active users are to lie on the fast tier; without migration those of who came first do.
//! Reference: [TB84], page migration. That it stops when as many slots are free, and how poor the poor order is, are
//! assumed: one bit per page, and a pointer that sweeps over the slots, as the core table scan does over frames.

use std::collections::VecDeque;

use super::Memory;
use super::bits::Bits;
use super::chain::NONE;
use super::core::Storage;
use super::frames::State;
use crate::configuration::{self, MigrationOrder};
use crate::devices::{IoEvent, Subsystem};
use crate::engine::{Calendar, Span};

/// Pages that are read for migration at a time.
const AT_ONCE: u32 = 8;

#[derive(Debug)]
pub(super) struct Migration {
    plan: configuration::Migration,
    /// By page: how many pages had left page tables when it last did; 0: it never did.
    left_at: Vec<u64>,
    lefts: u64,
    /// By page: it left a page table since the pointer came by.
    seen: Bits,
    pointer: u32,
    /// Pages to be moved.
    to_go: VecDeque<u32>,
    coming: u32,
    /// Frames with pages that came and are to be written, and room for the choice.
    came: Vec<u32>,
    chosen: Vec<u32>,
}

impl Migration {
    /// For so many pages; none was in storage yet.
    pub fn new(plan: configuration::Migration, pages: u32) -> Self {
        Self {
            plan,
            left_at: vec![0; pages as usize],
            lefts: 0,
            seen: Bits::new(pages as usize),
            pointer: 0,
            to_go: VecDeque::new(),
            coming: 0,
            came: Vec::new(),
            chosen: Vec::new(),
        }
    }

    /// A page left its page table.
    pub fn left(&mut self, page: u32) {
        self.lefts += 1;
        self.left_at[page as usize] = self.lefts;
        self.seen.set(page, true);
    }

    /// So many pages of those that may go, the longest out of use first.
    fn oldest(&mut self, storage: &mut Storage, count: usize) {
        let pages = (0..).zip(&storage.pages);
        let may = pages.filter(|&(_, page)| page.frame == NONE && page.slot != NONE);
        let fast = may.filter(|&(_, page)| storage.areas.is_fast(storage.areas.place(page.slot).area));
        self.chosen.extend(fast.map(|(number, _)| number));
        let age = |page: &u32| (self.left_at[*page as usize], *page);
        if count < self.chosen.len() {
            self.chosen.select_nth_unstable_by_key(count, age);
            self.chosen.truncate(count);
        }
        storage.visited(self.chosen.len() as u32);
    }

    /// So many pages of those that may go and did not leave storage since the pointer last came by.
    fn swept(&mut self, storage: &mut Storage, count: usize) {
        let slots = storage.areas.slots();
        let mut looked = 0;
        // The first round resets every bit.
        for _ in 0..2 * u64::from(slots) {
            if self.chosen.len() >= count {
                break;
            }
            let slot = self.pointer;
            self.pointer = (slot + 1) % slots;
            let page = storage.page_on[slot as usize];
            if page == NONE || !storage.areas.is_fast(storage.areas.place(slot).area) {
                continue;
            }
            looked += 1;
            if storage.pages[page as usize].frame != NONE {
                continue;
            }
            if self.seen.get(page) {
                self.seen.set(page, false);
            } else {
                // So the second round does not choose it again.
                self.seen.set(page, true);
                self.chosen.push(page);
            }
        }
        storage.visited(looked);
    }
}

impl Storage {
    /// Starts to read pages that are to be moved, while frames are free that nobody waits for.
    pub(super) fn read_migrants(&mut self) {
        let Some(mut migration) = self.migration.take() else {
            return;
        };
        let mut together = std::mem::take(&mut self.together);
        while migration.coming < AT_ONCE && self.short.is_empty() && self.free.len() > 1 {
            let Some(page) = migration.to_go.pop_front() else {
                break;
            };
            let of = self.pages[page as usize];
            let stays = of.frame != NONE || of.slot == NONE;
            if stays || !self.areas.is_fast(self.areas.place(of.slot).area) {
                continue;
            }
            let Some(frame) = self.claim(page) else {
                break;
            };
            self.frames[frame as usize].migrates = true;
            migration.coming += 1;
            together.push(frame);
        }
        self.start(&together, false);
        together.clear();
        self.together = together;
        self.migration = Some(migration);
    }

    /// A page came: whether it goes on to a slower tier. It does not if somebody waits for it, or if there is no room.
    pub(super) fn migrates_on(&mut self, frame: u32) -> bool {
        let at = &mut self.frames[frame as usize];
        if !std::mem::take(&mut at.migrates) {
            return false;
        }
        let wanted = self.waiters[frame as usize] != NONE;
        let owner = self.pages[at.page as usize].owner;
        let Some(migration) = &mut self.migration else {
            return false;
        };
        migration.coming -= 1;
        self.counts.migrated += 1;
        if wanted {
            return false;
        }
        migration.came.push(frame);
        self.accounts[owner as usize].page_reads += 1;
        true
    }

    /// Writes what came to be moved.
    pub(super) fn write_migrants(&mut self) {
        let Some(mut migration) = self.migration.take() else {
            return;
        };
        let mut together = std::mem::take(&mut self.together);
        for frame in migration.came.drain(..) {
            let page = self.frames[frame as usize].page;
            let Some(tier) = self.areas.open_slower_tier() else {
                // It stays where it was.
                self.frames[frame as usize].state = State::Free;
                self.free.push_back(frame);
                continue;
            };
            self.forget_slot(page);
            let list = self.areas.list();
            let area = self.page_out_device.choose(list, tier);
            let slot = self.slot.choose(area, &list[area]);
            self.put_on(page, area, slot);
            self.frames[frame as usize].state = State::GoingOut;
            self.going_out += 1;
            together.push(frame);
        }
        self.start(&together, true);
        together.clear();
        self.together = together;
        self.migration = Some(migration);
    }
}

impl Memory {
    /// How often [`Memory::migrate`] is wanted; `None`: never.
    pub fn migration_interval(&self) -> Option<Span> {
        self.storage
            .migration
            .as_ref()
            .map(|migration| migration.plan.interval)
    }

    /// The time of migration came: pages are chosen, and the first of them read.
    pub fn migrate<E>(&mut self, subsystem: &mut Subsystem, calendar: &mut Calendar<E>)
    where
        E: Copy + From<IoEvent>,
    {
        if let Some(mut migration) = self.storage.migration.take() {
            let free = self.storage.areas.free_of_fastest();
            let count = migration.plan.pages.saturating_sub(free) as usize;
            migration.to_go.clear();
            match migration.plan.order {
                MigrationOrder::Lru => migration.oldest(&mut self.storage, count),
                MigrationOrder::PoorLru => migration.swept(&mut self.storage, count),
            }
            // Neighbours go together.
            let storage = &self.storage;
            migration
                .chosen
                .sort_unstable_by_key(|&page| storage.pages[page as usize].slot);
            migration.to_go.extend(migration.chosen.drain(..));
            self.storage.migration = Some(migration);
        }
        self.refill();
        self.submit(subsystem, calendar);
    }
}
