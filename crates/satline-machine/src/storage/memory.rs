//! What the model calls.

use super::chain::NONE;
use super::core::{Storage, Work};
use super::decisions::QueueDrop;
use super::decisions::Replacement;
use super::frames::{Account, State};
use super::inner::page_number;
use super::periodic_scan::PeriodicScan;
use crate::devices::{Completed, IoEvent, Subsystem};
use crate::engine::{Calendar, Span};
use crate::references::Program;

/// How a page fault goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The page comes by I/O, or waits for a frame; the user is woken by [`Memory::completed`].
    Waits,
    /// Still in storage, on the free or flush list or on its way out: had at once.
    Reclaimed,
}

/// Main storage with its control program.
#[derive(Debug)]
pub struct Memory {
    pub(super) storage: Storage,
    pub(super) replacement: Box<dyn Replacement>,
    pub(super) queue_drop: Box<dyn QueueDrop>,
    pub(super) periodic_scan: Option<PeriodicScan>,
    pub(super) every_touch: bool,
    pub(super) most_pages_per_sio: usize,
    pub(super) free_list_minimum: u32,
    /// Free frames wanted.
    pub(super) threshold: u32,
    pub(super) overflow: bool,
    /// Frames touched in a run, by virtual time; kept for its room.
    pub(super) touched: Vec<(u64, u32)>,
    /// Users whose page came when no one asked.
    pub(super) woken: Vec<u32>,
}

impl Memory {
    /// Tags of paging requests are below; the model's own requests have tags from here on.
    pub const TAGS: u32 = 1 << 31;

    /// A transaction of this kind begins, of so much virtual time on this machine.
    pub fn begin_transaction(&mut self, user: u32, kind: usize, demand: Span) {
        let Storage {
            programs,
            kinds,
            kind_of,
            ..
        } = &mut self.storage;
        let (first, present) = &mut kind_of[user as usize];
        *present = *first + kind as u32;
        programs[user as usize].begin(&kinds[*present as usize], demand);
    }

    pub fn end_transaction(&mut self, user: u32) {
        self.storage.programs[user as usize].end();
        self.storage.release_hold(user);
    }

    /// The user's frames and slots are given up; what is being read or written just now stays.
    pub fn log_off(&mut self, user: u32) {
        self.end_transaction(user);
        self.replacement.log_off(&mut self.storage, user);
        let storage = &mut self.storage;
        storage.forget_record(user);
        storage.short.retain(|&one| one != user);
        let base = storage.accounts[user as usize].base;
        for page in base..base + storage.programs[user as usize].space() {
            let frame = storage.pages[page as usize].frame;
            if frame != NONE {
                let at = storage.frames[frame as usize];
                if at.writing || at.state == State::ComingIn {
                    continue;
                }
                if matches!(at.state, State::Used | State::Kept) {
                    self.replacement.left(frame);
                }
                storage.empty(frame);
            }
            storage.forget_slot(page);
        }
        storage.loosened = true;
    }

    /// The user comes into queue; `interactive`: into Q1.
    pub fn queue_add<E>(
        &mut self,
        user: u32,
        interactive: bool,
        subsystem: &mut Subsystem,
        calendar: &mut Calendar<E>,
    ) where
        E: Copy + From<IoEvent>,
    {
        let account = &mut self.storage.accounts[user as usize];
        if !std::mem::replace(&mut account.in_queue, true) {
            self.storage.in_queue_pages += account.resident;
        }
        self.storage.work.pages_visited += account.resident;
        self.replacement.queue_add(&mut self.storage, user, interactive);
        self.storage.recall_record(user);
        self.refill();
        self.submit(subsystem, calendar);
    }

    /// The user leaves the queue; his projection is made from the stay: the number of his own pages that he touched in it.
    pub fn queue_drop<E>(
        &mut self,
        user: u32,
        interactive: bool,
        subsystem: &mut Subsystem,
        calendar: &mut Calendar<E>,
    ) where
        E: Copy + From<IoEvent>,
    {
        self.storage.release_hold(user);
        let account = &mut self.storage.accounts[user as usize];
        if std::mem::replace(&mut account.in_queue, false) {
            self.storage.in_queue_pages -= account.resident;
        }
        self.storage.work.pages_visited += account.resident;
        account.projected = self.storage.programs[user as usize].stay().len() as u32;
        self.queue_drop
            .dropped(&mut self.storage, user, &mut *self.replacement);
        self.replacement.queue_drop(&mut self.storage, user, interactive);
        self.storage.record_stay(user);
        self.storage.programs[user as usize].end_stay();
        self.refill();
        self.submit(subsystem, calendar);
    }

    /// Virtual time until this user's next touch of a page that is not in storage, if at most `limit`. Phases are drawn up to
    /// the limit: ask for no more than he may run.
    pub fn until_fault(&mut self, user: u32, limit: Span) -> Option<Span> {
        let accounts = &self.storage.accounts;
        let of_shared = accounts[accounts.len() - 1].moves;
        let moves = accounts[user as usize].moves.wrapping_add(of_shared);
        if !self.storage.programs[user as usize].foresees(moves, limit) {
            self.look(user, moves, limit);
        }
        self.storage.programs[user as usize].next_missing(limit)
    }

    fn look(&mut self, user: u32, moves: u32, limit: Span) {
        let Storage {
            programs,
            kinds,
            kind_of,
            present,
            accounts,
            ..
        } = &mut self.storage;
        let program = &mut programs[user as usize];
        let number = bases(accounts, program, user);
        let kind = &kinds[kind_of[user as usize].1 as usize];
        program.look(moves, kind, limit, |page| present.get(number(page)));
    }

    /// The user ran so long, at most the last answer of [`Memory::until_fault`]: his touches happened.
    pub fn ran(&mut self, user: u32, length: Span) {
        if self.storage.programs[user as usize].advance(length) {
            self.touch(user);
        }
        self.storage.release_hold(user);
    }

    /// The user's touches up to now happen.
    fn touch(&mut self, user: u32) {
        let Storage {
            programs,
            pages,
            present,
            referenced,
            changed,
            ahead,
            sharers,
            accounts,
            counts,
            readahead,
            ..
        } = &mut self.storage;
        let program = &mut programs[user as usize];
        let space = program.space();
        let number = bases(accounts, program, user);
        let (touched, every_touch) = (&mut self.touched, self.every_touch);
        program.touch_due(
            |page| present.get(number(page)),
            |at, own, changes| {
                let page = number(own);
                referenced.set(page, true);
                if changes {
                    changed.set(page, true);
                }
                if ahead.get(page) {
                    ahead.set(page, false);
                    counts.ahead_used += 1;
                    if let Some(readahead) = readahead {
                        readahead.hit(pages[page as usize].owner);
                    }
                }
                if let Some(shared) = own.checked_sub(space) {
                    sharers.add(shared, user);
                }
                if every_touch {
                    touched.push((at, pages[page as usize].frame));
                }
            },
        );
        touched.sort_unstable();
        for (_, frame) in touched.drain(..) {
            self.replacement.touched(frame);
        }
    }

    /// The user stands at the fault; the I/O starts now.
    pub fn fault<E>(&mut self, user: u32, subsystem: &mut Subsystem, calendar: &mut Calendar<E>) -> Fault
    where
        E: Copy + From<IoEvent>,
    {
        self.storage.counts.page_faults += 1;
        let missing = self.storage.missing(user);
        // Perhaps it has come since, for another.
        let Some(page) = missing else {
            return Fault::Reclaimed;
        };
        let fault = self.need(user, page);
        self.refill();
        self.submit(subsystem, calendar);
        fault
    }

    /// A request of paging ended; users whose page is there now are pushed to `woken`.
    pub fn completed<E>(
        &mut self,
        done: &Completed,
        subsystem: &mut Subsystem,
        calendar: &mut Calendar<E>,
        woken: &mut Vec<u32>,
    ) where
        E: Copy + From<IoEvent>,
    {
        let sio = self.storage.sios.end(done.request.tag);
        let device = self.storage.areas.list()[sio.place.area].device;
        self.storage.count_sio(&sio, device, done.service.response());
        for (frame, write) in sio.frames() {
            self.storage.count_page(sio.place.area, device, write);
            if write {
                self.storage.written(frame);
            } else if !self.storage.migrates_on(frame) {
                self.storage.came_in(frame, woken);
                self.replacement.arrived(&mut self.storage, frame);
            }
        }
        self.storage.write_migrants();
        self.refill();
        woken.append(&mut self.woken);
        self.submit(subsystem, calendar);
    }

    /// Frames for those who wait for one; see [`Memory::starved`] and [`Memory::take_woken`].
    pub fn feed<E>(&mut self, subsystem: &mut Subsystem, calendar: &mut Calendar<E>)
    where
        E: Copy + From<IoEvent>,
    {
        self.refill();
        self.submit(subsystem, calendar);
    }

    /// The policy's own time came.
    pub fn tick<E>(&mut self, subsystem: &mut Subsystem, calendar: &mut Calendar<E>)
    where
        E: Copy + From<IoEvent>,
    {
        self.replacement.tick(&mut self.storage);
        self.refill();
        self.submit(subsystem, calendar);
    }

    /// How often [`Memory::tick`] is wanted; `None`: never.
    pub fn tick_interval(&self) -> Option<Span> {
        self.replacement.tick_interval()
    }

    /// [`Memory::take_woken`] or [`Memory::take_disturbed`] has somebody.
    #[inline]
    pub fn has_news(&self) -> bool {
        !(self.woken.is_empty() && self.storage.disturbed.is_empty())
    }

    /// Users who waited for a frame and whose page was had at once when one came, outside of [`Memory::completed`].
    pub fn take_woken(&mut self, into: &mut Vec<u32>) {
        into.append(&mut self.woken);
    }

    /// What the control program did since it was last asked.
    pub fn take_work(&mut self) -> Work {
        std::mem::take(&mut self.storage.work)
    }

    /// Users in queue of whom a page, or a shared one, was taken since the last call: their next fault may have come nearer.
    pub fn take_disturbed(&mut self, into: &mut Vec<u32>) {
        for &user in &self.storage.disturbed {
            self.storage.accounts[user as usize].disturbed = false;
        }
        into.append(&mut self.storage.disturbed);
    }

    /// The number of users in queue, for the free list's threshold.
    pub fn set_mpl(&mut self, mpl: u32) {
        self.threshold = threshold(self.free_list_minimum, mpl, self.storage.frames());
    }

    /// The user needs this page: had at once, or he waits.
    pub(super) fn need(&mut self, user: u32, page: u32) -> Fault {
        if self.storage.pages[page as usize].frame == NONE {
            let own = self.storage.pages[page as usize].owner == user;
            let number = own.then(|| page - self.storage.accounts[user as usize].base);
            self.replacement.fault(&mut self.storage, user, number);
        }
        if self.storage.pages[page as usize].frame == NONE {
            if !self.storage.short.is_empty() || !self.storage.bring_in(page) {
                self.storage.accounts[user as usize].wants = page;
                self.storage.short.push_back(user);
                return Fault::Waits;
            }
            let frame = self.storage.pages[page as usize].frame;
            if self.storage.frames[frame as usize].state == State::Used {
                // Of zeros: there was no slot to lie on.
                self.replacement.came(frame, page);
            }
        }
        let frame = self.storage.pages[page as usize].frame;
        match self.storage.frames[frame as usize].state {
            State::ComingIn => {
                self.storage.asked_for(frame);
                self.storage.wait_for(user, frame);
                return Fault::Waits;
            }
            State::Used => {}
            State::Free | State::Flush | State::Kept | State::GoingOut => {
                self.storage.counts.reclaims += 1;
                self.storage.work.reclaims += 1;
                self.storage.map(frame);
                self.replacement.arrived(&mut self.storage, frame);
            }
        }
        self.storage.hold(user, frame);
        Fault::Reclaimed
    }
}

/// Pages of a program by its own numbers.
fn bases(accounts: &[Account], program: &Program, user: u32) -> impl Fn(u32) -> u32 + use<> {
    let space = program.space();
    let own = page_number(accounts, program, user, 0);
    let shared = page_number(accounts, program, user, space).wrapping_sub(space);
    // Which of them a page is of is as good as random: no branch.
    move |page| page.wrapping_add(if page < space { own } else { shared })
}

/// The free list is wanted so long; but never more than half of storage.
pub(super) fn threshold(minimum: u32, mpl: u32, frames: u32) -> u32 {
    minimum.saturating_add(mpl).min(frames / 2).max(1)
}
