//! Identities that every run must satisfy to the last nanosecond, whatever the machine and its policies.
//!
//! They hold on a sample path, not only on average, when what is under way at the end is counted too (operational
//! analysis). So a difference is a fault of the model, never chance.

mod free_storage;
mod locks;
mod places;

use std::fmt::Display;

use super::Simulation;
use super::accounts::{ProcessorTime, UserTime, in_queue, in_transaction};
use super::processor::{Doing, NOBODY};
use crate::readings::{Status, UserReading};

/// Adds up differences.
#[derive(Default)]
struct Found(Vec<String>);

impl Found {
    /// The law's name is made only where it does not hold: there are hundreds of users.
    fn same(&mut self, law: impl Display, left: u128, right: u128) {
        if left != right {
            self.0.push(format!("{law}: {left} is not {right}"));
        }
    }
}

impl Simulation {
    /// What does not hold now, one line each.
    pub(super) fn audit_now(&self) -> Vec<String> {
        let mut found = Found::default();
        let users: Vec<UserReading> = (0..self.users.len())
            .map(|number| self.read_user(number))
            .collect();
        self.audit_time(&users, &mut found);
        self.audit_users(&users, &mut found);
        self.audit_devices(&users, &mut found);
        self.audit_places(&mut found);
        self.audit_locks(&mut found);
        self.audit_free_storage(&mut found);
        if let Err(why) = self.memory.check() {
            found.0.push(format!("storage: {why}"));
        }
        found.0
    }

    /// Time accounts = elapsed × processors, and the utilisation law: what processors did is what users got.
    fn audit_time(&self, users: &[UserReading], found: &mut Found) {
        let now = u128::from(self.calendar.now().ns());
        let (mut problem, mut supervisor) = (0, 0);
        for number in 0..self.processors.len() {
            let read = self.read_processor(number);
            let all = [
                read.problem_ns,
                read.supervisor_ns,
                read.idle_ns,
                read.page_wait_ns,
                read.io_wait_ns,
                read.spin_ns,
            ];
            found.same(
                format_args!("time of processor {number} = elapsed"),
                sum(all),
                now,
            );
            problem += u128::from(read.problem_ns);
            // For whom the control program spins, for him it works.
            supervisor += u128::from(read.supervisor_ns) + u128::from(read.spin_ns);
        }
        let of =
            |time: fn(&UserReading) -> u64| users.iter().map(|user| u128::from(time(user))).sum::<u128>();
        found.same(
            "problem time of processors = of users",
            problem,
            of(|user| user.problem_ns),
        );
        let nobody =
            |processor: &&super::Processor| matches!(processor.doing, Doing::Path { user: NOBODY, .. });
        let now = self.calendar.now();
        let under_way = self
            .processors
            .iter()
            .filter(nobody)
            .map(|processor| (now - processor.account.since).ns());
        let system = u128::from(self.system_ns) + sum(under_way);
        found.same(
            "supervisor and spin time of processors = of users + of none",
            supervisor,
            of(|user| user.supervisor_ns) + system,
        );
    }

    /// Little's law, the sum of each user's times, and everyone is in one state.
    fn audit_users(&self, users: &[UserReading], found: &mut Found) {
        let now = self.calendar.now();
        let mut open = 0;
        for (number, (him, read)) in self.users.iter().zip(users).enumerate() {
            let in_transactions = [
                read.problem_ns,
                read.supervisor_ns,
                read.cpu_wait_ns,
                read.page_wait_ns,
                read.io_wait_ns,
                read.eligible_ns,
            ];
            let mut off = him.account.get(UserTime::LoggedOff);
            if him.status == Status::LoggedOff {
                off += (now - him.account.since).ns();
            }
            let all = sum(in_transactions) + sum([read.dormant_ns, off]);
            found.same(
                format_args!("time of user {number} = elapsed"),
                all,
                now.ns().into(),
            );
            if in_transaction(him.status) && !him.background {
                open += u128::from((now - him.started).ns());
                let since = sum(in_transactions)
                    - sum(him.at_start.ns[..=UserTime::Eligible as usize].iter().copied());
                found.same(
                    format_args!("time of user {number}'s transaction = since its start"),
                    since,
                    (now - him.started).ns().into(),
                );
            }
        }
        let integral = self.populations.in_transaction.integral(now);
        found.same(
            "Little's law: ∫ users in transaction = Σ their times",
            integral,
            self.transactions_ns + open,
        );
        self.audit_queues(users, found);
        let everyone = [
            Status::LoggedOff,
            Status::Dormant,
            Status::Q1Candidate,
            Status::Q1,
            Status::Q2Candidate,
            Status::Q2,
        ];
        for status in everyone {
            let seen = self
                .users
                .iter()
                .filter(|user| user.status == status && !user.background)
                .count();
            found.same(
                format_args!("users who are {status:?}"),
                seen as u128,
                self.populations.of(status).value().into(),
            );
        }
        let queued = self.users.iter().filter(|user| in_queue(user.status));
        found.same(
            "users in queue",
            queued.clone().count() as u128,
            (self.queue.q1 + self.queue.q2).into(),
        );
        found.same(
            "SUMWSS",
            queued.map(|user| u128::from(user.projected)).sum(),
            self.queue.pages.into(),
        );
    }

    /// Little's law for those in queue and those who are eligible.
    fn audit_queues(&self, users: &[UserReading], found: &mut Found) {
        let of = |time: fn(&UserReading) -> u64| {
            let users = users.iter().filter(|user| !user.background);
            users.map(|user| u128::from(time(user))).sum::<u128>()
        };
        let now = self.calendar.now();
        let integral = |status| self.populations.of(status).integral(now);
        found.same(
            "Little's law: ∫ eligible users = Σ their times",
            integral(Status::Q1Candidate) + integral(Status::Q2Candidate),
            of(|user| user.eligible_ns),
        );
        found.same(
            "Little's law: ∫ users in queue = Σ their times",
            integral(Status::Q1) + integral(Status::Q2),
            of(|user| {
                let run_ns = user.problem_ns + user.supervisor_ns;
                run_ns + user.cpu_wait_ns + user.page_wait_ns + user.io_wait_ns
            }),
        );
    }

    /// Forced flow (what users asked for is what devices did or have under way) and busy time = Σ service.
    fn audit_devices(&self, users: &[UserReading], found: &mut Found) {
        let now = self.calendar.now();
        let (mut ios, mut reads) = (0, 0);
        for (number, &device) in self.devices.iter().enumerate() {
            let read = self.read_device(number);
            ios += u128::from(read.user_ios);
            reads += u128::from(read.page_reads);
            let named = |law: &str| format!("device {number}: {law}");
            found.same(
                named("SIOs = of paging + of users"),
                read.sios.into(),
                (read.page_sios + read.user_ios).into(),
            );
            found.same(
                named("pages = of paging + blocks of users"),
                self.subsystem.counters(device).pages.into(),
                (read.page_reads + read.page_writes + read.user_blocks).into(),
            );
            let service = read.queue_ns + read.pend_ns + read.disconnect_ns + read.connect_ns;
            let open = self.subsystem.open_ns(device, now);
            found.same(
                named("∫ requests = Σ their times"),
                read.outstanding_ns,
                service + open,
            );
            if read.busy_ns > u128::from(now.ns()) {
                found.0.push(named("busy for longer than time went by"));
            }
        }
        let asked = users.iter().map(|user| u128::from(user.ios));
        found.same(
            "I/Os of users = of devices + under way",
            asked.sum::<u128>(),
            ios + u128::from(self.ios_outstanding),
        );
        let asked: u128 = users.iter().map(|user| u128::from(user.page_reads)).sum();
        let for_nobody = u128::from(self.memory.page_reads_for_nobody());
        found.same(
            "page reads of users and for nobody = of devices",
            asked + for_nobody,
            reads,
        );
        let idle = self
            .processors
            .iter()
            .filter(|processor| matches!(processor.doing, Doing::Nothing));
        let wrongly = idle
            .filter(|processor| processor.account.now_as != self.waiting_for)
            .count();
        found.same("idle processors that wait for something else", wrongly as u128, 0);
        if self.waiting_for == ProcessorTime::Idle {
            found.same(
                "I/O under way at idle",
                u128::from(self.memory.outstanding() + self.ios_outstanding),
                0,
            );
        }
    }
}

fn sum(times: impl IntoIterator<Item = u64>) -> u128 {
    times.into_iter().map(u128::from).sum()
}
