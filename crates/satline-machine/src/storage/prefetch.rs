//! Record and prefetch: what a user touched in his last stay in queue is read at his next queue-add.
//!
//! Only the record is a whole: its pages leave one by one, as the replacement policy takes them, and lie where they lie. At
//! queue-add those still on the free or flush list or on their way out come back at once; the others are read as frames
//! become free, which are wanted for them, until the user leaves the queue or asks for them himself.

use std::collections::VecDeque;

use super::Memory;
use super::chain::NONE;
use super::core::Storage;
use super::frames::State;
use crate::configuration;

#[derive(Debug)]
pub(super) struct Prefetch {
    plan: configuration::Prefetch,
    /// By user: his own pages in the order in which he first touched them in his last stay, numbered through.
    records: Vec<Vec<u32>>,
    /// To be read: (user, page).
    to_come: VecDeque<(u32, u32)>,
    /// Kept for its room.
    ready: Vec<u32>,
}

impl Prefetch {
    /// Nothing is recorded.
    pub fn new(plan: configuration::Prefetch, users: usize) -> Self {
        Self {
            plan,
            records: vec![Vec::new(); users],
            to_come: VecDeque::new(),
            ready: Vec::new(),
        }
    }
}

impl Storage {
    /// The user leaves the queue.
    pub(super) fn record_stay(&mut self, user: u32) {
        let Some(prefetch) = &mut self.prefetch else {
            return;
        };
        prefetch.to_come.retain(|&(whose, _)| whose != user);
        let base = self.accounts[user as usize].base;
        let record = &mut prefetch.records[user as usize];
        record.clear();
        let stay = self.programs[user as usize].stay();
        record.extend(stay.iter().map(|&page| base + page));
    }

    /// The user comes into queue.
    pub(super) fn recall_record(&mut self, user: u32) {
        let Some(prefetch) = &mut self.prefetch else {
            return;
        };
        let most = prefetch.plan.most_pages.map_or(usize::MAX, |most| most as usize);
        let pages = &self.pages;
        let frames = &self.frames;
        let is_in = |page: u32| {
            let frame = pages[page as usize].frame;
            frame != NONE && matches!(frames[frame as usize].state, State::Used | State::ComingIn)
        };
        let record = prefetch.records[user as usize].iter();
        let wanted = record.filter(|&&page| !is_in(page)).take(most);
        prefetch.to_come.extend(wanted.map(|&page| (user, page)));
    }

    /// The user logs off.
    pub(super) fn forget_record(&mut self, user: u32) {
        if let Some(prefetch) = &mut self.prefetch {
            prefetch.to_come.retain(|&(whose, _)| whose != user);
            prefetch.records[user as usize].clear();
        }
    }

    /// Frames wanted for recorded pages.
    pub(super) fn recalled(&self) -> u32 {
        let waiting = self.prefetch.as_ref().map(|prefetch| prefetch.to_come.len());
        waiting.unwrap_or(0) as u32
    }
}

impl Memory {
    /// Brings recorded pages in, while frames are free: those that come at one time in one start-I/O for each cylinder.
    pub(super) fn prefetch(&mut self) {
        let Some(mut prefetch) = self.storage.prefetch.take() else {
            return;
        };
        let ready = &mut prefetch.ready;
        // Some frames stay for those who will ask.
        while self.storage.free.len() > self.threshold / 2 {
            let Some((_, page)) = prefetch.to_come.pop_front() else {
                break;
            };
            let frame = self.storage.pages[page as usize].frame;
            let state = (frame != NONE).then(|| self.storage.frames[frame as usize].state);
            match state {
                None => _ = self.storage.claim_ahead(page, ready),
                Some(State::Free | State::Flush | State::GoingOut) => {
                    self.storage.counts.reclaims += 1;
                    self.storage.work.reclaims += 1;
                    self.storage.map(frame);
                    self.replacement.arrived(&mut self.storage, frame);
                }
                Some(State::Used | State::ComingIn | State::Kept) => {}
            }
        }
        let storage = &self.storage;
        let slot = |frame: u32| storage.pages[storage.frames[frame as usize].page as usize].slot;
        ready.sort_unstable_by_key(|&frame| slot(frame));
        self.storage.start(ready, false);
        ready.clear();
        self.storage.prefetch = Some(prefetch);
    }
}
