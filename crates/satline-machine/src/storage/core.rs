//! The mechanisms of paging, without a policy: what can be done with frames, pages and slots.
//!
//! Nothing here talks to the devices: start-I/Os are made ready, and [`super::Memory`] hands them over when the policy has
//! said its word. So policies are plain objects.

use std::collections::VecDeque;

use super::areas::Areas;
use super::bits::{Bits, Sharers};
use super::chain::{Chain, NONE};
use super::decisions::PageOutDevice;
use super::decisions::SlotChoice;
use super::frames::{Account, Frame, Page, State};
use super::migration::Migration;
use super::prefetch::Prefetch;
use super::readahead::Readahead;
use super::sios::{Sio, Sios};
use crate::configuration::Compression;
use crate::engine::Stream;
use crate::references::{Kind, Program};

/// What the control program did, for whom processor time is to be billed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    pub frames_scanned: u32,
    /// Start-I/Os that write pages.
    pub page_out_sios: u32,
    /// Resident pages of users at queue-add and queue-drop.
    pub pages_visited: u32,
    pub reclaims: u32,
    /// Start-I/Os of a set count once.
    pub page_ins_ended: u32,
    /// Pages moved in swap sets, and start-I/Os for sets that nobody had asked for.
    pub set_pages: u32,
    pub sets_ahead: u32,
    /// Of compressing pages and of decompressing them.
    pub compression_ns: u64,
}

/// Counts since the start of the run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub page_reads: u64,
    pub page_writes: u64,
    pub page_reads_fast: u64,
    pub page_writes_fast: u64,
    pub page_faults: u64,
    pub reclaims: u64,
    pub steals: u64,
    pub frames_scanned: u64,
    pub sios: u64,
    pub page_in_sios: u64,
    pub page_out_sios: u64,
    pub flushed: u64,
    pub flush_reclaims: u64,
    /// Of them those of swap sets, and pages in and out by these.
    pub swap_sios: u64,
    pub swap_pages_in: u64,
    pub swap_pages_out: u64,
    /// Queue and service: of swap sets, and of all other pages.
    pub swap_io_ns: u128,
    pub page_io_ns: u128,
    /// Pages read ahead, and what became of them.
    pub ahead: u64,
    pub ahead_used: u64,
    pub ahead_wasted: u64,
    pub migrated: u64,
}

/// Main storage, page tables and paging areas.
#[derive(Debug)]
pub struct Storage {
    pub(super) frames: Vec<Frame>,
    /// By frame: the first of the users who wait for its page to come, or none.
    pub(super) waiters: Vec<u32>,
    pub(super) pages: Vec<Page>,
    /// By slot: the page that it is for, or none.
    pub(super) page_on: Vec<u32>,
    /// By page: in the page table of its user.
    pub(super) present: Bits,
    /// By page that has a frame: its reference bit; it was changed since it was read or written; it was read ahead, and nobody
    /// has asked for it yet. By page, so that all of them lie in a few lines of the cache.
    pub(super) referenced: Bits,
    pub(super) changed: Bits,
    pub(super) ahead: Bits,
    /// By shared page, from 0: programs whose next touch of it need not be known.
    pub(super) sharers: Sharers,
    pub(super) free: Chain,
    pub(super) flush: Chain,
    /// Frames whose page is written before they come to the free list.
    pub(super) going_out: u32,
    pub(super) areas: Areas,
    pub(super) sios: Sios,
    pub(super) page_out_device: Box<dyn PageOutDevice>,
    pub(super) slot: Box<dyn SlotChoice>,
    /// A page that leaves is written also if it is unchanged.
    pub(super) write_unchanged: bool,
    /// Pages that go out together, and their frames can have no more to come: the start-I/O is not made ready yet.
    pub(super) block: Option<Sio>,
    /// Kinds of transactions, of all classes.
    pub(super) kinds: Vec<Kind>,
    /// By program: its touches, (its class's first kind, the present one), its accounts, where pages that it never touched
    /// lie. The shared pages' owner follows the last one in the latter two.
    pub(super) programs: Vec<Program>,
    pub(super) kind_of: Vec<(u32, u32)>,
    pub(super) accounts: Vec<Account>,
    pub(super) first_places: Vec<Stream>,
    /// Users who wait for a frame, the longest first.
    pub(super) short: VecDeque<u32>,
    /// A frame that could not be taken may be now, and nobody has looked since.
    pub(super) loosened: bool,
    /// Users whose next fault may have come nearer.
    pub(super) disturbed: Vec<u32>,
    /// Frames of one block; kept for its room.
    pub(super) together: Vec<u32>,
    pub(super) in_queue_pages: u32,
    /// Free frames that others wait for while one user is served.
    pub(super) reserved: u32,
    pub(super) readahead: Option<Readahead>,
    pub(super) prefetch: Option<Prefetch>,
    pub(super) migration: Option<Migration>,
    pub(super) compression: Option<Compression>,
    /// By area: its pages lie in main storage.
    pub(super) compressed: Vec<bool>,
    pub(super) work: Work,
    pub(super) counts: Counts,
    /// By device: start-I/Os, pages read, pages written.
    pub(super) by_device: Vec<[u64; 3]>,
}

impl Storage {
    /// How many frames there are.
    pub fn frames(&self) -> u32 {
        self.frames.len() as u32
    }

    pub fn frame(&self, frame: u32) -> &Frame {
        &self.frames[frame as usize]
    }

    /// The frame in which a user's own page lies, numbered from his first.
    pub fn frame_of(&self, user: u32, page: u32) -> Option<u32> {
        let page = self.accounts[user as usize].base + page;
        let frame = self.pages[page as usize].frame;
        (frame != NONE).then_some(frame)
    }

    /// A user's own pages touched in his present stay, numbered from his first, in the order of touch.
    pub fn touched_in_stay(&self, user: u32) -> &[u32] {
        self.programs[user as usize].stay()
    }

    /// The policy looks at a frame.
    #[inline]
    pub fn scan(&mut self, frame: u32) -> &Frame {
        self.counts.frames_scanned += 1;
        self.work.frames_scanned += 1;
        &self.frames[frame as usize]
    }

    /// The policy looked at so many more.
    pub fn scanned(&mut self, frames: u32) {
        self.counts.frames_scanned += u64::from(frames);
        self.work.frames_scanned += frames;
    }

    /// The page in a frame, numbered as [`super::Replacement::came`] says.
    ///
    /// # Panics
    /// It never had one.
    pub fn page_in(&self, frame: u32) -> u32 {
        let page = self.frames[frame as usize].page;
        assert!(page != NONE, "frame {frame} has no page");
        page
    }

    /// The reference bit of the page in a frame.
    pub fn is_referenced(&self, frame: u32) -> bool {
        let page = self.frames[frame as usize].page;
        page != NONE && self.referenced.get(page)
    }

    /// Whether the page in a frame was read before anybody asked for it, and nobody has since.
    pub fn is_ahead(&self, frame: u32) -> bool {
        let page = self.frames[frame as usize].page;
        page != NONE && self.ahead.get(page)
    }

    /// Resets the reference bit of a frame in use.
    pub fn reset(&mut self, frame: u32) {
        let page = self.frames[frame as usize].page;
        self.referenced.set(page, false);
        self.unsee(page);
    }

    /// Resets the reference bit of a user's own page, numbered from his first; of one that lies in no frame it is off.
    pub fn reset_own(&mut self, user: u32, number: u32) {
        self.referenced
            .set(self.accounts[user as usize].base + number, false);
        self.programs[user as usize].unsee(number);
    }

    /// Takes a frame from its user (or from the flush list, or from the policy) and puts it on the free list; a changed
    /// page, or one that has no slot, is written before. False if it cannot be: there is no slot for the page, or it is
    /// just being written.
    pub fn give_up(&mut self, frame: u32) -> bool {
        let Frame {
            page, state, writing, ..
        } = self.frames[frame as usize];
        if self.changed.get(page) || self.write_unchanged || self.pages[page as usize].slot == NONE {
            return match self.block_pages() {
                1 => self.write_out(&[frame]) == 1,
                _ => !writing && self.join_block(frame),
            };
        }
        if writing {
            return false;
        }
        self.release(frame, state);
        self.frames[frame as usize].state = State::Free;
        self.free.push_back(frame);
        true
    }

    /// Takes frames from their users (or from the flush list, or from the policy) and writes their pages, changed or not, on
    /// slots chosen one after the other, in one start-I/O for each run on one cylinder; then they come to the free list.
    /// Returns how many: a page without a slot, or just being written, stays.
    pub fn write_out(&mut self, frames: &[u32]) -> u32 {
        let mut together = std::mem::take(&mut self.together);
        let mut area = None;
        for &frame in frames {
            let Frame {
                page, state, writing, ..
            } = self.frames[frame as usize];
            if writing {
                continue;
            }
            let Some(chosen) = self.new_slot(page, area) else {
                continue;
            };
            area = Some(chosen);
            self.release(frame, state);
            self.frames[frame as usize].state = State::GoingOut;
            self.going_out += 1;
            together.push(frame);
        }
        self.start(&together, true);
        let count = together.len() as u32;
        together.clear();
        self.together = together;
        count
    }

    /// Starts to read those of a user's own pages that are not in storage and have a slot, in one start-I/O for each run
    /// on one cylinder, while frames are free. Returns how many; the policy hears of each when it has come.
    pub fn read_in(&mut self, user: u32, pages: &[u32]) -> u32 {
        let mut together = std::mem::take(&mut self.together);
        let base = self.accounts[user as usize].base;
        for page in pages.iter().map(|&number| base + number) {
            let of = self.pages[page as usize];
            if of.frame == NONE && of.slot != NONE {
                together.extend(self.claim(page));
            }
        }
        self.start(&together, false);
        let count = together.len() as u32;
        together.clear();
        self.together = together;
        count
    }

    /// A page that the policy kept comes back into its user's page table.
    pub fn restore(&mut self, frame: u32) {
        debug_assert_eq!(self.frames[frame as usize].state, State::Kept);
        self.map(frame);
    }

    /// Frees the slot of the page in a frame in use: it has to be written before it leaves.
    pub fn free_slot(&mut self, frame: u32) {
        let Frame { page, state, .. } = self.frames[frame as usize];
        debug_assert!(matches!(state, State::Used | State::Kept));
        self.forget_slot(page);
    }

    /// Whose page is in a frame, and its number among his own; `None`: there is none, or it is a shared one.
    pub fn owner(&self, frame: u32) -> Option<(u32, u32)> {
        let page = self.frames[frame as usize].page;
        let owner = self.pages.get(page as usize)?.owner;
        let own = (owner as usize) < self.programs.len();
        own.then(|| (owner, page - self.accounts[owner as usize].base))
    }

    /// Frames that can be had now.
    pub fn free_frames(&self) -> u32 {
        self.free.len()
    }

    /// Takes a frame from its user and puts it at the end of the flush list.
    pub fn to_flush_list(&mut self, frame: u32) {
        self.flush(frame);
        self.flush.push_back(frame);
    }

    /// The same at its front: it is the next to be taken.
    pub fn to_flush_list_front(&mut self, frame: u32) {
        self.flush(frame);
        self.flush.push_front(frame);
    }

    fn flush(&mut self, frame: u32) {
        let state = self.frames[frame as usize].state;
        self.release(frame, state);
        self.frames[frame as usize].state = State::Flush;
        self.counts.flushed += 1;
    }

    /// Takes a frame from its user's page table; it stays where it is, and the policy knows of it.
    pub fn keep(&mut self, frame: u32) {
        let state = self.frames[frame as usize].state;
        self.release(frame, state);
        self.frames[frame as usize].state = State::Kept;
    }
}
