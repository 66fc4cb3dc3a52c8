//! Work of the control program that waits for a processor: one list, from which each takes what it may do.

use super::Simulation;
use super::accounts::UserTime;
use super::free_storage::Length;
use super::processor::{Doing, Path};
use super::reach::{ANY, includes};
use crate::engine::{Span, Time};
use crate::policies::dispatch::Ready;

/// Work that waits for a processor, or for a lock.
#[derive(Debug, Clone, Copy)]
pub struct Posted {
    pub user: u32,
    pub path: Path,
    /// Its whole length, and what is left of it.
    pub whole: Span,
    /// Of it, requests of free storage.
    pub storage: Span,
    pub left: Span,
    /// Sections under locks that are done.
    pub stage: u8,
    /// The processors that may do it.
    pub among: u64,
    /// Put off for another processor, or for a lock, since then.
    pub since: Option<Time>,
}

impl Posted {
    pub fn new(user: u32, path: Path, length: impl Into<Length>, among: u64) -> Self {
        let length = length.into();
        Self {
            user,
            path,
            whole: length.whole,
            storage: length.storage,
            left: length.whole,
            stage: 0,
            among,
            since: None,
        }
    }
}

impl Simulation {
    /// Work for the control program came up: an idle processor does it, else one that is about to be free, else one is
    /// taken from its user, else it waits until a path ends. `among`: who of the processors can take it.
    pub(super) fn post(&mut self, user: u32, path: Path, length: impl Into<Length>, among: u64) {
        let among = self.may(path, among);
        self.post_work(Posted::new(user, path, length, among));
    }

    pub(super) fn post_work(&mut self, work: Posted) {
        match self.interruptible(work.among) {
            Some(processor) => {
                self.interrupt(processor);
                self.start_work(processor, work);
            }
            None => self.posted.push_back(work),
        }
    }

    /// Of these processors those that may do this work.
    #[inline]
    pub(super) fn may(&self, path: Path, among: u64) -> u64 {
        self.reach.as_ref().map_or(among, |reach| reach.may(path, among))
    }

    fn interruptible(&self, among: u64) -> Option<usize> {
        let mut found: Option<(usize, Ready)> = None;
        let mut soon_free = false;
        for (number, processor) in self.processors.iter().enumerate() {
            if !includes(among, number) {
                continue;
            }
            match processor.doing {
                Doing::Nothing => return Some(number),
                Doing::Burst(burst) => {
                    let ready = self.as_ready(burst.user, true);
                    if found.is_none_or(|(_, best)| !self.dispatch.yields(&best, &ready)) {
                        found = Some((number, ready));
                    }
                }
                // What it was busy with ends by a release: it does what is posted now.
                Doing::Deciding => soon_free = true,
                Doing::Path { .. } => {}
            }
        }
        found.filter(|_| !soon_free).map(|(number, _)| number)
    }

    /// What was posted first of all that the processor may do.
    #[inline]
    pub(super) fn take_posted(&mut self, processor: usize) -> Option<Posted> {
        if self.posted.is_empty() {
            return None;
        }
        let at = self
            .posted
            .iter()
            .position(|work| includes(work.among, processor))?;
        self.posted.remove(at)
    }

    #[inline]
    pub(super) fn has_posted(&self, processor: usize) -> bool {
        !self.posted.is_empty() && self.posted.iter().any(|work| includes(work.among, processor))
    }

    /// The control program goes on for the user of this processor: here if it may, else where it may.
    pub(super) fn begin(&mut self, processor: usize, user: u32, path: Path, length: impl Into<Length>) {
        let among = self.may(path, ANY);
        if includes(among, processor) {
            return self.start_path(processor, user, path, length);
        }
        if let Some(reach) = &mut self.reach {
            reach.counts.left_to_main += 1;
        }
        self.put_off(processor, Posted::new(user, path, length, among));
    }

    /// A processor leaves work to others: an idle one does it, or, with signals, one that is taken from its user; else it waits
    /// until one of them next looks for work. The processor itself is free.
    pub(super) fn put_off(&mut self, processor: usize, mut work: Posted) {
        let now = self.calendar.now();
        self.users[work.user as usize]
            .account
            .turn(now, UserTime::CpuWait);
        work.since = Some(now);
        let signal = self.reach.as_ref().is_some_and(|reach| reach.signal);
        let found = self.interruptible(work.among);
        let idle = |number: &usize| matches!(self.processors[*number].doing, Doing::Nothing);
        match found.filter(|number| signal || idle(number)) {
            Some(other) => {
                let looks = idle(&other) && self.dispatch.looks();
                self.interrupt(other);
                let price = if looks { Span::ZERO } else { self.signalled() };
                (work.whole, work.left) = (work.whole + price, work.left + price);
                self.start_work(other, work);
            }
            None => self.posted.push_back(work),
        }
        self.release(processor);
    }

    /// What a processor pays that is woken or interrupted by another one.
    pub(super) fn signalled(&mut self) -> Span {
        let Some(reach) = &mut self.reach else {
            return Span::ZERO;
        };
        reach.counts.signals += 1;
        reach.signalled
    }

    /// Somebody may be ready for whom an idle processor is the right one, or one whose user is worse than he.
    pub(super) fn wake(&mut self) {
        if self.idle > 0 {
            for processor in 0..self.processors.len() {
                let idle = matches!(self.processors[processor].doing, Doing::Nothing);
                if idle && self.dispatch.has_for(processor) {
                    let price = match self.dispatch.looks() {
                        true => Span::ZERO,
                        false => self.signalled(),
                    };
                    self.stop_idling(processor);
                    self.release_after(processor, price);
                }
            }
        }
        if std::mem::take(&mut self.readied) && self.reach.as_ref().is_some_and(|reach| reach.signal) {
            self.signal();
        }
    }

    /// One whose user is worse than one who waits for him is interrupted: of all such the one with the worst.
    fn signal(&mut self) {
        let redispatch = self.redispatches();
        let mut worst: Option<(usize, Ready)> = None;
        for (number, processor) in self.processors.iter().enumerate() {
            let Doing::Burst(burst) = processor.doing else {
                continue;
            };
            let runs = self.as_ready(burst.user, true);
            // He would only go on.
            let stays = redispatch && runs.interactive;
            if !stays
                && self.dispatch.outranks(number, &runs)
                && worst.is_none_or(|(_, other)| self.dispatch.yields(&runs, &other))
            {
                worst = Some((number, runs));
            }
        }
        if let Some((number, _)) = worst {
            let price = self.signalled();
            self.interrupt(number);
            self.release_after(number, price);
        }
    }

    pub(super) fn redispatches(&self) -> bool {
        self.reach.as_ref().is_some_and(|reach| reach.redispatch)
    }
}
