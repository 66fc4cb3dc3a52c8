//! Which page leaves when a frame is wanted: one file per policy, and one line in the table.
//!
//! A policy's file opens with What, Why and Reference; what a catalogue says of it is its What. Sizes are fixed, pages are
//! of one size, a page comes only when it is referenced (demand paging). All but two can serve while the future is
//! unknown and are a [`Policy`]; `opt` and `working-set` need the whole trace.

mod arc;
mod clock;
mod fifo;
mod generations;
mod lfu;
mod links;
mod lru;
mod opt;
mod random;
mod s3_fifo;
mod sieve;
mod two_list;
mod working_set;

pub use self::clock::{Clock, Hand};
pub use self::links::{Ghosts, Links, NONE};
pub use self::{
    arc::Arc, fifo::Fifo, generations::Generations, lfu::Lfu, lru::Lru, random::Random, s3_fifo::S3Fifo,
    sieve::Sieve, two_list::TwoList,
};
use satline_program::{Error, Result};

use crate::replay::{Replay, online};

/// What a policy is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// How many frames there are: at least one.
    pub frames: u32,
    /// Pages have numbers below this.
    pub pages: u32,
    /// Of those that draw.
    pub seed: u64,
}

/// Decides by what it is told of frames 0 to [`Setup::frames`].
///
/// Nothing is allocated after `new`.
pub trait Policy: Sized {
    /// The text of its file.
    const SOURCE: &str;

    fn new(setup: &Setup) -> Self;

    /// The page in this frame was touched again.
    fn touched(&mut self, frame: u32);

    /// A page came into a frame that had none; the touch that wanted it is told by this alone.
    fn came(&mut self, frame: u32, page: u32);

    /// The same of a page that was read before anybody touched it.
    fn came_ahead(&mut self, frame: u32, page: u32) {
        self.came(frame, page);
    }

    /// Reference bits read since the last call, but for those of frames of which it was asked whether they are takeable;
    /// only for policies that model a scan, and whose scan costs time.
    fn looked(&mut self) -> u32 {
        0
    }

    /// The frame that is to be emptied: the policy knows it no more. `None`: none is takeable.
    ///
    /// `wanted` is the page that is to come, where that is known: some decide by it. A frame that is not `takeable` is
    /// passed over; an empty one never is takeable.
    fn victim(&mut self, wanted: Option<u32>, takeable: &mut impl FnMut(u32) -> bool) -> Option<u32>;

    /// The frame's page left without the policy.
    fn left(&mut self, frame: u32);
}

/// One line of the table.
#[derive(Clone, Copy)]
pub struct Entry {
    pub name: &'static str,
    /// The text of its file.
    pub source: &'static str,
    pub replay: Replay,
    /// Whether the size bounds every moment, and not the mean.
    pub bounded: bool,
}

#[rustfmt::skip]
pub const POLICIES: &[Entry] = &[
    Entry { name: "fifo", source: Fifo::SOURCE, replay: online::<Fifo>, bounded: true },
    Entry { name: "random", source: <Random>::SOURCE, replay: online::<Random>, bounded: true },
    Entry { name: "clock", source: Clock::SOURCE, replay: online::<Clock>, bounded: true },
    Entry { name: "lru", source: Lru::SOURCE, replay: online::<Lru>, bounded: true },
    Entry { name: "lfu", source: Lfu::SOURCE, replay: online::<Lfu>, bounded: true },
    Entry { name: "two-list", source: TwoList::SOURCE, replay: online::<TwoList>, bounded: true },
    Entry { name: "generations", source: Generations::SOURCE, replay: online::<Generations>, bounded: true },
    Entry { name: "arc", source: Arc::SOURCE, replay: online::<Arc>, bounded: true },
    Entry { name: "s3-fifo", source: S3Fifo::SOURCE, replay: online::<S3Fifo>, bounded: true },
    Entry { name: "sieve", source: Sieve::SOURCE, replay: online::<Sieve>, bounded: true },
    Entry { name: "working-set", source: include_str!("working_set.rs"), replay: working_set::replay, bounded: false },
    Entry { name: "opt", source: include_str!("opt.rs"), replay: opt::replay, bounded: true },
];

/// What a policy does: one sentence or two, from the head of its file.
pub fn what(source: &str) -> String {
    let head = source.lines().map_while(|line| line.strip_prefix("//!"));
    let from = head.map(str::trim).skip_while(|line| !line.starts_with("What:"));
    let what: Vec<&str> = from.take_while(|line| !line.starts_with("Why:")).collect();
    what.join(" ").trim_start_matches("What:").trim().to_owned()
}

impl Entry {
    pub fn what(&self) -> String {
        what(self.source)
    }
}

/// The policy of this name.
///
/// # Errors
/// There is none.
pub fn find(name: &str) -> Result<&'static Entry> {
    POLICIES.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let names: Vec<&str> = POLICIES.iter().map(|entry| entry.name).collect();
        Error::input(
            format!("there is no policy {name:?}"),
            format!("the policies are {}", names.join(", ")),
        )
    })
}
