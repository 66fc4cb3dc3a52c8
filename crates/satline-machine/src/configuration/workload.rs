//! A workload: who the users are, what they ask for, and when they are there.

use crate::engine::{Distribution, Span};

/// A workload file, checked.
#[derive(Debug, Clone)]
pub struct Workload {
    pub name: String,
    pub note: String,
    pub classes: Vec<UserClass>,
    pub population: Population,
    /// Pages shared by all users (shared segments); 0: none.
    pub shared_pages: u32,
    pub background: Vec<Background>,
}

/// Users of one kind.
#[derive(Debug, Clone)]
pub struct UserClass {
    pub name: String,
    /// Its part of the users. User k is of the class whose cumulated part reaches a fixed low-discrepancy number of k, so that the
    /// first n users have nearly the stated mix for every n.
    pub share: f64,
    /// From the end of a transaction to the next one's arrival.
    pub think: Distribution,
    /// Pages of the user's virtual storage.
    pub space_pages: u32,
    /// One of them by weight for every transaction.
    pub transactions: Vec<TransactionKind>,
}

/// A kind of transaction.
#[derive(Debug, Clone)]
pub struct TransactionKind {
    pub name: String,
    pub weight: f64,
    /// Problem-state time on the reference processor.
    pub cpu: Distribution,
    /// Mean problem-state time between user I/Os on the reference processor (exponential); `None`: no I/O.
    pub cpu_between_ios: Option<Span>,
    /// Problem-state time between other simulated privileged instructions; `None`: none. Paid as a lump at every dispatch, not as events.
    pub cpu_between_simulations: Option<Span>,
    pub io: IoPattern,
    pub locality: Locality,
}

/// Where a user's I/O goes.
#[derive(Debug, Clone, PartialEq)]
pub struct IoPattern {
    /// Exponent of the skew over the file devices in the order of the machine file: weight ∝ 1 / rank^skew; 0: even.
    pub skew: f64,
    /// Cylinders of a device that a user's files span, about a place of his own; the arm moves within.
    pub span_cylinders: u32,
    /// 4096-byte blocks of one I/O.
    pub blocks: u32,
}

/// Which pages a transaction touches, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct Locality {
    /// Distinct pages of one transaction (of one phase, where it has several), shared ones not included: mean and standard deviation.
    pub working_set_pages: f64,
    pub working_set_sd: f64,
    /// Part of the pages that are the same as in the user's previous transaction (or phase).
    pub repeatability: f64,
    /// The working set after part t of the phase is its whole size × t^growth; 1: even, 0.5: half of it in the first quarter.
    pub growth: f64,
    /// Virtual time between two references to a page of the phase, reference processor: mean of an exponential.
    pub reference_interval: Span,
    /// Length of a phase in virtual time, reference processor.
    pub phase: Span,
    /// Part of the touched pages that are changed.
    pub changed: f64,
    /// Pages of the shared segments that a phase touches too.
    pub shared_pages: u32,
}

/// Who is logged on, when.
#[derive(Debug, Clone, PartialEq)]
pub enum Population {
    /// So many users all the time, unless the run gives another number.
    Constant(u32),
    /// Sessions of every user, in rising order of time; repeated never. User k logs on when the wanted number exceeds k.
    Varying(Vec<Session>),
}

/// From a time on so many users are wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Session {
    pub from: Span,
    pub users: u32,
}

/// Compute-bound work that is always there: a machine of its own that never thinks.
#[derive(Debug, Clone)]
pub struct Background {
    pub name: String,
    pub count: u32,
    pub space_pages: u32,
    pub kind: TransactionKind,
}
