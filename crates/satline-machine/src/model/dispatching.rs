//! The dispatcher: which processor does what, interrupts, and the start of paths of the control program.

use super::Simulation;
use super::accounts::{ProcessorTime, UserTime};
use super::processor::{Doing, NOBODY, Path};
use crate::engine::{NORMAL, Span};
use crate::policies::dispatch::Ready;
use crate::readings::Status;

impl Simulation {
    /// Work for the control program came up: an idle processor does it, else one that is about to be free, else one is
    /// taken from its user, else it waits until a path ends.
    pub(super) fn post(&mut self, user: u32, path: Path, length: Span) {
        match self.interruptible() {
            Some(processor) => {
                self.interrupt(processor);
                self.start_path(processor, user, path, length);
            }
            None => self.posted.push_back((user, path, length)),
        }
    }

    fn interruptible(&self) -> Option<usize> {
        let mut found: Option<(usize, Ready)> = None;
        let mut soon_free = false;
        for (number, processor) in self.processors.iter().enumerate() {
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

    fn as_ready(&self, user: u32, interrupted: bool) -> Ready {
        let him = &self.users[user as usize];
        Ready {
            user,
            interactive: him.status == Status::Q1,
            served: him.served,
            interrupted,
        }
    }

    /// Takes a processor from its user, if one runs there. What it begins next takes the place of the burst's end.
    fn interrupt(&mut self, processor: usize) {
        let Doing::Burst(burst) = self.processors[processor].doing else {
            return;
        };
        self.sync_processor(processor);
        let at = &mut self.processors[processor];
        at.interrupted = Some(burst.user);
        at.doing = Doing::Deciding;
        self.enter(burst.user, true);
    }

    /// The user is ready: he waits for a processor.
    pub(super) fn enter(&mut self, user: u32, interrupted: bool) {
        let now = self.calendar.now();
        let him = &mut self.users[user as usize];
        him.account.turn(now, UserTime::CpuWait);
        him.listed = true;
        let ready = self.as_ready(user, interrupted);
        self.dispatch.enter(ready);
    }

    /// The processor begins a path for a user, or for nobody.
    pub(super) fn start_path(&mut self, processor: usize, user: u32, path: Path, length: Span) {
        let now = self.calendar.now();
        let at = &mut self.processors[processor];
        at.account.turn(now, ProcessorTime::Supervisor);
        at.doing = Doing::Path { user, path };
        if user != NOBODY {
            self.users[user as usize].account.turn(now, UserTime::Supervisor);
        }
        self.calendar.set_alarm(at.end, length, NORMAL);
    }

    /// The processor has nothing to do any more: it takes what waits for the control program, else the best user.
    pub(super) fn release(&mut self, processor: usize) {
        if let Some((user, path, length)) = self.posted.pop_front() {
            self.start_path(processor, user, path, length);
        } else if let Some(user) = self.dispatch.next() {
            self.counts.dispatches += 1;
            let listed = std::mem::take(&mut self.users[user as usize].listed);
            assert!(
                listed,
                "the dispatch policy gave user {user}, who was not on its list"
            );
            let at = &mut self.processors[processor];
            if at
                .interrupted
                .take()
                .is_some_and(|interrupted| interrupted != user)
            {
                self.counts.preemptions += 1;
            }
            let other = std::mem::replace(&mut at.last_user, user) != user;
            let mut length = self.costs.dispatch;
            if other {
                length += self.costs.shared_page_check * u64::from(self.memory.resident_shared());
            }
            self.start_path(processor, user, Path::Dispatch, length);
        } else {
            let now = self.calendar.now();
            let at = &mut self.processors[processor];
            at.interrupted = None;
            at.doing = Doing::Nothing;
            at.account.turn(now, self.waiting_for);
        }
    }

    /// The user may go on where he is, unless the control program has other work first.
    pub(super) fn resume(&mut self, processor: usize, user: u32) {
        if self.posted.is_empty() {
            self.start_burst(processor, user);
        } else {
            self.processors[processor].interrupted = Some(user);
            self.enter(user, true);
            self.release(processor);
        }
    }

    /// A path of the control program is done.
    #[inline]
    pub(super) fn path_ends(&mut self, processor: usize, user: u32, path: Path) {
        let now = self.calendar.now();
        let at = &mut self.processors[processor];
        at.doing = Doing::Deciding;
        if path == Path::System {
            self.system_ns += (now - at.account.since).ns();
        }
        match path {
            Path::Dispatch => self.resume(processor, user),
            Path::Fault => self.fault(processor, user),
            Path::FaultAfter => {
                self.wait_for_page(user);
                self.release(processor);
            }
            Path::Reclaim => self.resume(processor, user),
            Path::IoStart => {
                self.start_io(user);
                self.release(processor);
            }
            Path::Awake => {
                self.enter(user, false);
                self.release(processor);
            }
            Path::Drop => {
                self.end_drop(user);
                self.release(processor);
            }
            Path::System => self.release(processor),
        }
    }
}
