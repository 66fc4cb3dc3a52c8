//! What happens within storage when the model or a policy asks for it.

use super::chain::NONE;
use super::core::Storage;
use super::frames::{Account, Frame, Page, State};
use super::sios::Sio;
use crate::devices::MAX_PAGES;
use crate::references::Program;

impl Storage {
    /// Frames that are free or will be.
    pub(super) fn supply(&self) -> u32 {
        self.free.len() + self.going_out
    }

    /// No page is on its way.
    pub(super) fn is_still(&self) -> bool {
        self.sios.outstanding == 0 && self.sios.ready.is_empty()
    }

    /// Whoever had the frame has it no more.
    pub(super) fn release(&mut self, frame: u32, state: State) {
        match state {
            State::Used => self.unmap(frame),
            State::Flush => _ = self.flush.remove(frame),
            State::Kept => {}
            State::Free | State::ComingIn | State::GoingOut => unreachable!("a frame {state:?} is given up"),
        }
    }

    pub(super) fn unmap(&mut self, frame: u32) {
        let page = self.frames[frame as usize].page;
        self.referenced.set(page, false);
        self.counts.ahead_wasted += u64::from(self.ahead.take(page));
        if let Some(migration) = &mut self.migration {
            migration.left(page);
        }
        let Page { owner, .. } = self.pages[page as usize];
        self.unsee(page);
        self.present.set(page, false);
        let account = &mut self.accounts[owner as usize];
        account.resident -= 1;
        account.moves = account.moves.wrapping_add(1);
        if owner as usize == self.programs.len() {
            for user in 0..owner {
                self.disturb(user);
            }
            return;
        }
        if account.in_queue {
            account.steals += 1;
            self.counts.steals += 1;
            self.in_queue_pages -= 1;
            self.disturb(owner);
        }
    }

    pub(super) fn disturb(&mut self, user: u32) {
        let account = &mut self.accounts[user as usize];
        if account.in_queue && !account.disturbed {
            account.disturbed = true;
            self.disturbed.push(user);
        }
    }

    /// Next touches of the page are to be known.
    pub(super) fn unsee(&mut self, page: u32) {
        let owner = self.pages[page as usize].owner;
        let number = page - self.accounts[owner as usize].base;
        if let Some(program) = self.programs.get_mut(owner as usize) {
            program.unsee(number);
            return;
        }
        let programs = &mut self.programs;
        self.sharers.take(number, |user| {
            let program = &mut programs[user];
            program.unsee(program.space() + number);
        });
    }

    /// A frame whose page is in storage comes into the page table of its user.
    pub(super) fn map(&mut self, frame: u32) {
        let at = &mut self.frames[frame as usize];
        let page = at.page;
        match at.state {
            State::Free => _ = self.free.remove(frame),
            State::Flush => {
                self.flush.remove(frame);
                self.counts.flush_reclaims += 1;
            }
            State::GoingOut => self.going_out -= 1,
            State::Kept | State::ComingIn => {}
            State::Used => return,
        }
        at.state = State::Used;
        self.present.set(page, true);
        let owner = self.pages[page as usize].owner;
        let account = &mut self.accounts[owner as usize];
        account.resident += 1;
        account.moves = account.moves.wrapping_add(1);
        self.in_queue_pages += u32::from(account.in_queue);
    }

    /// Gives the page a new slot, and frees the one that it had: in the same area as the one before it if there is room.
    /// `None` if there is no slot.
    pub(super) fn new_slot(&mut self, page: u32, before: Option<usize>) -> Option<usize> {
        self.forget_slot(page);
        let list = self.areas.list();
        let area = match before.filter(|&area| list[area].free() > 0) {
            Some(area) => area,
            None => self.page_out_device.choose(list, self.areas.open_tier()?),
        };
        let slot = self.slot.choose(area, &list[area]);
        self.put_on(page, area, slot);
        Some(area)
    }

    /// The page that a program numbers so.
    #[inline]
    pub(super) fn page_of(&self, user: u32, number: u32) -> u32 {
        page_number(&self.accounts, &self.programs[user as usize], user, number)
    }

    /// Takes the first frame of the free list for a page and starts to read it; for a page that is nowhere a frame with
    /// zeros is had at once. False if no frame is free.
    pub(super) fn bring_in(&mut self, page: u32) -> bool {
        let Some(frame) = self.claim(page) else {
            return false;
        };
        if self.pages[page as usize].slot == NONE {
            let owner = self.pages[page as usize].owner as usize;
            let Some(slot) = self.areas.take_any(&mut self.first_places[owner]) else {
                self.changed.set(page, true);
                self.map(frame);
                return true;
            };
            self.pages[page as usize].slot = slot;
            self.page_on[slot as usize] = page;
        }
        match self.readahead.is_some() {
            true => self.start_with_neighbours(frame),
            false => self.start(&[frame], false),
        }
        true
    }

    /// The first frame of the free list for a page to come.
    pub(super) fn claim(&mut self, page: u32) -> Option<u32> {
        let frame = self.free.pop_front()?;
        let before = self.frames[frame as usize].page;
        if before != NONE {
            self.pages[before as usize].frame = NONE;
        }
        self.frames[frame as usize] = Frame {
            page,
            state: State::ComingIn,
            ..Frame::EMPTY
        };
        self.pages[page as usize].frame = frame;
        for bits in [&mut self.referenced, &mut self.changed, &mut self.ahead] {
            bits.set(page, false);
        }
        Some(frame)
    }

    /// A frame's page is forgotten.
    pub(super) fn empty(&mut self, frame: u32) {
        let Frame { page, state, .. } = self.frames[frame as usize];
        if state != State::Free {
            self.release(frame, state);
        } else {
            self.free.remove(frame);
        }
        self.pages[page as usize].frame = NONE;
        self.frames[frame as usize] = Frame::EMPTY;
        self.free.push_front(frame);
    }

    /// A page's slot is given back.
    pub(super) fn forget_slot(&mut self, page: u32) {
        let slot = std::mem::replace(&mut self.pages[page as usize].slot, NONE);
        if slot != NONE {
            self.areas.give_back(slot);
            self.page_on[slot as usize] = NONE;
        }
    }

    /// A page that has no slot gets this one of an area.
    pub(super) fn put_on(&mut self, page: u32, area: usize, slot: u32) {
        let slot = self.areas.take(area, slot);
        self.pages[page as usize].slot = slot;
        self.page_on[slot as usize] = page;
    }

    /// The page for which a user stands.
    pub(super) fn missing(&self, user: u32) -> Option<u32> {
        let present = |number| self.present.get(self.page_of(user, number));
        let number = self.programs[user as usize].missing(present)?;
        Some(self.page_of(user, number))
    }

    /// The device from which a page is to be read. One that has never been out gets a slot when it is read; until then it
    /// counts as on the device of the first area.
    pub(super) fn lies_on(&self, page: u32) -> Option<usize> {
        let of = &self.pages[page as usize];
        if of.frame != NONE {
            return None;
        }
        let area = match of.slot {
            NONE => 0,
            slot => self.areas.place(slot).area,
        };
        Some(self.areas.list()[area].device)
    }

    /// The user waits for the page that comes into this frame.
    pub(super) fn wait_for(&mut self, user: u32, frame: u32) {
        let first = &mut self.waiters[frame as usize];
        self.accounts[user as usize].next_waiter = std::mem::replace(first, user);
    }

    /// The frame is not taken before the user has run: else two users in a small storage could take each other's page for
    /// ever. He needs one page at a time; one that was held for him before is free to go. Out of queue he runs late, and frames
    /// held for many like him would be nearly all there are: he has to ask again.
    pub(super) fn hold(&mut self, user: u32, frame: u32) {
        self.release_hold(user);
        let account = &mut self.accounts[user as usize];
        if account.in_queue {
            account.hold = frame;
            self.frames[frame as usize].holds += 1;
        }
    }

    /// No frame is held for the user.
    pub(super) fn release_hold(&mut self, user: u32) {
        let held = std::mem::replace(&mut self.accounts[user as usize].hold, NONE);
        if held != NONE {
            let holds = &mut self.frames[held as usize].holds;
            *holds -= 1;
            self.loosened |= *holds == 0;
        }
    }

    pub(super) fn count_page(&mut self, area: usize, device: usize, write: bool) {
        let fast = u64::from(self.areas.is_fast(area));
        let counts = &mut self.counts;
        let (all, of_fast) = match write {
            true => (&mut counts.page_writes, &mut counts.page_writes_fast),
            false => (&mut counts.page_reads, &mut counts.page_reads_fast),
        };
        *all += 1;
        *of_fast += fast;
        if let (Some(plan), true) = (self.compression, self.compressed[area]) {
            let time = if write { plan.compress } else { plan.decompress };
            self.work.compression_ns += time.ns();
        }
        self.by_device[device][1 + usize::from(write)] += 1;
    }

    /// A frame's page was written.
    pub(super) fn written(&mut self, frame: u32) {
        let at = &mut self.frames[frame as usize];
        at.writing = false;
        let owner = self.pages[at.page as usize].owner;
        self.accounts[owner as usize].page_writes += 1;
        if at.state == State::GoingOut {
            at.state = State::Free;
            self.going_out -= 1;
            self.free.push_back(frame);
        }
    }

    /// A frame's page was read; who waited for it is woken.
    pub(super) fn came_in(&mut self, frame: u32, woken: &mut Vec<u32>) {
        self.map(frame);
        let page = self.frames[frame as usize].page;
        let mut waiter = std::mem::replace(&mut self.waiters[frame as usize], NONE);
        let mut reader = self.pages[page as usize].owner;
        while waiter != NONE {
            // The last in the list asked first: the page was read for him.
            reader = waiter;
            woken.push(waiter);
            self.hold(waiter, frame);
            waiter = std::mem::replace(&mut self.accounts[waiter as usize].next_waiter, NONE);
        }
        self.accounts[reader as usize].page_reads += 1;
    }

    /// Makes start-I/Os for frames whose pages have slots: one for every run of pages on one cylinder.
    pub(super) fn start(&mut self, frames: &[u32], write: bool) {
        let mut open: Option<Sio> = None;
        for &frame in frames {
            self.append(&mut open, frame, write);
        }
        open.into_iter().for_each(|sio| self.sios.add(sio));
    }

    /// Puts a page that has a slot into the open start-I/O, if it is for the same cylinder and not full; else into a new
    /// one, and the open one is made ready.
    pub(super) fn append(&mut self, open: &mut Option<Sio>, frame: u32, write: bool) {
        let at = &mut self.frames[frame as usize];
        if write {
            self.changed.set(at.page, false);
            at.writing = true;
        }
        let place = self.areas.place(self.pages[at.page as usize].slot);
        let fits = |sio: &Sio| {
            (sio.place.area, sio.place.cylinder) == (place.area, place.cylinder)
                && sio.slots().len() < MAX_PAGES
        };
        let mut sio = match open.take() {
            Some(sio) if fits(&sio) => sio,
            other => {
                other.into_iter().for_each(|sio| self.sios.add(sio));
                self.areas.visit(place);
                Sio::new(place)
            }
        };
        sio.push(frame, place.slot, write);
        *open = Some(sio);
    }
}

/// The page that a program numbers so: its own come first, then the shared ones.
#[inline]
pub(super) fn page_number(accounts: &[Account], program: &Program, user: u32, number: u32) -> u32 {
    match number.checked_sub(program.space()) {
        None => accounts[user as usize].base + number,
        Some(shared) => accounts[accounts.len() - 1].base + shared,
    }
}
