//! The control program's locks: sections of its paths, one after the other from a path's begin, each under a lock.
//!
//! Who finds a lock held spins, or is put off, as the lock has it. Spinning processors get the lock in the order in which they
//! came; of the work that was put off the first is posted when the lock is free, and asks for it anew.

use std::collections::VecDeque;

use super::Simulation;
use super::accounts::{ProcessorTime, UserTime};
use super::posting::Posted;
use super::processor::{Doing, NOBODY, Path};
use crate::configuration::{LockPlan, LockWait, Machine};
use crate::engine::{NORMAL, Span, Time, real_ns, whole_ns};

/// So many kinds of work at most.
const WORKS: usize = 16;

/// What a lock did to a processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LockCounts {
    pub holds: u64,
    pub hold_ns: u64,
    pub spins: u64,
    pub spin_ns: u64,
    pub defers: u64,
    /// Of the work that was put off there, until a processor took it up again.
    pub wait_ns: u64,
}

#[derive(Debug)]
pub struct Lock {
    suspends: bool,
    /// The processor whose path holds it, and since when.
    pub holder: Option<(usize, Time)>,
    pub spinners: VecDeque<usize>,
    /// Work that was put off, and the processor on which.
    pub suspended: VecDeque<(Posted, usize)>,
    /// By processor.
    pub counts: Vec<LockCounts>,
}

#[derive(Debug)]
pub struct Locks {
    pub all: Vec<Lock>,
    /// By work: locks and parts, in the order of the file.
    sections: [Vec<(u8, f64)>; WORKS],
    /// That of free storage: it is held for as long as requests take, at a path's begin.
    storage: Option<u8>,
}

impl Locks {
    /// `None`: nothing is guarded.
    pub fn new(machine: &Machine, users: usize) -> Option<Box<Self>> {
        let (plans, processors) = (&machine.locks, machine.processors.count as usize);
        if plans.is_empty() {
            return None;
        }
        let mut sections: [Vec<(u8, f64)>; WORKS] = Default::default();
        for (number, plan) in plans.iter().enumerate() {
            for &(work, part) in &plan.holds {
                sections[work as usize].push((number as u8, part));
            }
        }
        let lock = |plan: &LockPlan| Lock {
            suspends: plan.wait == LockWait::Suspend,
            holder: None,
            spinners: VecDeque::with_capacity(processors),
            suspended: VecDeque::with_capacity(users + 16),
            counts: vec![LockCounts::default(); processors],
        };
        Some(Box::new(Self {
            all: plans.iter().map(lock).collect(),
            sections,
            storage: machine
                .free_storage
                .as_ref()
                .and_then(|plan| plan.lock)
                .map(|lock| lock as u8),
        }))
    }

    /// Whether work that is posted comes to this lock next.
    pub fn asks(&self, work: &Posted, lock: usize) -> bool {
        self.section(work.path, work.stage, work.whole, work.storage)
            .is_some_and(|(_, next, _)| usize::from(next) == lock)
    }

    /// The next section of a path that takes time, from this stage on: its stage, lock and length. Stage 0 is free storage's, where it
    /// has a lock; then come the parts of what is left.
    fn section(&self, path: Path, from: u8, whole: Span, storage: Span) -> Option<(u8, u8, Span)> {
        let mut whole = whole;
        if let Some(lock) = self.storage {
            let storage = storage.min(whole);
            if from == 0 && storage > Span::ZERO {
                return Some((0, lock, storage));
            }
            whole = whole - storage;
        }
        let sections = self.sections[path.work() as usize].iter().enumerate();
        sections
            .skip(from.saturating_sub(1).into())
            .find_map(|(place, &(lock, part))| {
                let length = Span::from_ns(whole_ns(real_ns(whole.ns()) * part).min(whole.ns()));
                (length > Span::ZERO).then_some((place as u8 + 1, lock, length))
            })
    }
}

impl Simulation {
    /// The processor goes on with its path: the next section under a lock, or the rest.
    pub(super) fn go_on(&mut self, processor: usize) {
        let now = self.calendar.now();
        let at = &mut self.processors[processor];
        let (Doing::Path { user, path }, Some(locks)) = (at.doing, &mut self.locks) else {
            unreachable!("who goes on is in a path, and there are locks");
        };
        let Some((stage, lock, length)) = locks.section(path, at.stage, at.whole, at.storage) else {
            let rest = std::mem::take(&mut at.left);
            return self.calendar.set_alarm(at.end, rest, NORMAL);
        };
        // Parts are rounded: together they are no longer than the whole.
        at.section = length.min(at.left);
        at.stage = stage;
        let of = &mut locks.all[usize::from(lock)];
        if of.holder.is_none() {
            of.holder = Some((processor, now));
            of.counts[processor].holds += 1;
            at.holding = Some(lock);
            return self.calendar.set_alarm(at.end, at.section, NORMAL);
        }
        if user == NOBODY {
            self.system_ns += (now - at.account.since).ns();
        }
        // What was to come, of a burst that was interrupted, does not.
        self.calendar.cancel_alarm(at.end);
        if of.suspends {
            let work = Posted {
                user,
                path,
                whole: at.whole,
                storage: at.storage,
                left: at.left,
                stage,
                among: at.among,
                since: Some(now),
            };
            of.counts[processor].defers += 1;
            of.suspended.push_back((work, processor));
            at.doing = Doing::Deciding;
            at.account.turn(now, ProcessorTime::Supervisor);
            if user != NOBODY {
                self.users[user as usize].account.turn(now, UserTime::CpuWait);
            }
            self.release(processor);
        } else {
            of.counts[processor].spins += 1;
            of.spinners.push_back(processor);
            at.account.turn(now, ProcessorTime::Spin);
        }
    }

    /// A section of the processor's path is done: the next who wants its lock gets it, and the path goes on. False: the path is
    /// at its end.
    pub(super) fn section_ends(&mut self, processor: usize) -> bool {
        let at = &mut self.processors[processor];
        let Some(lock) = at.holding.take() else {
            return false;
        };
        at.left = at.left - at.section;
        at.stage += 1;
        self.give_back(usize::from(lock), processor);
        let goes_on = self.processors[processor].left > Span::ZERO;
        if goes_on {
            self.go_on(processor);
        }
        goes_on
    }

    fn give_back(&mut self, lock: usize, processor: usize) {
        let now = self.calendar.now();
        let Some(locks) = &mut self.locks else {
            unreachable!("it was held");
        };
        let of = &mut locks.all[lock];
        let (_, since) = of.holder.take().expect("it was held");
        of.counts[processor].hold_ns += (now - since).ns();
        if let Some(next) = of.spinners.pop_front() {
            let at = &mut self.processors[next];
            let Doing::Path { user, .. } = at.doing else {
                unreachable!("who spins is in a path");
            };
            let spun = (now - at.account.since).ns();
            of.holder = Some((next, now));
            of.counts[next].holds += 1;
            of.counts[next].spin_ns += spun;
            at.holding = Some(lock as u8);
            at.account.turn(now, ProcessorTime::Supervisor);
            if user == NOBODY {
                self.system_ns += spun;
            }
            self.calendar.set_alarm(at.end, at.section, NORMAL);
        } else if let Some((mut work, on)) = of.suspended.pop_front() {
            let since = work.since.take().map_or(0, |since| (now - since).ns());
            of.counts[on].wait_ns += since;
            self.post_work(work);
        }
    }

    /// Before a processor's account turns: its time for nobody up to now.
    #[inline]
    pub(super) fn system_time(&mut self, processor: usize, user: u32) {
        if user == NOBODY {
            self.system_ns += (self.calendar.now() - self.processors[processor].account.since).ns();
        }
    }
}
