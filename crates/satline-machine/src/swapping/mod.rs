//! Swapping of working sets, a wrapper around the machine's replacement policy, which remains the last resort.
//!
//! What: at queue-drop the pages of the stay are kept (logically swapped) and the others trimmed; when frames run short the
//! kept ones go out in swap sets, user by user; queue-add brings back what was kept and reads some sets ahead; a fault on
//! a page that is out reads its whole set.
//! Why: what a user needs together goes and comes together, in few start-I/Os, and frames are taken from whoever is out of
//! queue, not from whoever the scan finds.
//! Reference: [T87], prepage and contiguous block page prototypes.

mod check;
mod drop;
mod list;
mod moves;
mod sets;

use std::collections::VecDeque;

use crate::configuration::{Prepage, SwapFaults, SwappingPlan};
use crate::engine::Span;
use crate::readings::SystemReading;
use crate::storage::{Replacement, Storage};
use list::SwapList;
use sets::Sets;

/// No set.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    sets_in: u64,
    sets_out: u64,
    trimmed_pages: u64,
    prepaged_pages: u64,
    prepage_errors: u64,
    swap_faults: u64,
    reclaimed_pages: u64,
    logical_swaps: u64,
    logical_returns: u64,
    physical_swaps: u64,
}

#[derive(Debug, Default)]
struct User {
    in_queue: bool,
    /// Number of his present or last stay, from 1.
    stay: u32,
    /// By page: the last stay that touched it; 0: none.
    touched: Vec<u32>,
    /// His logically swapped frames, the highest address first.
    kept: Vec<u32>,
    /// Pages read in this stay before they were asked for.
    ahead: Vec<u32>,
}

/// Working sets in and out of storage.
#[derive(Debug)]
pub struct Swapping {
    plan: SwappingPlan,
    last_resort: Box<dyn Replacement>,
    users: Vec<User>,
    sets: Sets,
    list: SwapList,
    /// By frame: a page of a set comes; its slot is freed when it is there.
    inbound: Vec<bool>,
    /// Sets that are to be read ahead as soon as frames are free: (set, which of all it is).
    to_come: VecDeque<(u32, u64)>,
    counts: Counts,
    /// Kept for their room: frames or pages of one set, pages of a working set and the others, sets.
    together: Vec<u32>,
    working: Vec<u32>,
    others: Vec<u32>,
    order: Vec<u32>,
}

impl Swapping {
    /// Nothing is out, nobody is in queue.
    pub fn new(plan: &SwappingPlan, last_resort: Box<dyn Replacement>, storage: &Storage) -> Self {
        let spaces = || (0..storage.users()).map(|user| storage.own_pages(user));
        let user = |pages: u32| User {
            touched: vec![0; pages as usize],
            kept: Vec::with_capacity(pages as usize),
            ahead: Vec::with_capacity(pages as usize),
            ..User::default()
        };
        let most = spaces().max().unwrap_or(0) as usize;
        Self {
            plan: plan.clone(),
            last_resort,
            users: spaces().map(user).collect(),
            sets: Sets::new(spaces(), plan.set_pages),
            list: SwapList::new(plan.physical_order, storage.users() as usize),
            inbound: vec![false; storage.frames() as usize],
            to_come: VecDeque::with_capacity(storage.users() as usize),
            counts: Counts::default(),
            together: Vec::with_capacity(most),
            working: Vec::with_capacity(most),
            others: Vec::with_capacity(most),
            order: Vec::with_capacity(most),
        }
    }

    /// Sets of a user who came into queue are to be read; those of his latest stay first.
    fn prepage(&mut self, user: u32, interactive: bool) {
        let wanted = match interactive {
            true => self.plan.prepage_interactive,
            false => self.plan.prepage_noninteractive,
        };
        let most = match wanted {
            Prepage::Sets(most) => most as usize,
            Prepage::All => usize::MAX,
        };
        let mut order = std::mem::take(&mut self.order);
        self.sets.latest_first(user, &mut order);
        for &set in order.iter().take(most) {
            self.to_come.push_back((set, self.sets.serial(set)));
        }
        self.order = order;
    }
}

impl Swapping {
    /// Pages of a set that are still to come; none if it came by a fault.
    fn left_of(&self, (set, serial): (u32, u64)) -> usize {
        match self.sets.serial(set) == serial {
            true => self.sets.pages(set).len(),
            false => 0,
        }
    }

    /// Nothing more is read ahead for this user.
    fn forget_coming(&mut self, user: u32) {
        self.to_come.retain(|&(set, _)| self.sets.user(set) != user);
    }
}

impl Replacement for Swapping {
    fn victim(&mut self, storage: &mut Storage) -> Option<u32> {
        self.last_resort.victim(storage)
    }

    fn refill(&mut self, storage: &mut Storage) {
        if !self.swap_out(storage) {
            self.last_resort.refill(storage);
        }
    }

    fn came(&mut self, frame: u32, page: u32) {
        self.last_resort.came(frame, page);
    }

    fn came_ahead(&mut self, frame: u32, page: u32) {
        self.last_resort.came_ahead(frame, page);
    }

    fn arrived(&mut self, storage: &mut Storage, frame: u32) {
        self.last_resort.arrived(storage, frame);
        let Some((user, page)) = storage.owner(frame) else {
            return;
        };
        if std::mem::take(&mut self.inbound[frame as usize]) {
            storage.free_slot(frame);
            // Too late for his stay.
            let late = !self.users[user as usize].in_queue && storage.frame(frame).takeable();
            if late && self.plan.trim {
                self.trim(storage, frame);
            }
        } else if let Some(set) = self.sets.of_page(user, page) {
            // It was still in storage; so the others come too.
            self.took_back(storage, user, page, frame);
            if self.plan.swap_faults == SwapFaults::Set {
                self.counts.swap_faults += 1;
                if self.sets.has_pages(set) {
                    self.bring_set(storage, set, None);
                }
            }
        }
    }

    fn left(&mut self, frame: u32) {
        self.last_resort.left(frame);
    }

    fn every_touch(&self) -> bool {
        self.last_resort.every_touch()
    }

    fn touched(&mut self, frame: u32) {
        self.last_resort.touched(frame);
    }

    fn queue_add(&mut self, storage: &mut Storage, user: u32, interactive: bool) {
        self.last_resort.queue_add(storage, user, interactive);
        let him = &mut self.users[user as usize];
        him.in_queue = true;
        if !him.kept.is_empty() {
            storage.visited(him.kept.len() as u32);
            for frame in him.kept.drain(..).rev() {
                storage.restore(frame);
                self.last_resort.came(frame, storage.page_in(frame));
            }
            self.list.remove(user);
            let whole = !self.sets.has_of_stay(user, him.stay);
            self.counts.logical_returns += u64::from(whole);
        }
        self.prepage(user, interactive);
        self.feed(storage);
    }

    fn queue_drop(&mut self, storage: &mut Storage, user: u32, interactive: bool) {
        // The last resort may have its own books.
        self.last_resort.queue_drop(storage, user, interactive);
        self.drop_out(storage, user, interactive);
    }

    fn fault(&mut self, storage: &mut Storage, user: u32, page: Option<u32>) {
        let of_set = page.and_then(|page| Some((page, self.sets.of_page(user, page)?)));
        let Some((page, set)) = of_set else {
            return self.last_resort.fault(storage, user, page);
        };
        match self.plan.swap_faults {
            SwapFaults::Set => self.bring_set(storage, set, Some(page)),
            SwapFaults::Page => self.bring_page(storage, user, page),
        }
    }

    fn wanted_frames(&self) -> u32 {
        let pages = self.to_come.iter().map(|&coming| self.left_of(coming));
        pages.sum::<usize>() as u32
    }

    fn feed(&mut self, storage: &mut Storage) {
        // A set comes in one piece; but no more frames are ever kept free than half of storage.
        let most = (storage.frames() / 2).max(1) as usize;
        while let Some(&coming) = self.to_come.front() {
            let left = self.left_of(coming);
            if (storage.free_frames() as usize) < left.min(most) {
                return;
            }
            self.to_come.pop_front();
            if left > 0 {
                self.bring_set(storage, coming.0, None);
            }
        }
    }

    fn log_off(&mut self, storage: &mut Storage, user: u32) {
        let him = &mut self.users[user as usize];
        him.in_queue = false;
        him.kept.clear();
        him.ahead.clear();
        self.list.remove(user);
        self.forget_coming(user);
        self.forget_sets(storage, user);
        self.last_resort.log_off(storage, user);
    }

    fn tick_interval(&self) -> Option<Span> {
        self.last_resort.tick_interval()
    }

    fn tick(&mut self, storage: &mut Storage) {
        self.last_resort.tick(storage);
    }

    fn read(&self, into: &mut SystemReading) {
        self.last_resort.read(into);
        let counts = &self.counts;
        into.swap_sets_in = Some(counts.sets_in);
        into.swap_sets_out = Some(counts.sets_out);
        into.trimmed_pages = Some(counts.trimmed_pages);
        into.prepaged_pages = Some(counts.prepaged_pages);
        into.prepage_errors = Some(counts.prepage_errors);
        into.swap_faults = Some(counts.swap_faults);
        into.swap_pages_reclaimed = Some(counts.reclaimed_pages);
        into.logical_swaps = Some(counts.logical_swaps);
        into.logical_returns = Some(counts.logical_returns);
        into.physical_swaps = Some(counts.physical_swaps);
        into.logically_swapped = Some(self.list.len());
        let is_out = |(number, him): (usize, &User)| {
            !him.in_queue && him.kept.is_empty() && self.sets.has_any(number as u32)
        };
        let out = self.users.iter().enumerate().filter(|&user| is_out(user));
        into.physically_swapped = Some(out.count() as u32);
    }

    fn check(&self, storage: &Storage) -> Result<(), String> {
        self.check_books(storage)?;
        self.last_resort.check(storage)
    }
}
