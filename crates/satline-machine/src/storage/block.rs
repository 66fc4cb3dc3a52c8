//! Blocked page-out: pages that leave one after another go out in one start-I/O.
//!
//! [`Storage::give_up`] puts each page that has to be written into the open block, on a slot of its own, at once; so nothing
//! can take the frame or the slot meanwhile. While a block is open, [`super::Memory`] goes on choosing frames, beyond the
//! free list's threshold, at most as many as a block has pages. The block is started when it is full, when the next
//! slot would be on another cylinder, or when no more frames are chosen: at the same instant at which it was opened. Its
//! frames count as supply of the free list from the time they are chosen, as all frames on their way out do.

use super::core::Storage;
use super::frames::{Frame, State};
use crate::devices::MAX_PAGES;

impl Storage {
    /// Pages of one block; 1: none is gathered.
    pub(super) fn block_pages(&self) -> usize {
        self.page_out_device.in_a_row().clamp(1, MAX_PAGES)
    }

    /// Some pages were chosen to go out together, and more may come.
    pub(super) fn block_is_open(&self) -> bool {
        self.block.is_some()
    }

    /// Writes a page with the open block, or opens one. False: there is no slot.
    pub(super) fn join_block(&mut self, frame: u32) -> bool {
        let Frame { page, state, .. } = self.frames[frame as usize];
        let same_area = self.block.map(|block| block.place.area);
        if self.new_slot(page, same_area).is_none() {
            return false;
        }
        self.release(frame, state);
        self.frames[frame as usize].state = State::GoingOut;
        self.going_out += 1;
        let mut open = self.block.take();
        self.append(&mut open, frame, true);
        self.block = open;
        if self.block_ends() {
            self.end_block();
        }
        true
    }

    /// The open block is full, or a page more would have to go to another cylinder.
    fn block_ends(&mut self) -> bool {
        let most = self.block_pages();
        let Some(block) = &self.block else {
            return false;
        };
        let place = block.place;
        let area = &self.areas.list()[place.area];
        if block.slots().len() >= most || area.free() == 0 {
            return true;
        }
        let next = self.slot.choose(place.area, area);
        !self.areas.is_on_cylinder(place, next)
    }

    /// The open block goes out as it is.
    pub(super) fn end_block(&mut self) {
        self.block
            .take()
            .into_iter()
            .for_each(|block| self.sios.add(block));
    }
}
