//! What storage asks of the policies: it owns the questions, and knows none of those that answer them.

use std::fmt::Debug;

use super::areas::Area;
use super::core::Storage;
use crate::configuration::Sampling;
use crate::engine::{Span, Streams};
use crate::readings::SystemReading;

/// Makes a replacement policy.
type Make<'a> = Box<dyn FnOnce(Setup) -> Box<dyn Replacement> + 'a>;
/// Makes one of another.
type Wrap<'a> = Box<dyn FnOnce(Box<dyn Replacement>, &Storage) -> Box<dyn Replacement> + 'a>;

/// Who decides.
pub struct Decisions<'a> {
    pub replacement: Make<'a>,
    /// Puts something between storage and its replacement policy, which stays the last resort.
    pub around: Wrap<'a>,
    pub queue_drop: Box<dyn QueueDrop>,
    /// Of pages.
    pub places: Places,
    /// Of swap sets.
    pub set_places: Places,
}

/// Who decides where something goes that leaves storage.
pub struct Places {
    pub device: Box<dyn PageOutDevice>,
    /// Makes one for so many areas.
    pub slot: fn(areas: usize) -> Box<dyn SlotChoice>,
}

/// Which pages leave storage.
pub trait Replacement: Debug + Send {
    /// A frame to take from its user: one that is takeable. `None`: there is none.
    fn victim(&mut self, storage: &mut Storage) -> Option<u32>;

    /// Frames are wanted: at least one is to be given up or written out, if one can be.
    fn refill(&mut self, storage: &mut Storage) {
        // One whose page has no slot and can get none is passed over; after all frames there is no other.
        for _ in 0..storage.frames() {
            match self.victim(storage) {
                Some(frame) if !storage.give_up(frame) => self.came(frame, storage.page_in(frame)),
                _ => return,
            }
        }
    }

    /// A page came into use in this frame. Pages are numbered through, those of one user after those of the one before
    /// him, shared ones last: below [`Setup::pages`].
    fn came(&mut self, _frame: u32, _page: u32) {}

    /// The same of a page that nobody has asked for yet.
    fn came_ahead(&mut self, frame: u32, page: u32) {
        self.came(frame, page);
    }

    /// The same, where the policy looks at more than the frame: a page that was read, or that a user got back from the free
    /// or flush list or on its way out.
    fn arrived(&mut self, storage: &mut Storage, frame: u32) {
        let page = storage.page_in(frame);
        match storage.is_ahead(frame) {
            true => self.came_ahead(frame, page),
            false => self.came(frame, page),
        }
    }

    /// The frame's page went out of use without the policy.
    fn left(&mut self, _frame: u32) {}

    /// Whether every touch must be told, and not only the first one after a bit was reset.
    fn every_touch(&self) -> bool {
        false
    }

    /// The page in this frame was touched; only for [`Replacement::every_touch`].
    fn touched(&mut self, _frame: u32) {}

    /// A user came into queue; `interactive`: into Q1.
    fn queue_add(&mut self, _storage: &mut Storage, _user: u32, _interactive: bool) {}

    /// A user left the queue; [`Storage::touched_in_stay`] has the pages of his stay. What is left of them in his page table
    /// is the business of [`QueueDrop`].
    fn queue_drop(&mut self, _storage: &mut Storage, _user: u32, _interactive: bool) {}

    /// A user needs a page that is not in storage: a shared one (`None`), or this one of his own. It is read after this, if
    /// the policy has not begun to.
    fn fault(&mut self, _storage: &mut Storage, _user: u32, _page: Option<u32>) {}

    /// Frames that the policy waits for, to read pages of its choice; they are wanted beside the free list's threshold.
    fn wanted_frames(&self) -> u32 {
        0
    }

    /// Frames are free, and no user waits for one.
    fn feed(&mut self, _storage: &mut Storage) {}

    /// A user logs off; after this his frames and slots are taken from him.
    fn log_off(&mut self, _storage: &mut Storage, _user: u32) {}

    /// How often [`Replacement::tick`] is wanted.
    fn tick_interval(&self) -> Option<Span> {
        None
    }

    fn tick(&mut self, _storage: &mut Storage) {}

    /// Fills in the counters that only this policy has.
    fn read(&self, _into: &mut SystemReading) {}

    /// What the policy knows agrees with storage.
    ///
    /// # Errors
    /// It does not: a mistake of the program.
    fn check(&self, _storage: &Storage) -> Result<(), String> {
        Ok(())
    }
}

/// What a replacement policy is made from.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    pub frames: u32,
    /// Pages of all users and background programs, and shared ones.
    pub pages: u32,
    pub sampling: Sampling,
    pub streams: &'a Streams,
}

/// What becomes of a user's own pages when he leaves the queue.
pub trait QueueDrop: Debug + Send {
    /// A user left; [`Storage::touched_in_stay`] still has the pages of his stay. `replacement` is to hear of every frame
    /// that is taken from him.
    fn dropped(&mut self, storage: &mut Storage, user: u32, replacement: &mut dyn Replacement);
}

/// Which device a page goes to.
pub trait PageOutDevice: Debug + Send {
    /// An area of this tier that has a free slot; there is at least one.
    fn choose(&mut self, areas: &[Area], tier: u32) -> usize;

    /// It is asked once for so many page-outs at most: those that follow the first go to the same area as long as their
    /// slots are on the same cylinder, and with it in one start-I/O. 1: every page goes alone, and at once.
    fn in_a_row(&self) -> usize {
        1
    }
}

/// Which slot of an area a page goes to.
pub trait SlotChoice: Debug + Send {
    /// A free slot of the area, numbered from its first; there is at least one. `number` is the area's place among all.
    /// Asked twice before the slot is taken it gives the same one: the first time may be to see how near it is.
    fn choose(&mut self, number: usize, area: &Area) -> u32;
}
