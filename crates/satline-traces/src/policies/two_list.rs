//! Two lists with refault distance: Linux's classic replacement.
//!
//! What: pages come into an inactive list; at its end a page with its reference bit on goes round again, and becomes active
//! when it is found so a second time; others are taken. A page that comes back after no more evictions and activations
//! than there are active pages becomes active at once. The active list gives its oldest away when it is the longer.
//! Why: a stream of pages touched once passes through the inactive list and leaves the active one alone.
//! Reference: Linux, mm/vmscan.c and mm/workingset.c of versions 3.15 to 6.0: for pages reached by page tables, one node, no
//! control groups, lists under 1 GB in 4 KB pages (beyond, the active list may be longer: not modelled).

use super::{Links, NONE, Policy, Setup};

const INACTIVE: u32 = 0;
const ACTIVE: u32 = 1;

#[derive(Debug)]
pub struct TwoList {
    lists: Links,
    list_of: Vec<u32>,
    page_of: Vec<u32>,
    /// The bit that the hardware sets.
    referenced: Vec<bool>,
    /// The bit was found on once at the inactive list's end.
    seen: Vec<bool>,
    /// By page: the age at which it was taken.
    shadows: Vec<u64>,
    /// Evictions and activations so far.
    age: u64,
    looked: u32,
}

const NO_SHADOW: u64 = u64::MAX;

impl TwoList {
    fn enter(&mut self, list: u32, frame: u32) {
        self.lists.push(list, frame);
        self.list_of[frame as usize] = list;
    }

    fn activate(&mut self, frame: u32) {
        self.seen[frame as usize] = false;
        self.age += 1;
        self.enter(ACTIVE, frame);
    }

    /// The inactive list is to be no shorter than the active one.
    fn balance(&mut self) {
        while self.lists.len(INACTIVE) < self.lists.len(ACTIVE) {
            let Some(frame) = self.lists.oldest(ACTIVE) else {
                return;
            };
            self.lists.remove(ACTIVE, frame);
            self.looked += 1;
            self.referenced[frame as usize] = false;
            self.enter(INACTIVE, frame);
        }
    }

    fn arrive(&mut self, frame: u32, page: u32, referenced: bool) {
        let at = frame as usize;
        self.page_of[at] = page;
        self.referenced[at] = referenced;
        self.seen[at] = false;
        let shadow = std::mem::replace(&mut self.shadows[page as usize], NO_SHADOW);
        if shadow != NO_SHADOW && self.age - shadow <= u64::from(self.lists.len(ACTIVE)) {
            self.activate(frame);
        } else {
            self.enter(INACTIVE, frame);
        }
    }
}

impl Policy for TwoList {
    const SOURCE: &str = include_str!("two_list.rs");

    fn new(setup: &Setup) -> Self {
        let frames = setup.frames as usize;
        Self {
            lists: Links::new(setup.frames, 2),
            list_of: vec![INACTIVE; frames],
            page_of: vec![NONE; frames],
            referenced: vec![false; frames],
            seen: vec![false; frames],
            shadows: vec![NO_SHADOW; setup.pages as usize],
            age: 0,
            looked: 0,
        }
    }

    fn touched(&mut self, frame: u32) {
        self.referenced[frame as usize] = true;
    }

    fn came(&mut self, frame: u32, page: u32) {
        // The instruction that faulted is done again and sets the bit.
        self.arrive(frame, page, true);
    }

    fn came_ahead(&mut self, frame: u32, page: u32) {
        // Linux takes the shadow of such a page too.
        self.arrive(frame, page, false);
    }

    fn looked(&mut self) -> u32 {
        std::mem::take(&mut self.looked)
    }

    fn victim(&mut self, _wanted: Option<u32>, takeable: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        // Each page is activated, given away and passed at most so often before its bit and mark are off.
        for _ in 0..=4 * u64::from(self.lists.len(INACTIVE) + self.lists.len(ACTIVE)) {
            self.balance();
            let frame = self.lists.oldest(INACTIVE)?;
            let at = frame as usize;
            self.lists.remove(INACTIVE, frame);
            if std::mem::replace(&mut self.referenced[at], false) {
                self.looked += 1;
                if std::mem::replace(&mut self.seen[at], true) {
                    self.activate(frame);
                } else {
                    self.enter(INACTIVE, frame);
                }
            } else if takeable(frame) {
                self.shadows[self.page_of[at] as usize] = self.age;
                self.age += 1;
                return Some(frame);
            } else {
                self.enter(INACTIVE, frame);
            }
        }
        // All that may be taken are active.
        self.lists.take_oldest(ACTIVE, takeable)
    }

    fn left(&mut self, frame: u32) {
        self.lists.remove(self.list_of[frame as usize], frame);
    }
}
