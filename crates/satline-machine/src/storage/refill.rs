//! The free list, and the start-I/Os that were made on the way.

use super::Memory;
use super::chain::NONE;
use super::memory::Fault;
use crate::devices::{IoEvent, Pages, Request, Subsystem};
use crate::engine::Calendar;

impl Memory {
    /// Gives frames to those who wait for one, and fills the free list up to its threshold.
    pub(super) fn refill(&mut self) {
        self.fill();
        self.storage.end_block();
        self.storage.read_migrants();
    }

    fn fill(&mut self) {
        self.storage.loosened = false;
        // Frames that may be chosen beyond the threshold, to fill a block.
        let mut beyond = self.storage.block_pages();
        loop {
            while !self.storage.free.is_empty() {
                let Some(user) = self.storage.short.pop_front() else {
                    break;
                };
                let mut waiting = std::mem::take(&mut self.storage.short);
                self.storage.reserved = waiting.len() as u32;
                let page = std::mem::replace(&mut self.storage.accounts[user as usize].wants, NONE);
                if self.need(user, page) == Fault::Reclaimed {
                    self.woken.push(user);
                }
                // A policy may have taken the frames for pages of its choice: then he still waits, before the others.
                if let Some(user) = self.storage.short.pop_front() {
                    waiting.push_front(user);
                }
                self.storage.short = waiting;
                self.storage.reserved = 0;
            }
            if self.storage.short.is_empty() && !self.storage.free.is_empty() {
                self.replacement.feed(&mut self.storage);
                if self.storage.prefetch.is_some() {
                    self.prefetch();
                }
            }
            let wanted = self.wanted();
            if self.storage.supply() >= wanted {
                self.overflow = false;
                if !self.storage.block_is_open() || beyond == 0 {
                    return;
                }
                beyond -= 1;
            }
            let before = self.storage.supply();
            let flushed = match self.storage.flush.first() {
                Some(frame) => self.storage.give_up(frame),
                None => false,
            };
            if !flushed {
                self.replacement.refill(&mut self.storage);
            }
            if self.storage.supply() <= before {
                self.overflow = self.storage.areas.open_tier().is_none();
                return;
            }
        }
    }

    /// Hands the start-I/Os that were made to the devices. One page joins a request that waits; see [`Subsystem::join`].
    pub(super) fn submit<E>(&mut self, subsystem: &mut Subsystem, calendar: &mut Calendar<E>)
    where
        E: Copy + From<IoEvent>,
    {
        let sios = &mut self.storage.sios;
        for at in 0..sios.ready.len() {
            let tag = sios.ready[at];
            let sio = sios.get(tag);
            let device = subsystem.device(self.storage.areas.list()[sio.place.area].device);
            let cylinder = sio.place.cylinder;
            if let (&[slot], false) = (sio.slots(), sio.swap) {
                // Areas of one device may be of different tiers: what counts pages goes by a start-I/O's first one.
                let fits = |other: &super::sios::Sio| !other.swap && other.place.area == sio.place.area;
                let paging = |other: u32| other < Self::TAGS && fits(sios.get(other));
                if let Some(other) = subsystem.join(device, cylinder, slot, self.most_pages_per_sio, paging) {
                    sios.join(tag, other);
                    continue;
                }
            }
            self.storage.work.page_out_sios += u32::from(sio.has_write());
            let mut pages = Pages::one(sio.slots()[0]);
            sio.slots()[1..].iter().for_each(|&slot| pages.insert(slot));
            sios.outstanding += 1;
            subsystem.submit(device, Request { tag, cylinder, pages }, calendar);
        }
        sios.ready.clear();
    }
}
