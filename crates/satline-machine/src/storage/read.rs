//! What can be read off storage.

use super::Memory;
use super::frames::State;
use crate::readings::{DeviceReading, SystemReading, UserReading};

impl Memory {
    /// Own pages that the user touched in his last stay: what he will need in the next one.
    pub fn projected(&self, user: u32) -> u32 {
        self.storage.accounts[user as usize].projected
    }

    /// The user's own pages in storage.
    pub fn resident(&self, user: u32) -> u32 {
        self.storage.accounts[user as usize].resident
    }

    /// Shared pages in storage.
    pub fn resident_shared(&self) -> u32 {
        self.storage.accounts[self.storage.programs.len()].resident
    }

    /// Pages read so far, by whomever.
    pub fn all_page_reads(&self) -> u64 {
        self.storage.counts.page_reads
    }

    /// Pages read for the user.
    pub fn page_reads(&self, user: u32) -> u64 {
        self.storage.accounts[user as usize].page_reads
    }

    /// Shared pages read that no user waited for: ahead, or to be moved.
    pub fn page_reads_for_nobody(&self) -> u64 {
        self.storage.accounts[self.storage.programs.len()].page_reads
    }

    /// APAGES: frames that users' own pages may have; the resident shared pages are in nobody's working set.
    pub fn available_frames(&self) -> u32 {
        self.storage.frames() - self.resident_shared()
    }

    /// Start-I/Os of paging under way or queued.
    pub fn outstanding(&self) -> u32 {
        self.storage.sios.outstanding
    }

    /// Users wait for a frame and perhaps need not: one may be had that could not be when it was last looked for, since a
    /// user has run or logged off. [`Memory::feed`] looks.
    pub fn starved(&self) -> bool {
        (self.overflow || !self.storage.short.is_empty()) && self.storage.loosened
    }

    /// Pages have no slot to go to, no frame can be given up, and nothing is on its way that could change it: more paging
    /// area is needed, or somebody must log off.
    pub fn overflow(&self) -> bool {
        self.overflow && self.storage.is_still() && self.storage.frames.iter().all(|frame| frame.holds == 0)
    }

    /// So many frames are to be free or on their way out: for the threshold or for those who wait, and, up to half of
    /// storage, for what the policy is to read.
    pub(super) fn wanted(&self) -> u32 {
        let wanted = self.threshold.max(self.storage.short.len() as u32);
        let more = wanted.saturating_add(self.replacement.wanted_frames() + self.storage.recalled());
        wanted.max(more.min(self.storage.frames() / 2))
    }

    /// Whether the user stands before a page that is not in storage.
    pub fn is_missing(&self, user: u32) -> bool {
        self.storage.missing(user).is_some()
    }

    /// The device from which the page before which the user stands is to be read; `None`: it is in storage or on
    /// its way.
    pub fn missing_on(&self, user: u32) -> Option<usize> {
        let page = self.storage.missing(user)?;
        self.storage.lies_on(page)
    }

    /// A frame's use.
    pub fn frame_state(&self, frame: u32) -> State {
        self.storage.frame(frame).state()
    }

    /// Fills in what storage knows of the system; scheduler's and dispatcher's fields are left.
    pub fn read_system(&self, into: &mut SystemReading) {
        let counts = &self.storage.counts;
        into.page_reads = counts.page_reads;
        into.page_writes = counts.page_writes;
        into.page_reads_fast = counts.page_reads_fast;
        into.page_writes_fast = counts.page_writes_fast;
        into.page_faults = counts.page_faults;
        into.reclaims = counts.reclaims;
        into.steals = counts.steals;
        into.frames_scanned = counts.frames_scanned;
        into.frames = self.storage.frames();
        into.frames_free = self.storage.free.len();
        into.in_queue_pages = self.storage.in_queue_pages;
        into.slots_used = self.storage.areas.used();
        into.slots = self.storage.areas.slots();
        into.paging_sios = counts.sios;
        into.page_in_sios = counts.page_in_sios;
        into.page_out_sios = counts.page_out_sios;
        into.flushed_pages = counts.flushed;
        into.flush_reclaims = counts.flush_reclaims;
        if self.storage.reads_ahead() {
            into.ahead_pages = Some(counts.ahead);
            into.ahead_used = Some(counts.ahead_used);
            into.ahead_wasted = Some(counts.ahead_wasted);
        }
        into.migrated_pages = self.storage.migration.as_ref().map(|_| counts.migrated);
        self.replacement.read(into);
        if into.swap_sets_in.is_some() {
            into.swap_pages_in = Some(counts.swap_pages_in);
            into.swap_pages_out = Some(counts.swap_pages_out);
            into.swap_sios = Some(counts.swap_sios);
            into.swap_io_ns = Some(counts.swap_io_ns);
            into.page_io_ns = Some(counts.page_io_ns);
        }
    }

    /// Fills in what storage knows of a user.
    pub fn read_user(&self, user: u32, into: &mut UserReading) {
        let account = &self.storage.accounts[user as usize];
        into.page_reads = account.page_reads;
        into.page_writes = account.page_writes;
        into.steals = account.steals;
        into.resident_pages = account.resident;
        into.projected_pages = account.projected;
    }

    /// Fills in what storage knows of a device: paging's start-I/Os, pages, and slots where it has paging areas.
    pub fn read_device(&self, device: usize, into: &mut DeviceReading) {
        [into.page_sios, into.page_reads, into.page_writes] = self.storage.by_device[device];
        let areas = self
            .storage
            .areas
            .list()
            .iter()
            .filter(|area| area.device == device);
        let (slots, free) = areas.fold((0, 0), |(slots, free), area| {
            (slots + area.slots(), free + area.free())
        });
        into.slots = (slots > 0).then_some(slots);
        into.slots_used = into.slots.map(|slots| slots - free);
    }
}
