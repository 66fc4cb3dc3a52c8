//! The dispatcher: which processor does what, interrupts, and the start of paths of the control program.

use super::Simulation;
use super::accounts::{ProcessorTime, UserTime};
use super::free_storage::Length;
use super::posting::Posted;
use super::processor::{Doing, NOBODY, Path};
use super::reach::ANY;
use super::user::NO_PROCESSOR;
use crate::configuration::Moment;
use crate::engine::{NORMAL, Span};
use crate::policies::dispatch::Ready;
use crate::readings::Status;

impl Simulation {
    pub(super) fn as_ready(&self, user: u32, interrupted: bool) -> Ready {
        let him = &self.users[user as usize];
        Ready {
            user,
            interactive: him.status == Status::Q1,
            served: him.served,
            interrupted,
            last: (him.processor != NO_PROCESSOR).then_some(him.processor),
        }
    }

    /// Takes a processor from its user, if one runs there. What it begins next takes the place of the burst's end.
    pub(super) fn interrupt(&mut self, processor: usize) {
        let Doing::Burst(burst) = self.processors[processor].doing else {
            return;
        };
        self.sync_processor(processor);
        let at = &mut self.processors[processor];
        at.interrupted = Some(burst.user);
        at.counts.interruptions += 1;
        at.doing = Doing::Deciding;
        self.give_way(processor, burst.user);
    }

    /// A user who could go on waits for a processor again: for this one, where an interrupted Q1 user is dispatched anew. A
    /// processor keeps one at a time.
    fn give_way(&mut self, processor: usize, user: u32) {
        let keeps = self.redispatches() && self.processors[processor].kept.is_none();
        if keeps && self.users[user as usize].status == Status::Q1 {
            let now = self.calendar.now();
            let him = &mut self.users[user as usize];
            him.account.turn(now, UserTime::CpuWait);
            him.listed = true;
            self.processors[processor].kept = Some(user);
        } else {
            self.enter(user, true);
        }
    }

    /// The user is ready: he waits for a processor.
    pub(super) fn enter(&mut self, user: u32, interrupted: bool) {
        let now = self.calendar.now();
        let him = &mut self.users[user as usize];
        him.account.turn(now, UserTime::CpuWait);
        him.listed = true;
        self.entered = true;
        self.readied |= !interrupted;
        let ready = self.as_ready(user, interrupted);
        self.dispatch.enter(ready);
    }

    /// The processor begins a path for a user, or for nobody.
    #[inline]
    pub(super) fn start_path(&mut self, processor: usize, user: u32, path: Path, length: impl Into<Length>) {
        let among = self.may(path, ANY);
        self.start_work(processor, Posted::new(user, path, length, among));
    }

    /// The processor begins a path, or goes on with one.
    #[inline]
    pub(super) fn start_work(&mut self, processor: usize, work: Posted) {
        let now = self.calendar.now();
        self.stop_idling(processor);
        let at = &mut self.processors[processor];
        at.account.turn(now, ProcessorTime::Supervisor);
        at.storage = work.storage;
        at.doing = Doing::Path {
            user: work.user,
            path: work.path,
        };
        if work.user != NOBODY {
            self.users[work.user as usize]
                .account
                .turn(now, UserTime::Supervisor);
        }
        if let (Some(since), Some(reach)) = (work.since, &mut self.reach) {
            reach.counts.waited_ns += u128::from((now - since).ns());
        }
        if self.locks.is_none() {
            return self.calendar.set_alarm(at.end, work.left, NORMAL);
        }
        (at.whole, at.left, at.stage, at.among) = (work.whole, work.left, work.stage, work.among);
        self.go_on(processor);
    }

    /// The processor is to do something.
    #[inline]
    pub(super) fn stop_idling(&mut self, processor: usize) {
        let at = &mut self.processors[processor];
        if matches!(at.doing, Doing::Nothing) {
            at.doing = Doing::Deciding;
            self.idle -= 1;
        }
    }

    /// The processor has nothing to do any more: it takes what waits for the control program, else the best user.
    #[inline]
    pub(super) fn release(&mut self, processor: usize) {
        self.release_after(processor, Span::ZERO);
    }

    /// The same of one that another has woken or interrupted, and which pays for it.
    pub(super) fn release_after(&mut self, processor: usize, price: Span) {
        if let Some(mut work) = self.take_posted(processor) {
            (work.whole, work.left) = (work.whole + price, work.left + price);
            return self.start_work(processor, work);
        }
        let kept = self.processors[processor].kept.take();
        if let Some(user) = kept.or_else(|| self.dispatch.next(processor)) {
            let put_on = self.put_on(processor, user);
            let length = self.requests(user, Moment::Dispatch) + self.costs.dispatch + price + put_on;
            self.start_path(processor, user, Path::Dispatch, length);
        } else {
            let now = self.calendar.now();
            let at = &mut self.processors[processor];
            at.interrupted = None;
            at.doing = Doing::Nothing;
            at.account.turn(now, self.waiting_for);
            self.idle += 1;
            self.calendar.cancel_alarm(at.end);
        }
    }

    /// The user gets the processor; what that costs beside the dispatch.
    fn put_on(&mut self, processor: usize, user: u32) -> Span {
        self.counts.dispatches += 1;
        let him = &mut self.users[user as usize];
        let listed = std::mem::take(&mut him.listed);
        assert!(
            listed,
            "the dispatch policy gave user {user}, who was not on its list"
        );
        let from = std::mem::replace(&mut him.processor, processor as u16);
        let at = &mut self.processors[processor];
        at.counts.dispatches += 1;
        if at
            .interrupted
            .take()
            .is_some_and(|interrupted| interrupted != user)
        {
            self.counts.preemptions += 1;
        }
        let other = std::mem::replace(&mut at.last_user, user) != user;
        let mut length = Span::ZERO;
        if other {
            length += self.costs.shared_page_check * u64::from(self.memory.resident_shared());
        }
        if let Some(reach) = &mut self.reach {
            let moved = from != NO_PROCESSOR && usize::from(from) != processor;
            reach.counts.moves += u64::from(moved);
            reach.counts.switches += u64::from(other);
            if moved {
                length += reach.cache_move;
            } else if other {
                length += reach.cache_reload;
            }
        }
        length
    }

    /// The user may go on where he is, unless the control program has other work first, or somebody was interrupted here.
    pub(super) fn resume(&mut self, processor: usize, user: u32) {
        if !self.has_posted(processor) && self.processors[processor].kept.is_none() {
            self.start_burst(processor, user);
        } else {
            self.processors[processor].interrupted = Some(user);
            self.give_way(processor, user);
            self.release(processor);
        }
    }

    /// A path of the control program is done.
    #[inline]
    pub(super) fn path_ends(&mut self, processor: usize, user: u32, path: Path) {
        self.system_time(processor, user);
        self.processors[processor].doing = Doing::Deciding;
        if let Some(requests) = &mut self.requests {
            requests.done_ns += self.processors[processor].storage.ns();
        }
        match path {
            Path::Dispatch => self.resume(processor, user),
            Path::Fault => self.fault_or_pass(processor, user),
            Path::FaultPassed => self.fault(processor, user),
            Path::FaultAfter => {
                self.wait_for_page(user);
                self.release(processor);
            }
            Path::Reclaim => self.resume(processor, user),
            Path::IoStart => self.start_io(processor, user),
            Path::IoPassed => {
                self.start_passed_io(processor, user);
                self.release(processor);
            }
            Path::LetIn | Path::PageCame | Path::IoCame => {
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
