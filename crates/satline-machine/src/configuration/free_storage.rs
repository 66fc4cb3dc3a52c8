//! The control program's free storage: what it asks for, when, and for how long.

use super::swapping::Word;
use crate::engine::Span;

/// The subpools that a machine file can name, the default first.
pub const SUBPOOLS: [&str; 4] = ["main-chain", "ten", "eleven", "split"];

/// Moments at which blocks are got or given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    LogOn,
    LogOff,
    /// His terminal's input.
    TransactionStart,
    TransactionEnd,
    QueueAdd,
    QueueDrop,
    Dispatch,
    PageFault,
    /// His page is there.
    PageInEnd,
    UserIoStart,
    UserIoEnd,
}

/// Their number.
pub const MOMENTS: usize = 11;

/// A request's moment, and the one up to which a block may be kept; none: it is given back at once. Whatever happens to a user,
/// the second comes before the first comes again.
pub const KEPT: &[(Word<Moment>, Option<Word<Moment>>)] = &[
    (("log_on", Moment::LogOn), Some(("log_off", Moment::LogOff))),
    (
        ("transaction_start", Moment::TransactionStart),
        Some(("transaction_end", Moment::TransactionEnd)),
    ),
    (
        ("transaction_end", Moment::TransactionEnd),
        Some(("transaction_start", Moment::TransactionStart)),
    ),
    (
        ("queue_add", Moment::QueueAdd),
        Some(("queue_drop", Moment::QueueDrop)),
    ),
    (("queue_drop", Moment::QueueDrop), None),
    (("dispatch", Moment::Dispatch), None),
    (
        ("page_fault", Moment::PageFault),
        Some(("page_in_end", Moment::PageInEnd)),
    ),
    (("page_in_end", Moment::PageInEnd), None),
    (
        ("user_io_start", Moment::UserIoStart),
        Some(("user_io_end", Moment::UserIoEnd)),
    ),
    (("user_io_end", Moment::UserIoEnd), None),
];

/// Table `[free_storage]`; without it requests are a part of the paths and cost nothing of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct FreeStoragePlan {
    pub doublewords: u32,
    /// One of [`SUBPOOLS`].
    pub subpools: String,
    /// The place in `Machine::locks` of the lock under which requests are served.
    pub lock: Option<usize>,
    pub subpool_request: Span,
    pub main_request: Span,
    /// For every block that a search in the main chain looks at.
    pub block_searched: Span,
    pub requests: Vec<StorageRequest>,
}

/// What the control program asks for at a moment of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageRequest {
    pub at: Moment,
    /// `None`: given back at once.
    pub until: Option<Moment>,
    /// So many blocks each time.
    pub blocks: u32,
    /// A block's doublewords, evenly from the first to the second.
    pub doublewords: (u32, u32),
}
