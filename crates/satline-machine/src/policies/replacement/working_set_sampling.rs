//! Working-set sampling with proactive reclaim.
//!
//! What: at regular times all reference bits are read and reset; a page found unreferenced so often in a row goes to the flush
//! list before its frame is wanted. If frames are wanted sooner, the page whose last sampled reference is longest ago is taken.
//! Why: idle pages leave in quiet times and not in a user's way; the age of each page is known to a sample.
//! Reference: Linux idle page tracking and DAMON; Lagar-Cavilla and others, Software-defined far memory in warehouse-scale
//! computers, ASPLOS 2019. There the threshold follows the rate of refaults; here it is fixed, by `paging.sampling`. What a
//! queue-drop resets is not lost: the pages of the stay count as referenced then.

use super::{Replacement, Setup};
use crate::configuration::Sampling;
use crate::engine::Span;
use crate::storage::{Chain, Storage};

#[derive(Debug)]
struct WorkingSetSampling {
    plan: Sampling,
    /// In the order of the last sample that found them referenced.
    order: Chain,
    /// By frame: that sample's number.
    seen: Vec<u64>,
    samples: u64,
    /// Kept for its room.
    idle: Vec<u32>,
}

pub fn make(setup: Setup) -> Box<dyn Replacement> {
    Box::new(WorkingSetSampling {
        plan: setup.sampling,
        order: Chain::new(setup.frames),
        seen: vec![0; setup.frames as usize],
        samples: 0,
        idle: Vec::with_capacity(setup.frames as usize),
    })
}

impl WorkingSetSampling {
    fn renew(&mut self, frame: u32) {
        self.seen[frame as usize] = self.samples;
        self.order.remove(frame);
        self.order.push_back(frame);
    }
}

impl Replacement for WorkingSetSampling {
    fn victim(&mut self, storage: &mut Storage) -> Option<u32> {
        // The first round resets every bit.
        for _ in 0..2 * self.order.len() {
            let frame = self.order.first()?;
            let takeable = storage.scan(frame).takeable();
            let referenced = storage.is_referenced(frame);
            if takeable && !referenced {
                self.order.remove(frame);
                return Some(frame);
            }
            if referenced {
                storage.reset(frame);
            }
            self.renew(frame);
        }
        None
    }

    fn came(&mut self, frame: u32, _page: u32) {
        self.seen[frame as usize] = self.samples;
        self.order.push_back(frame);
    }

    fn left(&mut self, frame: u32) {
        self.order.remove(frame);
    }

    fn queue_drop(&mut self, storage: &mut Storage, user: u32, _interactive: bool) {
        for at in 0..storage.touched_in_stay(user).len() {
            let page = storage.touched_in_stay(user)[at];
            if let Some(frame) = storage.frame_of(user, page) {
                if self.order.contains(frame) {
                    self.renew(frame);
                }
            }
        }
    }

    fn tick_interval(&self) -> Option<Span> {
        Some(self.plan.interval)
    }

    fn tick(&mut self, storage: &mut Storage) {
        self.samples += 1;
        let mut idle = std::mem::take(&mut self.idle);
        for frame in 0..storage.frames() {
            if !self.order.contains(frame) {
                continue;
            }
            let takeable = storage.scan(frame).takeable();
            let referenced = storage.is_referenced(frame);
            if referenced {
                storage.reset(frame);
                self.renew(frame);
            } else if takeable
                && self.samples - self.seen[frame as usize] >= u64::from(self.plan.idle_samples)
            {
                idle.push(frame);
            }
        }
        for frame in idle.drain(..) {
            self.order.remove(frame);
            storage.to_flush_list(frame);
        }
        self.idle = idle;
    }
}
