//! Users' bursts: how far one goes, what it did so far, and what comes at its end.

use super::Simulation;
use super::accounts::{ProcessorTime, UserTime};
use super::processor::{Burst, Doing, End, Path};
use super::reach::ANY;
use crate::configuration::Moment;
use crate::engine::{NORMAL, Span, real_ns, whole_ns};
use crate::storage::Fault;

impl Simulation {
    /// The user runs on the processor up to the next thing that the control program must do for him.
    pub(super) fn start_burst(&mut self, processor: usize, user: u32) {
        let now = self.calendar.now();
        let him = &mut self.users[user as usize];
        him.account.turn(now, UserTime::Problem);
        self.processors[processor]
            .account
            .turn(now, ProcessorTime::Problem);
        let run = him.run_ns();
        let allowed = him.slice_end.min(him.quantum_end).saturating_sub(run);
        if allowed == 0 {
            return self.limit_reached(processor, user);
        }
        let (mut problem, mut end) = if him.problem_left <= him.io_left {
            (him.problem_left, End::Transaction)
        } else {
            (him.io_left, End::Io)
        };
        let simulation = self.classes[usize::from(him.class)].kinds[usize::from(him.kind)].simulation;
        let most = whole_ns(real_ns(allowed) / (1.0 + simulation));
        if problem > most {
            (problem, end) = (most, End::Limit);
        }
        // Storage looks no farther than need be.
        let fault = self.memory.until_fault(user, Span::from_ns(problem));
        if let Some(fault) = fault.filter(|fault| fault.ns() < problem) {
            (problem, end) = (fault.ns(), End::Fault);
        }
        let supervisor = match end {
            End::Limit => allowed - problem,
            _ => whole_ns(real_ns(problem) * simulation).min(allowed - problem),
        };
        let whole = Span::from_ns(problem + supervisor);
        let at = &mut self.processors[processor];
        self.calendar.set_alarm(at.end, whole, NORMAL);
        at.doing = Doing::Burst(Burst {
            user,
            problem,
            supervisor,
            end,
        });
    }

    /// What a processor was at ends.
    #[inline]
    pub(super) fn ends(&mut self, processor: usize) {
        match self.processors[processor].doing {
            Doing::Path { user, path } => {
                if self.locks.is_none() || !self.section_ends(processor) {
                    self.path_ends(processor, user, path);
                }
            }
            Doing::Burst(burst) => self.burst_ends(processor, burst),
            Doing::Nothing | Doing::Deciding => unreachable!("what ends was under way"),
        }
    }

    fn burst_ends(&mut self, processor: usize, burst: Burst) {
        self.sync_processor(processor);
        let user = burst.user;
        self.processors[processor].doing = Doing::Deciding;
        match burst.end {
            // It came meanwhile, for another who shares it.
            End::Fault if !self.memory.is_missing(user) => self.start_burst(processor, user),
            End::Fault => {
                let length = self.requests(user, Moment::PageFault) + self.costs.page_fault;
                self.begin(processor, user, Path::Fault, length);
            }
            End::Io => {
                self.users[user as usize].waited = true;
                let length = self.requests(user, Moment::UserIoStart) + self.costs.user_io_start;
                self.begin(processor, user, Path::IoStart, length);
            }
            End::Transaction if self.users[user as usize].background => {
                self.begin_again(user);
                self.start_burst(processor, user);
            }
            End::Transaction => self.begin_drop(processor, user),
            End::Limit => self.limit_reached(processor, user),
        }
    }

    /// The user's slice or his quantum is used up.
    fn limit_reached(&mut self, processor: usize, user: u32) {
        self.processors[processor].doing = Doing::Deciding;
        let him = &mut self.users[user as usize];
        let run = him.run_ns();
        if run >= him.slice_end {
            return self.begin_drop(processor, user);
        }
        // Who waited for nothing is compute-bound; his next turn comes later and is longer.
        him.quanta_alone = if him.waited {
            0
        } else {
            him.quanta_alone.saturating_add(1)
        };
        let factor = if him.quanta_alone < self.scheduler.compute_bound_after.max(1) {
            1
        } else {
            self.scheduler.compute_bound_factor.max(1)
        };
        him.quantum_end = run + self.scheduler.quantum.ns() * u64::from(factor);
        him.waited = false;
        him.served = self.calendar.now();
        self.enter(user, false);
        self.release(processor);
    }

    /// The path up to the fault's I/O is paid: it starts here, or where there is a path to the page's device.
    pub(super) fn fault_or_pass(&mut self, processor: usize, user: u32) {
        if let Some(reach) = &self.reach
            && let Some(device) = self.memory.missing_on(user)
            && let Some(among) = reach.instead(processor, device)
        {
            return self.defer(processor, user, Path::FaultPassed, among);
        }
        self.fault(processor, user);
    }

    /// The user stands at his fault, and the path up to its I/O is paid.
    pub(super) fn fault(&mut self, processor: usize, user: u32) {
        self.sync();
        let fault = self.memory.fault(user, &mut self.subsystem, &mut self.calendar);
        // A page that is still in storage is no I/O.
        self.users[user as usize].waited |= fault == Fault::Waits;
        if fault == Fault::Waits {
            // He ran there, wherever his page-in starts.
            let ran_on = usize::from(self.users[user as usize].processor);
            self.processors[ran_on].counts.page_waits += 1;
            if let Some(reach) = &mut self.reach {
                reach.started(user, processor);
            }
        }
        if fault == Fault::Waits && self.has_to_leave(user) {
            return self.begin_involuntary_drop(processor, user);
        }
        let work = self.work();
        match fault {
            Fault::Waits if work == Span::ZERO => {
                self.wait_for_page(user);
                self.release(processor);
            }
            Fault::Waits => self.start_path(processor, user, Path::FaultAfter, work),
            Fault::Reclaimed => {
                let length = self.requests(user, Moment::PageInEnd) + work;
                self.start_path(processor, user, Path::Reclaim, length);
            }
        }
        self.after_storage();
    }

    /// Brings the accounts of all who run up to now, and tells storage what they touched: before storage is looked at.
    #[inline]
    pub(super) fn sync(&mut self) {
        for processor in 0..self.processors.len() {
            self.sync_processor(processor);
        }
    }

    #[inline]
    pub(super) fn sync_processor(&mut self, processor: usize) {
        let now = self.calendar.now();
        let at = &mut self.processors[processor];
        let Doing::Burst(burst) = &mut at.doing else {
            return;
        };
        let (problem, supervisor) = burst.done((now - at.account.since).ns());
        burst.problem -= problem;
        burst.supervisor -= supervisor;
        at.account.split(
            now,
            [
                (ProcessorTime::Problem, problem),
                (ProcessorTime::Supervisor, supervisor),
            ],
        );
        let him = &mut self.users[burst.user as usize];
        him.account.split(
            now,
            [(UserTime::Problem, problem), (UserTime::Supervisor, supervisor)],
        );
        him.problem_left -= problem;
        him.io_left -= if him.io_left == u64::MAX { 0 } else { problem };
        // Also when it was no time at all: what he is to touch next is his from here on.
        self.memory.ran(burst.user, Span::from_ns(problem));
    }

    /// After every call that may have moved pages: those who waited for one have it, and those who run, and of whom one
    /// was taken, may come to a fault sooner.
    #[inline]
    pub(super) fn after_storage(&mut self) {
        if self.memory.has_news() {
            self.hear_news();
        }
    }

    fn hear_news(&mut self) {
        let mut woken = std::mem::take(&mut self.woken);
        self.memory.take_woken(&mut woken);
        for user in woken.drain(..) {
            // What it took is in the bill of whoever called.
            self.page_came(user, Span::ZERO, ANY);
        }
        self.woken = woken;
        let mut disturbed = std::mem::take(&mut self.disturbed);
        self.memory.take_disturbed(&mut disturbed);
        for user in disturbed.drain(..) {
            for processor in 0..self.processors.len() {
                let Doing::Burst(burst) = self.processors[processor].doing else {
                    continue;
                };
                if burst.user == user {
                    self.calendar.cancel_alarm(self.processors[processor].end);
                    self.start_burst(processor, user);
                }
            }
        }
        self.disturbed = disturbed;
    }
}
