//! A scan at regular times for pages that belong to no user in queue and to no swap.

use super::Memory;
use super::core::Storage;
use super::decisions::Replacement;
use super::frames::{Frame, State};
use crate::configuration;
use crate::devices::{IoEvent, Subsystem};
use crate::engine::{Calendar, Span};

/// A pointer of its own that goes on over a part of the frames each time [T87].
#[derive(Debug)]
pub(super) struct PeriodicScan {
    pub interval: Span,
    frames_each: u32,
    pointer: u32,
}

impl PeriodicScan {
    /// Of so many frames; at least one is looked at each time.
    pub fn new(plan: configuration::PeriodicScan, frames: u32) -> Self {
        Self {
            interval: plan.interval,
            frames_each: ((f64::from(frames) * plan.part).round() as u32).clamp(1, frames),
            pointer: 0,
        }
    }

    /// Looks at the next part: what was referenced since the last time loses its bit, the rest goes to the flush list.
    pub fn pass(&mut self, storage: &mut Storage, replacement: &mut dyn Replacement) {
        for _ in 0..self.frames_each {
            let at = self.pointer;
            self.pointer = (at + 1) % storage.frames();
            let takeable = storage.look(at).takeable();
            let referenced = storage.is_referenced(at);
            if !takeable || storage.is_of_queue(at) {
                continue;
            }
            if referenced {
                storage.reset(at);
            } else {
                storage.to_flush_list(at);
                replacement.left(at);
            }
        }
    }
}

impl Memory {
    /// The time of the periodic scan came.
    pub fn scan<E>(&mut self, subsystem: &mut Subsystem, calendar: &mut Calendar<E>)
    where
        E: Copy + From<IoEvent>,
    {
        if let Some(scan) = &mut self.periodic_scan {
            scan.pass(&mut self.storage, &mut *self.replacement);
        }
        self.refill();
        self.submit(subsystem, calendar);
    }

    /// How often [`Memory::scan`] is wanted; `None`: never.
    pub fn scan_interval(&self) -> Option<Span> {
        self.periodic_scan.as_ref().map(|scan| scan.interval)
    }
}

impl Storage {
    /// The scan looks at a frame: work for the control program, but not the replacement policy's.
    fn look(&mut self, frame: u32) -> &Frame {
        self.work.frames_scanned += 1;
        &self.frames[frame as usize]
    }

    /// Whether the page in a frame in use is a page of his own of a user in queue. Those of a swap are in no page table:
    /// [`State::Kept`].
    fn is_of_queue(&self, frame: u32) -> bool {
        debug_assert_eq!(self.frames[frame as usize].state, State::Used);
        let owner = self.owner(frame);
        owner.is_some_and(|(user, _)| self.accounts[user as usize].in_queue)
    }
}
