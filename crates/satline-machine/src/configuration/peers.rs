//! What modern systems do beside replacement, as parts of a machine file's `[paging]`; each is off unless it is there.

use super::swapping::Word;
use super::{DeviceUnit, PageArea};
use crate::engine::Span;

/// The parts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Peers {
    pub readahead: Option<Readahead>,
    pub prefetch: Option<Prefetch>,
    pub migration: Option<Migration>,
    pub compression: Option<Compression>,
    pub sampling: Sampling,
}

/// A page that is read brings its neighbours with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readahead {
    /// Of a cluster at most, the page asked for included.
    pub pages: u32,
    pub by: Neighbours,
    pub window: Window,
}

/// Which pages are neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbours {
    /// Those on the slots of its block of the paging area, whosesoever they are.
    Slot,
    /// Those of the same user, half of them below its address and half above.
    VirtualAddress,
}

/// How large a cluster is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// By how many pages of the clusters before were asked for.
    Adaptive,
    /// As large as it may be.
    Fixed,
}

/// What a user touched in his last stay is read at queue-add.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefetch {
    /// At most so many pages at a time; `None`: all.
    pub most_pages: Option<u32>,
}

/// Pages move from the fastest tier to a slower one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Migration {
    pub interval: Span,
    /// At most so many each time, and no more than leave so many slots of the fast tier free.
    pub pages: u32,
    pub order: MigrationOrder,
}

/// What devices of kind "compressed" cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compression {
    /// Compressed pages that one frame holds, on the mean.
    pub pages_per_frame: f64,
    /// Processor time for a page, each way.
    pub compress: Span,
    pub decompress: Span,
}

/// How the policy `working-set-sampling` looks at reference bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    pub interval: Span,
    /// A page found unreferenced so often in a row is reclaimed before its frame is wanted.
    pub idle_samples: u32,
}

impl Default for Sampling {
    /// Half a minute, sampled every other second.
    fn default() -> Self {
        Self {
            interval: Span::from_ns(2_000_000_000),
            idle_samples: 15,
        }
    }
}

/// Which pages go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigrationOrder {
    /// Those that left storage longest ago.
    Lru,
    /// In order of slot those that did not leave storage since the last pass: one bit.
    PoorLru,
}

/// Frames of main storage that compressed pages take: as if all of their slots were in use.
pub fn compressed_frames(peers: &Peers, devices: &[DeviceUnit], areas: &[PageArea]) -> u64 {
    let Some(compression) = peers.compression else {
        return 0;
    };
    let slots = areas.iter().filter_map(|area| {
        let model = &devices.get(area.device)?.model;
        let slots = u64::from(area.cylinders) * u64::from(model.slots_per_cylinder());
        model.is_compressed().then_some(slots)
    });
    (slots.sum::<u64>() as f64 / compression.pages_per_frame).ceil() as u64
}

pub(super) const NEIGHBOURS: &[Word<Neighbours>] = &[
    ("slot", Neighbours::Slot),
    ("virtual-address", Neighbours::VirtualAddress),
];

pub(super) const WINDOWS: &[Word<Window>] = &[("adaptive", Window::Adaptive), ("fixed", Window::Fixed)];

pub(super) const ORDERS: &[Word<MigrationOrder>] = &[
    ("lru", MigrationOrder::Lru),
    ("poor-lru", MigrationOrder::PoorLru),
];
