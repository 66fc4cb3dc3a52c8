//! Where time goes: exact accounts of users and processors, and how many users are in each state.

use crate::engine::{Level, Time};
use crate::readings::Status;

/// What a user's time counts as. Those up to `Eligible` make up his transactions' time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserTime {
    Problem,
    /// The control program runs for him, whatever he waits for besides.
    Supervisor,
    CpuWait,
    PageWait,
    IoWait,
    Eligible,
    Dormant,
    LoggedOff,
}

impl UserTime {
    pub const IN_TRANSACTION: [Self; 6] = [
        Self::Problem,
        Self::Supervisor,
        Self::CpuWait,
        Self::PageWait,
        Self::IoWait,
        Self::Eligible,
    ];
}

/// What a processor's time counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessorTime {
    Problem,
    Supervisor,
    /// Nothing to do, and no I/O outstanding.
    Idle,
    /// Nothing to do, and the outstanding I/O is primarily paging.
    PageWait,
    IoWait,
    /// In a path of the control program, before a lock that another processor holds.
    Spin,
}

/// Times that add up to all time since the start, in ns.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Account<A, const N: usize> {
    pub since: Time,
    pub now_as: A,
    pub ns: [u64; N],
}

pub type UserAccount = Account<UserTime, 8>;
pub type ProcessorAccount = Account<ProcessorTime, 6>;

impl<A: Copy + Into<usize>, const N: usize> Account<A, N> {
    pub fn new(now_as: A) -> Self {
        Self {
            since: Time::START,
            now_as,
            ns: [0; N],
        }
    }

    /// Up to now time counted as before, from now on as this.
    #[inline]
    pub fn turn(&mut self, now: Time, to: A) {
        self.ns[self.now_as.into()] += (now - self.since).ns();
        self.since = now;
        self.now_as = to;
    }

    /// The time since the last entry was partly this and partly that.
    #[inline]
    pub fn split(&mut self, now: Time, parts: [(A, u64); 2]) {
        for (part, ns) in parts {
            self.ns[part.into()] += ns;
        }
        self.since = now;
    }

    pub fn get(&self, of: A) -> u64 {
        self.ns[of.into()]
    }
}

impl From<UserTime> for usize {
    fn from(time: UserTime) -> Self {
        time as Self
    }
}

impl From<ProcessorTime> for usize {
    fn from(time: ProcessorTime) -> Self {
        time as Self
    }
}

/// How many users are in each state; background programs are not among them.
#[derive(Debug, Clone, Default)]
pub struct Populations {
    by_status: [Level; 6],
    pub logged_on: Level,
    pub in_transaction: Level,
}

impl Populations {
    /// All of them are logged off.
    pub fn new(users: u32) -> Self {
        let mut all = Self::default();
        all.by_status[Status::LoggedOff as usize].set(Time::START, users.into());
        all
    }

    pub fn of(&self, status: Status) -> &Level {
        &self.by_status[status as usize]
    }

    pub fn turn(&mut self, now: Time, from: Status, to: Status) {
        self.by_status[from as usize].lower(now);
        self.by_status[to as usize].raise(now);
        let shift = |level: &mut Level, was: bool, is: bool| match (was, is) {
            (false, true) => level.raise(now),
            (true, false) => level.lower(now),
            _ => {}
        };
        let off = Status::LoggedOff;
        shift(&mut self.logged_on, from != off, to != off);
        shift(&mut self.in_transaction, in_transaction(from), in_transaction(to));
    }
}

pub fn in_transaction(status: Status) -> bool {
    !matches!(status, Status::LoggedOff | Status::Dormant)
}

pub fn in_queue(status: Status) -> bool {
    matches!(status, Status::Q1 | Status::Q2)
}
