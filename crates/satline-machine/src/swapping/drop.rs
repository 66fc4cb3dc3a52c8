//! Queue-drop: the working set, what is trimmed, and what is kept.

use std::cmp::Reverse;

use super::Swapping;
use crate::storage::{State, Storage};

impl Swapping {
    pub(super) fn drop_out(&mut self, storage: &mut Storage, user: u32, interactive: bool) {
        let him = &mut self.users[user as usize];
        him.in_queue = false;
        him.stay += 1;
        for &page in storage.touched_in_stay(user) {
            him.touched[page as usize] = him.stay;
        }
        let unused = him
            .ahead
            .iter()
            .filter(|&&page| him.touched[page as usize] != him.stay);
        self.counts.prepage_errors += unused.count() as u64;
        him.ahead.clear();
        self.forget_coming(user);
        self.find_working_set(storage, user);
        if self.plan.trim {
            let others = std::mem::take(&mut self.others);
            for &page in &others {
                if let Some(frame) = storage.frame_of(user, page) {
                    self.trim(storage, frame);
                }
            }
            self.others = others;
        }
        if self.working.is_empty() {
            return;
        }
        match self.plan.logical {
            true => self.keep(storage, user, interactive),
            false => self.write_working_set(storage, user),
        }
    }

    /// The user's resident pages that can be taken: those of his working set in order of address, and the others.
    ///
    /// The working set is what he touched in the stay [T87]; where that is less than the minimum, pages that he touched
    /// later than others make it up, of equal ones those of lower address.
    fn find_working_set(&mut self, storage: &Storage, user: u32) {
        let (working, others) = (&mut self.working, &mut self.others);
        working.clear();
        others.clear();
        let him = &self.users[user as usize];
        for (page, &touched) in (0..).zip(&him.touched) {
            let frame = storage.frame_of(user, page).map(|frame| storage.frame(frame));
            if frame.is_some_and(|frame| frame.takeable()) {
                if touched == him.stay {
                    &mut *working
                } else {
                    &mut *others
                }
                .push(page);
            }
        }
        let lacking = (self.plan.minimum_working_set as usize).saturating_sub(working.len());
        if lacking > 0 && !others.is_empty() {
            others.sort_unstable_by_key(|&page| (Reverse(him.touched[page as usize]), page));
            working.extend(others.drain(..lacking.min(others.len())));
            working.sort_unstable();
        }
    }

    /// A page that no stay needs goes to the flush list.
    pub(super) fn trim(&mut self, storage: &mut Storage, frame: u32) {
        self.last_resort.left(frame);
        storage.to_flush_list(frame);
        self.counts.trimmed_pages += 1;
    }

    /// The working set is swapped logically.
    fn keep(&mut self, storage: &mut Storage, user: u32, interactive: bool) {
        let him = &mut self.users[user as usize];
        for &page in self.working.iter().rev() {
            if let Some(frame) = storage.frame_of(user, page) {
                self.last_resort.left(frame);
                storage.keep(frame);
                him.kept.push(frame);
            }
        }
        self.list.push(user, interactive);
        self.counts.logical_swaps += 1;
    }

    /// The working set goes out at once.
    fn write_working_set(&mut self, storage: &mut Storage, user: u32) {
        let working = std::mem::take(&mut self.working);
        for pages in working.chunks(self.plan.set_pages as usize) {
            self.together.clear();
            let frames = pages.iter().filter_map(|&page| storage.frame_of(user, page));
            self.together.extend(frames);
            self.write_together(storage, user);
            for &frame in &self.together {
                if storage.frame(frame).state() == State::GoingOut {
                    self.last_resort.left(frame);
                }
            }
        }
        self.working = working;
        self.counts.physical_swaps += 1;
    }
}
