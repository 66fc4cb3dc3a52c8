//! Sets that go out and come back.

use super::Swapping;
use crate::storage::{State, Storage};

impl Swapping {
    /// Writes the next swap set of the user whose turn it is. False: there is none, or no slot for it.
    pub(super) fn swap_out(&mut self, storage: &mut Storage) -> bool {
        let Some(user) = self.list.next() else {
            return false;
        };
        let kept = &mut self.users[user as usize].kept;
        let from = kept.len().saturating_sub(self.plan.set_pages as usize);
        self.together.clear();
        self.together.extend(kept.drain(from..).rev());
        let written = self.write_together(storage, user);
        let kept = &mut self.users[user as usize].kept;
        let stayed = self
            .together
            .iter()
            .rev()
            .filter(|&&frame| storage.frame(frame).state() == State::Kept);
        kept.extend(stayed);
        if kept.is_empty() {
            self.list.remove(user);
            self.counts.physical_swaps += 1;
        }
        written
    }

    /// The frames that are together go out as one set, as far as there are slots.
    pub(super) fn write_together(&mut self, storage: &mut Storage, user: u32) -> bool {
        storage.write_set(&self.together);
        let stay = self.users[user as usize].stay;
        let mut set = None;
        for &frame in &self.together {
            if let (State::GoingOut, Some((_, page))) = (storage.frame(frame).state(), storage.owner(frame)) {
                let set = *set.get_or_insert_with(|| self.sets.form(user, stay));
                self.sets.add(set, page);
            }
        }
        self.counts.sets_out += u64::from(set.is_some());
        set.is_some()
    }

    /// A set comes back, as far as there are frames; what has none stays out until it is asked for. Pages still in storage need no I/O.
    /// `asked`: the page for which a user stands, which comes before the others; with none, nobody has asked for any.
    pub(super) fn bring_set(&mut self, storage: &mut Storage, set: u32, asked: Option<u32>) {
        let user = self.sets.user(set);
        let mut together = std::mem::take(&mut self.together);
        together.clear();
        together.extend_from_slice(self.sets.pages(set));
        together.retain(|&page| match storage.reclaim(user, page) {
            Some(frame) => {
                self.last_resort.arrived(storage, frame);
                self.took_back(storage, user, page, frame);
                false
            }
            None => true,
        });
        if (storage.free_frames() as usize) < together.len() {
            // It goes to the front, and the others keep their order.
            if let Some(at) = together.iter().position(|&page| Some(page) == asked) {
                together[..=at].rotate_right(1);
            }
        }
        let count = storage.read_set(user, &together, asked.is_none());
        self.counts.sets_in += u64::from(count > 0);
        for &page in &together {
            if self.comes(storage, user, page) {
                if Some(page) == asked {
                    self.counts.swap_faults += 1;
                } else {
                    self.counts.prepaged_pages += 1;
                    self.users[user as usize].ahead.push(page);
                }
            }
        }
        self.together = together;
    }

    /// One page of a set comes back, if there is a frame.
    pub(super) fn bring_page(&mut self, storage: &mut Storage, user: u32, page: u32) {
        storage.read_in(user, &[page]);
        self.comes(storage, user, page);
    }

    /// The user's sets are given up, but for the pages that are just being written.
    pub(super) fn forget_sets(&mut self, storage: &Storage, user: u32) {
        let mut order = std::mem::take(&mut self.order);
        self.sets.latest_first(user, &mut order);
        for &set in &order {
            self.together.clear();
            self.together.extend_from_slice(self.sets.pages(set));
            for &page in &self.together {
                let frame = storage
                    .frame_of(user, page)
                    .map(|frame| storage.frame(frame).state());
                if frame != Some(State::GoingOut) {
                    self.sets.remove(user, page);
                }
            }
        }
        self.order = order;
    }

    /// Whether a page that was out is now on its way in; then it is in its set no more.
    fn comes(&mut self, storage: &Storage, user: u32, page: u32) -> bool {
        let Some(frame) = storage.frame_of(user, page) else {
            return false;
        };
        self.inbound[frame as usize] = true;
        self.sets.remove(user, page);
        true
    }

    /// A page that was out was still in storage, and is in use again.
    pub(super) fn took_back(&mut self, storage: &mut Storage, user: u32, page: u32, frame: u32) {
        storage.free_slot(frame);
        self.sets.remove(user, page);
        self.counts.reclaimed_pages += 1;
    }
}
