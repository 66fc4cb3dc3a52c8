//! What the control program asks of free storage, user by user: blocks come at one moment and go at another.
//!
//! What a moment's requests take is a part of the path that is made up there; where free storage has a lock, the path begins under
//! it, for just that time.

use rand::RngExt;

use super::Simulation;
use super::processor::{NOBODY, Path};
use crate::configuration::{MOMENTS, Machine, Moment, StorageRequest};
use crate::engine::{Span, Stream, Streams};
use crate::free_storage::{Block, FreeStorage, Prices};
use crate::policies::find;
use crate::policies::free_storage::POLICIES;
use satline_program::Error;

#[derive(Debug)]
pub struct Requests {
    pub storage: FreeStorage,
    /// By moment: what is asked for.
    plan: [Vec<StorageRequest>; MOMENTS],
    /// By user: the blocks that he keeps, and until when.
    kept: Vec<Vec<(Moment, Block)>>,
    /// By user, so that no one shifts another's draws.
    sizes: Vec<Stream>,
    /// For blocks that are given back at once.
    spare: Vec<Block>,
    /// Of the time that requests take, that of paths which are done, ns.
    pub done_ns: u64,
    /// A user keeps no more than each request's once.
    pub most_blocks: usize,
}

impl Requests {
    /// `None`: nothing is asked for.
    ///
    /// # Errors
    /// The policy is not known.
    pub fn new(machine: &Machine, users: usize, streams: &Streams) -> Result<Option<Box<Self>>, Error> {
        let Some(plan) = &machine.free_storage else {
            return Ok(None);
        };
        let policy = find(POLICIES, "subpools", &plan.subpools)?();
        let prices = Prices {
            subpool_request: plan.subpool_request,
            main_request: plan.main_request,
            block_searched: plan.block_searched,
        };
        let mut by_moment: [Vec<StorageRequest>; MOMENTS] = Default::default();
        for request in &plan.requests {
            by_moment[request.at as usize].push(*request);
        }
        let blocks = plan.requests.iter().map(|request| request.blocks as usize).sum();
        Ok(Some(Box::new(Self {
            storage: FreeStorage::new(plan.doublewords, policy, prices),
            plan: by_moment,
            kept: vec![Vec::with_capacity(blocks); users],
            sizes: (0..users as u64)
                .map(|user| streams.stream(user, "free storage"))
                .collect(),
            spare: Vec::with_capacity(blocks),
            done_ns: 0,
            most_blocks: blocks,
        })))
    }

    /// The user comes to this moment: what he kept until then goes, then comes what is asked for. The time that it takes.
    fn moment(&mut self, user: u32, moment: Moment) -> Span {
        let before = self.storage.counts().time_ns;
        let Self {
            storage,
            plan,
            kept,
            sizes,
            spare,
            ..
        } = self;
        let kept = &mut kept[user as usize];
        kept.retain(|&(until, block)| {
            // Whoever leaves leaves nothing.
            let goes = until == moment || moment == Moment::LogOff;
            if goes {
                storage.give(block);
            }
            !goes
        });
        for request in &plan[moment as usize] {
            let (least, most) = request.doublewords;
            for _ in 0..request.blocks {
                let doublewords = match least < most {
                    true => sizes[user as usize].random_range(least..=most),
                    false => least,
                };
                let block = storage.get(doublewords);
                match request.until {
                    Some(until) => kept.push((until, block)),
                    None => spare.push(block),
                }
            }
        }
        for block in spare.drain(..) {
            storage.give(block);
        }
        Span::from_ns(storage.counts().time_ns - before)
    }

    /// The most blocks that a user keeps.
    pub fn most_kept(&self) -> usize {
        self.kept.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Doublewords that users keep.
    pub fn kept(&self) -> u64 {
        let all = self.kept.iter().flatten();
        all.map(|(_, block)| u64::from(block.length)).sum()
    }
}

impl Simulation {
    /// A user comes to a moment at which free storage is asked for, or given back: what that adds to the path made up here.
    #[inline]
    pub(super) fn requests(&mut self, user: u32, moment: Moment) -> Length {
        let storage = match &mut self.requests {
            Some(requests) => requests.moment(user, moment),
            None => Span::ZERO,
        };
        Length {
            whole: storage,
            storage,
        }
    }

    /// The same at a moment that has no path of its own; for no user.
    pub(super) fn requests_alone(&mut self, user: u32, moment: Moment, among: u64) {
        let length = self.requests(user, moment);
        if length.whole > Span::ZERO {
            self.post(NOBODY, Path::System, length, among);
        }
    }
}

/// How long a path of the control program is, and how much of that are requests of free storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    pub whole: Span,
    pub storage: Span,
}

impl Length {
    /// Both, one after the other.
    pub fn and(self, other: Self) -> Self {
        Self {
            whole: self.whole + other.whole,
            storage: self.storage + other.storage,
        }
    }
}

impl From<Span> for Length {
    fn from(whole: Span) -> Self {
        Self {
            whole,
            storage: Span::ZERO,
        }
    }
}

impl std::ops::Add<Span> for Length {
    type Output = Self;

    fn add(self, other: Span) -> Self {
        Self {
            whole: self.whole + other,
            ..self
        }
    }
}
