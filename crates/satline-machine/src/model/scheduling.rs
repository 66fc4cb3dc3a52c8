//! The scheduler: logging on, thinking, candidates, admission, queue-drop, the end of a transaction.

use std::cmp::Reverse;

use super::accounts::UserTime;
use super::processor::Path;
use super::reach::ANY;
use super::user::{AtStart, NO_PROCESSOR};
use super::{Event, Simulation};
use crate::configuration::Moment;
use crate::engine::{NORMAL, Span};
use crate::policies::admission::{Candidate, InQueue};
use crate::policies::involuntary_drop::Stay;
use crate::readings::{Status, TransactionRecord, Transition};

impl Simulation {
    /// So many users are wanted from now on.
    pub(super) fn turn_to(&mut self, wanted: u32) {
        let before = std::mem::replace(&mut self.wanted, wanted);
        for user in before..wanted {
            self.users[user as usize].wanted = true;
            if self.users[user as usize].status == Status::LoggedOff {
                self.requests_alone(user, Moment::LogOn, ANY);
                self.think(user);
            }
        }
        for user in wanted..before {
            let him = &mut self.users[user as usize];
            him.wanted = false;
            if him.status == Status::Dormant {
                if let Some(token) = him.thinking.take() {
                    self.calendar.cancel(token);
                }
                self.log_off(user);
            }
        }
    }

    fn think(&mut self, user: u32) {
        let him = &self.users[user as usize];
        let think = self.classes[usize::from(him.class)].think.as_ref();
        let length = think.map_or(Span::ZERO, |think| {
            think.draw(&mut self.draws[user as usize].think)
        });
        let token = self
            .calendar
            .schedule_cancellable(length, NORMAL, Event::Ready(user));
        self.turn_status(user, Status::Dormant, UserTime::Dormant);
        let him = &mut self.users[user as usize];
        him.think = length;
        him.thinking = Some(token);
    }

    fn log_off(&mut self, user: u32) {
        self.turn_status(user, Status::LoggedOff, UserTime::LoggedOff);
        self.sync();
        self.memory.log_off(user);
        self.bill_nobody(ANY);
        self.requests_alone(user, Moment::LogOff, ANY);
        self.after_storage();
        self.admit(ANY);
    }

    /// A user has thought: his transaction begins.
    pub(super) fn ready(&mut self, user: u32) {
        self.turn_status(user, Status::Q1Candidate, UserTime::Eligible);
        let class = usize::from(self.users[user as usize].class);
        let kind = self.classes[class].draw_kind(&mut self.draws[user as usize].kind);
        let page_reads = self.memory.page_reads(user);
        let him = &mut self.users[user as usize];
        him.thinking = None;
        him.kind = kind as u16;
        him.started = self.calendar.now();
        him.stays = 0;
        him.processor = NO_PROCESSOR;
        him.at_start = AtStart {
            ns: him.account.ns,
            page_reads,
            ios: him.ios,
        };
        self.begin_transaction(user);
        // His terminal interrupts.
        let among = self.reach.as_ref().map_or(ANY, |reach| reach.with_channels);
        let moment = match self.users[user as usize].background {
            true => Moment::LogOn,
            false => Moment::TransactionStart,
        };
        self.requests_alone(user, moment, among);
        self.become_candidate(user);
        self.admit(among);
    }

    /// Draws what the user's transaction asks for.
    pub(super) fn begin_transaction(&mut self, user: u32) {
        let him = &mut self.users[user as usize];
        let draws = &mut self.draws[user as usize];
        let kind = &self.classes[usize::from(him.class)].kinds[usize::from(him.kind)];
        let demand = kind.draw_demand(&mut draws.cpu);
        him.problem_left = demand.ns();
        him.io_left = kind.draw_io_interval(&mut draws.io_interval);
        self.memory.begin_transaction(user, him.kind.into(), demand);
    }

    /// His status is that of a candidate already.
    fn become_candidate(&mut self, user: u32) {
        // Of who was dropped at a fault it is renewed already.
        let projected = match self.users[user as usize].at_fault {
            true => self.users[user as usize].projected,
            false => self.projected(user),
        };
        let him = &mut self.users[user as usize];
        him.projected = projected;
        self.candidates_pages += u64::from(projected);
        let line = usize::from(him.status == Status::Q2Candidate);
        self.candidates[line].push(Reverse((him.served, user)));
    }

    /// A user's projected working set by his last stay, pages.
    pub(super) fn projected(&self, user: u32) -> u32 {
        let raw = f64::from(self.memory.projected(user)) * self.scheduler.projection_factor;
        ((raw + 0.5) as u32).max(self.scheduler.minimum_working_set)
    }

    /// Lets in those candidates who may; the control program does so on one of these processors.
    fn admit(&mut self, among: u64) {
        loop {
            let line = usize::from(self.candidates[0].is_empty());
            let Some(&Reverse((_, user))) = self.candidates[line].peek() else {
                return;
            };
            self.queue.available_frames = self.memory.available_frames();
            self.believe();
            let interactive = line == 0;
            let pages = self.users[user as usize].projected;
            let candidate = Candidate {
                user,
                interactive,
                pages,
            };
            let alone = self.queue.q1 + self.queue.q2 == 0;
            if !alone && !self.admission.admits(&candidate, &self.queue) {
                return;
            }
            self.candidates[line].pop();
            self.candidates_pages -= u64::from(pages);
            self.queue_add(candidate, among);
        }
    }

    /// What the control program believes of the paging rate, where it looks at it: measured anew when its interval is over.
    fn believe(&mut self) {
        let Some(rate) = self.scheduler.paging_rate else {
            return;
        };
        let now = self.calendar.now();
        let (since, before) = self.rate_from;
        let elapsed = now - since;
        if elapsed < rate.interval {
            return;
        }
        let reads = self.memory.all_page_reads();
        let divisor = if rate.divided { self.processors.len() } else { 1 };
        self.queue.paging_rate_per_s = (reads - before) as f64 / elapsed.seconds() / divisor as f64;
        self.rate_from = (now, reads);
    }

    fn queue_add(
        &mut self,
        Candidate {
            user,
            interactive,
            pages,
        }: Candidate,
        among: u64,
    ) {
        let slice = if interactive {
            self.queue.q1 += 1;
            self.turn_status(user, Status::Q1, UserTime::CpuWait);
            self.scheduler.q1_slice
        } else {
            self.queue.q2 += 1;
            self.turn_status(user, Status::Q2, UserTime::CpuWait);
            self.scheduler.q2_slice
        };
        let him = &mut self.users[user as usize];
        if !him.background {
            self.counts.q1_adds += u64::from(interactive);
            self.counts.q2_adds += u64::from(!interactive);
        }
        him.stays += 1;
        him.slice_end = him.run_ns() + slice.ns();
        him.quantum_end = him.run_ns() + self.scheduler.quantum.ns();
        him.waited = false;
        him.quanta_alone = 0;
        self.queue.pages += u64::from(pages);
        self.sync();
        self.memory.set_mpl(self.queue.q1 + self.queue.q2);
        self.memory
            .queue_add(user, interactive, &mut self.subsystem, &mut self.calendar);
        let work = self.work();
        // Who was dropped at a fault goes on where he was: before his page.
        let path = match self.users[user as usize].at_fault {
            true => Path::FaultAfter,
            false => Path::LetIn,
        };
        let length = self.requests(user, Moment::QueueAdd) + self.costs.queue_add + work;
        self.post(user, path, length, among);
        self.after_storage();
    }

    /// The user's slice is used up, his transaction is done, or he has to leave: the control program takes him out of queue.
    pub(super) fn begin_drop(&mut self, processor: usize, user: u32) {
        let interactive = self.users[user as usize].status == Status::Q1;
        self.sync();
        self.memory
            .queue_drop(user, interactive, &mut self.subsystem, &mut self.calendar);
        let him = &self.users[user as usize];
        let ends = him.problem_left == 0 && !him.background;
        let mut length = self.requests(user, Moment::QueueDrop) + self.costs.queue_drop + self.work();
        if ends {
            length = length.and(self.requests(user, Moment::TransactionEnd));
        }
        self.begin(processor, user, Path::Drop, length);
        self.after_storage();
    }

    /// Whether a user who is to wait for a page has to leave the queue instead. The last one stays: else nobody went on.
    pub(super) fn has_to_leave(&self, user: u32) -> bool {
        let Some(policy) = &self.involuntary_drop else {
            return false;
        };
        let him = &self.users[user as usize];
        let interactive = him.status == Status::Q1;
        let others = InQueue {
            q1: self.queue.q1 - u32::from(interactive),
            q2: self.queue.q2 - u32::from(!interactive),
            pages: self.queue.pages - u64::from(him.projected),
            available_frames: self.memory.available_frames(),
            ..self.queue
        };
        let holds = Candidate {
            user,
            interactive,
            pages: self.memory.resident(user),
        };
        let stay = Stay {
            projected: him.projected,
            holds,
        };
        others.q1 + others.q2 > 0 && policy.drops(&stay, &others, &*self.admission)
    }

    /// The user stands at a page fault and has to leave the queue. His page comes all the same.
    pub(super) fn begin_involuntary_drop(&mut self, processor: usize, user: u32) {
        // What he held and the page that he asked for: by this he is let in again.
        let needs = self.memory.resident(user) + 1;
        let him = &mut self.users[user as usize];
        let before = him.projected;
        him.projected = needs.max(before);
        him.at_fault = true;
        self.queue.pages += u64::from(him.projected - before);
        self.begin_drop(processor, user);
    }

    /// He is out.
    pub(super) fn end_drop(&mut self, user: u32) {
        let now = self.calendar.now();
        let him = &mut self.users[user as usize];
        him.served = now;
        let interactive = him.status == Status::Q1;
        self.queue.pages -= u64::from(him.projected);
        self.queue.q1 -= u32::from(interactive);
        self.queue.q2 -= u32::from(!interactive);
        if !him.background {
            self.counts.q1_drops += u64::from(interactive);
            self.counts.q2_drops += u64::from(!interactive);
            self.counts.involuntary_drops += u64::from(him.at_fault);
        }
        self.memory.set_mpl(self.queue.q1 + self.queue.q2);
        // A background program's work has no end; his time was up just where a part of it ended.
        if him.background && him.problem_left == 0 {
            self.begin_again(user);
        }
        if self.users[user as usize].problem_left > 0 {
            self.turn_status(user, Status::Q2Candidate, UserTime::Eligible);
            self.become_candidate(user);
        } else {
            self.end_transaction(user, interactive);
        }
        self.admit(ANY);
    }

    /// A background program goes on with its next transaction.
    pub(super) fn begin_again(&mut self, user: u32) {
        self.memory.end_transaction(user);
        self.users[user as usize].transactions += 1;
        self.begin_transaction(user);
    }

    fn end_transaction(&mut self, user: u32, interactive: bool) {
        let now = self.calendar.now();
        self.memory.end_transaction(user);
        let page_reads = self.memory.page_reads(user);
        let him = &mut self.users[user as usize];
        him.account.turn(now, UserTime::Dormant);
        him.transactions += 1;
        self.counts.transactions += 1;
        let whole = (now - him.started).ns();
        self.transactions_ns += u128::from(whole);
        let spent = |time: UserTime| him.account.get(time) - him.at_start.ns[time as usize];
        let parts: u64 = UserTime::IN_TRANSACTION.into_iter().map(spent).sum();
        if parts != whole {
            let why = format!("parts of user {user}'s transaction = its time: {parts} is not {whole}");
            self.failures.push(why);
        }
        self.records.push(TransactionRecord {
            user,
            class: him.class,
            kind: him.kind,
            started: him.started,
            ended: now,
            think: him.think,
            interactive,
            problem_ns: spent(UserTime::Problem),
            supervisor_ns: spent(UserTime::Supervisor),
            cpu_wait_ns: spent(UserTime::CpuWait),
            page_wait_ns: spent(UserTime::PageWait),
            io_wait_ns: spent(UserTime::IoWait),
            eligible_ns: spent(UserTime::Eligible),
            page_reads: (page_reads - him.at_start.page_reads) as u32,
            ios: (him.ios - him.at_start.ios) as u32,
            stays: him.stays,
        });
        if him.wanted {
            self.think(user);
        } else {
            self.log_off(user);
        }
    }

    fn turn_status(&mut self, user: u32, to: Status, time: UserTime) {
        let now = self.calendar.now();
        let him = &mut self.users[user as usize];
        him.account.turn(now, time);
        let from = std::mem::replace(&mut him.status, to);
        if !him.background {
            self.populations.turn(now, from, to);
            self.transitions.push(Transition {
                time: now,
                user,
                from,
                to,
            });
        }
    }
}
