//! What is asked of a device, and what it took.

use super::Track;
use crate::engine::{Span, Time};

/// The most pages that one start-I/O carries.
pub const MAX_PAGES: usize = 16;

/// Page slots on one cylinder, in the order in which the channel program takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pages {
    slots: [u16; MAX_PAGES],
    count: u8,
}

impl Pages {
    /// One page.
    pub fn one(slot: u16) -> Self {
        Self::block(slot, 1)
    }

    /// So many pages on consecutive slots.
    ///
    /// # Panics
    /// There are none or more than [`MAX_PAGES`].
    pub fn block(first: u16, count: usize) -> Self {
        assert!((1..=MAX_PAGES).contains(&count), "{count} pages in one start-I/O");
        Self {
            slots: std::array::from_fn(|n| first + if n < count { n as u16 } else { 0 }),
            count: count as u8,
        }
    }

    /// Pages on any slots of the cylinder.
    ///
    /// # Panics
    /// There are none or more than [`MAX_PAGES`].
    pub fn of(slots: &[u16]) -> Self {
        let mut pages = Self::block(0, slots.len());
        pages.slots[..slots.len()].copy_from_slice(slots);
        pages
    }

    /// One more page, before the first of a higher slot: pages on consecutive slots then go over together.
    ///
    /// # Panics
    /// There are [`MAX_PAGES`] already.
    pub fn insert(&mut self, slot: u16) {
        let count = self.slots().len();
        let at = self
            .slots()
            .iter()
            .position(|&other| other > slot)
            .unwrap_or(count);
        self.slots.copy_within(at..count, at + 1);
        self.slots[at] = slot;
        self.count += 1;
    }

    /// One more page, after all others.
    ///
    /// # Panics
    /// There are [`MAX_PAGES`] already.
    pub fn push(&mut self, slot: u16) {
        self.slots[usize::from(self.count)] = slot;
        self.count += 1;
    }

    /// In the order in which they pass, from a time on: each next page is the first that comes round after the one before.
    pub(super) fn in_passing_order(&mut self, track: &Track, from: Time) {
        let mut at = from;
        let slots = &mut self.slots[..usize::from(self.count)];
        for next in 0..slots.len().saturating_sub(1) {
            let angle = track.angle(at);
            let wait = |slot: u16| track.wait(slot, angle);
            let first = (next..slots.len()).min_by_key(|&which| wait(slots[which]));
            slots.swap(next, first.expect("some are left"));
            at = at + wait(slots[next]) + track.held(1);
        }
    }

    /// All slots are numbered so much higher.
    pub fn shift(&mut self, by: u16) {
        let count = usize::from(self.count);
        self.slots[..count].iter_mut().for_each(|slot| *slot += by);
    }

    /// The slots in order; never empty.
    pub fn slots(&self) -> &[u16] {
        &self.slots[..usize::from(self.count)]
    }
}

/// One start-I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The caller's mark; it comes back with the completion.
    pub tag: u32,
    pub cylinder: u32,
    pub pages: Pages,
}

/// Where the time of a request went. The sum is its response time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Service {
    /// Waiting before the device.
    pub queue: Span,
    /// The device was free, the path was not.
    pub pend: Span,
    /// Seek, latency and lost revolutions.
    pub disconnect: Span,
    /// The path was held.
    pub connect: Span,
    /// Reconnections missed because the path was busy.
    pub misses: u32,
}

impl Service {
    pub fn response(&self) -> Span {
        self.queue + self.pend + self.disconnect + self.connect
    }
}

/// A request is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    pub device: super::DeviceId,
    pub request: Request,
    pub service: Service,
}
