//! What moves whole swap sets, and pages that come back without I/O.

use super::chain::NONE;
use super::core::Storage;
use super::frames::{Frame, State};
use super::sios::Sio;
use crate::engine::Span;

impl Storage {
    /// Frames of one swap set are taken from their users or from the policy, and their pages written, changed or not: on a
    /// block of an area for sets, else on slots chosen one after the other as by [`Storage::write_out`]. What stays in use
    /// is one whose page is just being written or has no slot to go to.
    pub fn write_set(&mut self, frames: &[u32]) {
        let from = self.sios.ready.len();
        match self.areas.choose_block() {
            Some((area, first)) => {
                let mut together = std::mem::take(&mut self.together);
                let free = frames
                    .iter()
                    .filter(|&&frame| !self.frames[frame as usize].writing);
                together.extend(free);
                for (slot, &frame) in (first..).zip(&together) {
                    let Frame { page, state, .. } = self.frames[frame as usize];
                    self.forget_slot(page);
                    self.put_on(page, area, slot);
                    self.release(frame, state);
                    self.frames[frame as usize].state = State::GoingOut;
                    self.going_out += 1;
                }
                self.start(&together, true);
                together.clear();
                self.together = together;
            }
            None => _ = self.write_out(frames),
        }
        self.sios.mark_swap(from);
    }

    /// As [`Storage::read_in`], of pages of one swap set; `ahead`: nobody has asked for them.
    pub fn read_set(&mut self, user: u32, pages: &[u32], ahead: bool) -> u32 {
        let from = self.sios.ready.len();
        let count = self.read_in(user, pages);
        self.sios.mark_swap(from);
        if ahead {
            self.work.sets_ahead += (self.sios.ready.len() - from) as u32;
        }
        count
    }

    /// A user's own page that is on the free or flush list or on its way out comes back into his page table.
    ///
    /// Returns its frame; `None`: it is in none, or not there.
    pub fn reclaim(&mut self, user: u32, page: u32) -> Option<u32> {
        let frame = self.frame_of(user, page)?;
        if !matches!(
            self.frames[frame as usize].state,
            State::Free | State::Flush | State::GoingOut
        ) {
            return None;
        }
        self.counts.reclaims += 1;
        self.work.reclaims += 1;
        self.map(frame);
        Some(frame)
    }

    /// Pages that the control program looked at, beside those that are in page tables at queue-add and queue-drop.
    pub fn visited(&mut self, pages: u32) {
        self.work.pages_visited += pages;
    }

    /// How many users and background programs there are.
    pub fn users(&self) -> u32 {
        self.programs.len() as u32
    }

    /// How many pages of his own the user has, in storage or not.
    pub fn own_pages(&self, user: u32) -> u32 {
        self.programs[user as usize].space()
    }

    /// Whether a user's own page has a slot outside.
    pub fn has_slot(&self, user: u32, page: u32) -> bool {
        self.pages[(self.accounts[user as usize].base + page) as usize].slot != NONE
    }

    /// Whether a user's own page has a slot in an area that holds whole sets only.
    pub fn lies_in_set_area(&self, user: u32, page: u32) -> bool {
        let slot = self.pages[(self.accounts[user as usize].base + page) as usize].slot;
        slot != NONE && self.areas.is_for_sets(slot)
    }

    /// A start-I/O of a device ended after so long a time in queue and service.
    pub(super) fn count_sio(&mut self, sio: &Sio, device: usize, response: Span) {
        let ns = u128::from(response.ns());
        let pages = sio.frames().count() as u32;
        let reads = pages - sio.frames().filter(|&(_, write)| write).count() as u32;
        self.by_device[device][0] += 1;
        self.counts.sios += 1;
        self.counts.page_in_sios += u64::from(reads > 0);
        self.counts.page_out_sios += u64::from(reads < pages);
        if !sio.swap {
            self.counts.page_io_ns += ns;
            self.work.page_ins_ended += reads;
            return;
        }
        self.counts.swap_sios += 1;
        self.counts.swap_io_ns += ns;
        self.counts.swap_pages_in += u64::from(reads);
        self.counts.swap_pages_out += u64::from(pages - reads);
        self.work.page_ins_ended += u32::from(reads > 0);
        self.work.set_pages += pages;
    }
}
