//! A user (or background program) and his random streams.

use super::accounts::{UserAccount, UserTime};
use crate::configuration::Program;
use crate::engine::{Span, Stream, Streams, Time, Token};
use crate::readings::Status;

/// He has had none yet.
pub const NO_PROCESSOR: u16 = u16::MAX;

/// What every dispatch looks at comes first, in two lines of the processor's cache: there are hundreds of users.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct User {
    pub account: UserAccount,

    /// Problem-state time of his transaction to come, and up to the next I/O, ns.
    pub problem_left: u64,
    pub io_left: u64,
    // His stay in queue: his run time (problem and supervisor) at which the slice and the quantum end, ns.
    pub slice_end: u64,
    pub quantum_end: u64,
    /// When he last left the queue or ended a quantum: who was served longest ago goes first, into queue and in it.
    pub served: Time,
    pub class: u16,
    pub status: Status,
    pub background: bool,
    /// He is on the dispatcher's list.
    pub listed: bool,
    /// He waited for a page or an I/O in this quantum.
    pub waited: bool,
    /// Of his transaction.
    pub kind: u16,
    /// The processor that he had last in this transaction.
    pub processor: u16,
    /// Quanta in a row in which he waited for nothing.
    pub quanta_alone: u32,

    /// His page came while the control program was still busy with his fault, or while he was out of queue: what the end of the
    /// page-in takes.
    pub early: Option<Span>,
    /// Stays in queue so far, of his transaction.
    pub stays: u32,
    /// His projected working set since he became a candidate, pages.
    pub projected: u32,
    pub started: Time,
    pub at_start: AtStart,
    /// He was dropped at a page fault, and let in again he is still to wait for its page.
    pub at_fault: bool,
    /// He is to be logged on.
    pub wanted: bool,
    /// The end of his thinking.
    pub thinking: Option<Token>,
    pub think: Span,

    pub ios: u64,
    pub transactions: u64,
}

/// What a user's counters were when his transaction began.
#[derive(Debug, Clone, Copy, Default)]
pub struct AtStart {
    pub ns: [u64; 8],
    pub page_reads: u64,
    pub ios: u64,
}

impl User {
    pub fn new(program: &Program) -> Self {
        Self {
            status: Status::LoggedOff,
            account: UserAccount::new(UserTime::LoggedOff),
            class: program.class,
            background: program.background,
            at_fault: false,
            wanted: program.background,
            thinking: None,
            think: Span::ZERO,
            served: Time::START,
            listed: false,
            projected: 0,
            kind: 0,
            processor: NO_PROCESSOR,
            quanta_alone: 0,
            started: Time::START,
            at_start: AtStart::default(),
            stays: 0,
            problem_left: 0,
            io_left: u64::MAX,
            slice_end: 0,
            quantum_end: 0,
            waited: false,
            early: None,
            ios: 0,
            transactions: 0,
        }
    }

    /// Problem and supervisor time so far, ns.
    #[inline]
    pub fn run_ns(&self) -> u64 {
        self.account.get(UserTime::Problem) + self.account.get(UserTime::Supervisor)
    }
}

/// One stream for every purpose, so that no policy shifts another's draws.
#[derive(Debug)]
pub struct Draws {
    pub think: Stream,
    pub kind: Stream,
    pub cpu: Stream,
    pub io_interval: Stream,
    pub io_place: Stream,
    /// Where his files begin, as a part of the file cylinders that he might begin at.
    pub home: f64,
}

impl Draws {
    pub fn new(streams: &Streams, user: u32) -> Self {
        use rand::RngExt;
        let stream = |purpose| streams.stream(user.into(), purpose);
        Self {
            think: stream("think"),
            kind: stream("kind"),
            cpu: stream("cpu"),
            io_interval: stream("io interval"),
            io_place: stream("io place"),
            home: stream("home").random(),
        }
    }
}
