//! What can be read off the machine at any time, without changing it.

use super::Simulation;
use super::accounts::{ProcessorTime, UserAccount, UserTime, in_queue, in_transaction};
use super::processor::{Burst, Doing};
use super::user::User;
use crate::readings::{
    Activity, ChannelReading, DeviceReading, LockReading, ProcessorReading, Reading, Status, SystemReading,
    UserReading,
};

impl Simulation {
    /// Everything, now.
    pub fn reading(&mut self) -> &Reading {
        let mut reading = std::mem::take(&mut self.reading);
        reading.time = self.calendar.now();
        self.read_system(&mut reading.system);
        reading.processors.clear();
        reading
            .processors
            .extend((0..self.processors.len()).map(|number| self.read_processor(number)));
        reading.devices.clear();
        reading
            .devices
            .extend((0..self.devices.len()).map(|number| self.read_device(number)));
        let now = reading.time;
        let busy = |channel| self.subsystem.channel_busy_ns(channel, now).unwrap_or(0);
        reading.channels.clear();
        reading
            .channels
            .extend(self.channels.iter().map(|&channel| ChannelReading {
                channel,
                busy_ns: busy(channel),
            }));
        reading.users.clear();
        reading
            .users
            .extend((0..self.users.len()).map(|number| self.read_user(number)));
        reading.locks.clear();
        self.read_locks(&mut reading.locks);
        self.reading = reading;
        &self.reading
    }

    fn read_system(&self, into: &mut SystemReading) {
        let now = self.calendar.now();
        self.memory.read_system(into);
        let (all, counts) = (&self.populations, &self.counts);
        let level = |status| all.of(status).value() as u32;
        let integral = |status| all.of(status).integral(now);
        into.logged_on = all.logged_on.value() as u32;
        into.logged_on_ns = all.logged_on.integral(now);
        into.q1 = level(Status::Q1);
        into.q2 = level(Status::Q2);
        into.q1_candidates = level(Status::Q1Candidate);
        into.q2_candidates = level(Status::Q2Candidate);
        into.q1_ns = integral(Status::Q1);
        into.q2_ns = integral(Status::Q2);
        into.q1_candidates_ns = integral(Status::Q1Candidate);
        into.q2_candidates_ns = integral(Status::Q2Candidate);
        into.in_transaction_ns = all.in_transaction.integral(now);
        into.demanded_pages = (self.queue.pages + self.candidates_pages) as u32;
        into.dispatches = counts.dispatches;
        into.preemptions = counts.preemptions;
        into.q1_adds = counts.q1_adds;
        into.q2_adds = counts.q2_adds;
        into.q1_drops = counts.q1_drops;
        into.q2_drops = counts.q2_drops;
        into.involuntary_drops = self.involuntary_drop.as_ref().map(|_| counts.involuntary_drops);
        let reach = self.reach.as_ref().map(|reach| reach.counts);
        into.io_defers = reach.map(|counts| counts.defers);
        into.left_to_main = reach.map(|counts| counts.left_to_main);
        into.deferred_ns = reach.map(|counts| counts.waited_ns);
        into.signals = reach.map(|counts| counts.signals);
        into.user_switches = reach.map(|counts| counts.switches);
        into.processor_moves = reach.map(|counts| counts.moves);
        if let Some(requests) = &self.requests {
            let of = requests.storage.counts();
            into.storage_main_requests = Some(of.main_requests);
            into.storage_subpool_requests = Some(of.subpool_requests);
            into.storage_blocks_searched = Some(of.blocks_searched);
            into.storage_ns = Some(requests.done_ns);
            into.storage_pages_added = Some(of.pages_added);
            into.storage_free_blocks = Some(requests.storage.chain().blocks().len() as u32);
            into.storage_busy = Some(of.busy);
        }
        into.user_ios = counts.user_ios;
        into.transactions = counts.transactions;
        into.events = counts.events;
    }

    pub(super) fn read_processor(&self, number: usize) -> ProcessorReading {
        let processor = &self.processors[number];
        let mut account = processor.account;
        let now = self.calendar.now();
        match processor.doing {
            Doing::Burst(burst) => {
                let (problem, supervisor) = burst.done((now - account.since).ns());
                account.split(
                    now,
                    [
                        (ProcessorTime::Problem, problem),
                        (ProcessorTime::Supervisor, supervisor),
                    ],
                );
            }
            _ => account.turn(now, account.now_as),
        }
        ProcessorReading {
            problem_ns: account.get(ProcessorTime::Problem),
            supervisor_ns: account.get(ProcessorTime::Supervisor),
            idle_ns: account.get(ProcessorTime::Idle),
            page_wait_ns: account.get(ProcessorTime::PageWait),
            io_wait_ns: account.get(ProcessorTime::IoWait),
            spin_ns: account.get(ProcessorTime::Spin),
            dispatches: processor.counts.dispatches,
            interruptions: processor.counts.interruptions,
            page_waits: processor.counts.page_waits,
            ios: processor.counts.ios,
            io_defers: processor.counts.defers,
        }
    }

    /// Appends a reading for each lock and processor, with what is under way.
    pub(super) fn read_locks(&self, into: &mut Vec<LockReading>) {
        let now = self.calendar.now();
        for lock in self.locks.iter().flat_map(|locks| &locks.all) {
            let first = into.len();
            into.extend(lock.counts.iter().map(|counts| LockReading {
                holds: counts.holds,
                hold_ns: counts.hold_ns,
                spins: counts.spins,
                spin_ns: counts.spin_ns,
                defers: counts.defers,
                wait_ns: counts.wait_ns,
            }));
            if let Some((processor, since)) = lock.holder {
                into[first + processor].hold_ns += (now - since).ns();
            }
            for &processor in &lock.spinners {
                into[first + processor].spin_ns += (now - self.processors[processor].account.since).ns();
            }
            for (work, processor) in &lock.suspended {
                let since = work.since.map_or(0, |since| (now - since).ns());
                into[first + processor].wait_ns += since;
            }
        }
    }

    pub(super) fn read_device(&self, number: usize) -> DeviceReading {
        let now = self.calendar.now();
        let counters = self.subsystem.counters(self.devices[number]);
        let (user_ios, user_blocks) = self.ios_ended[number];
        let mut reading = DeviceReading {
            sios: counters.sios,
            user_ios,
            user_blocks,
            queue_ns: counters.queue_ns,
            pend_ns: counters.pend_ns,
            disconnect_ns: counters.disconnect_ns,
            connect_ns: counters.connect_ns,
            rps_misses: counters.rps_misses,
            busy_ns: counters.busy.integral(now),
            outstanding_ns: counters.accepted.integral(now) + counters.queued.integral(now),
            outstanding: (counters.accepted.value() + counters.queued.value()) as u32,
            ..DeviceReading::default()
        };
        self.memory.read_device(number, &mut reading);
        reading
    }

    pub(super) fn read_user(&self, number: usize) -> UserReading {
        let him = &self.users[number];
        let mut account = him.account;
        let now = self.calendar.now();
        match self.burst_of(number as u32, &account) {
            Some(burst) => {
                let (problem, supervisor) = burst.done((now - account.since).ns());
                account.split(
                    now,
                    [(UserTime::Problem, problem), (UserTime::Supervisor, supervisor)],
                );
            }
            None => account.turn(now, account.now_as),
        }
        let mut reading = UserReading {
            class: him.class,
            background: him.background,
            status: him.status,
            activity: activity(him),
            problem_ns: account.get(UserTime::Problem),
            supervisor_ns: account.get(UserTime::Supervisor),
            cpu_wait_ns: account.get(UserTime::CpuWait),
            page_wait_ns: account.get(UserTime::PageWait),
            io_wait_ns: account.get(UserTime::IoWait),
            eligible_ns: account.get(UserTime::Eligible),
            dormant_ns: account.get(UserTime::Dormant),
            page_reads: 0,
            page_writes: 0,
            ios: him.ios,
            steals: 0,
            resident_pages: 0,
            projected_pages: 0,
            transactions: him.transactions,
        };
        self.memory.read_user(number as u32, &mut reading);
        reading.projected_pages = if in_transaction(him.status) {
            him.projected
        } else {
            self.projected(number as u32)
        };
        reading
    }

    fn burst_of(&self, user: u32, account: &UserAccount) -> Option<Burst> {
        if account.now_as != UserTime::Problem {
            return None;
        }
        self.processors
            .iter()
            .find_map(|processor| match processor.doing {
                Doing::Burst(burst) if burst.user == user => Some(burst),
                _ => None,
            })
    }
}

fn activity(user: &User) -> Activity {
    if !in_queue(user.status) {
        return Activity::None;
    }
    match user.account.now_as {
        UserTime::Problem | UserTime::Supervisor => Activity::Running,
        UserTime::CpuWait => Activity::CpuWait,
        UserTime::PageWait => Activity::PageWait,
        UserTime::IoWait => Activity::IoWait,
        UserTime::Eligible | UserTime::Dormant | UserTime::LoggedOff => Activity::None,
    }
}
