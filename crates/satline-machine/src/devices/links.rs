//! What lies between storage and the devices: paths, each through a control unit and a channel.
//!
//! A control unit moves one page at a time, and so does a channel; paths that share either share its time.

use crate::engine::{Level, Time};

/// A path of a [`super::Subsystem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PathId(pub(super) u16);

#[derive(Debug)]
struct Path {
    control_unit: usize,
    channel: usize,
}

#[derive(Debug, Default)]
pub(super) struct Links {
    paths: Vec<Path>,
    /// By number: 1 while busy.
    control_units: Vec<Level>,
    channels: Vec<Level>,
}

impl Links {
    pub fn add(&mut self, control_unit: u16, channel: u16) -> PathId {
        let (control_unit, channel) = (usize::from(control_unit), usize::from(channel));
        let reach = |levels: &mut Vec<Level>, number: usize| {
            levels.resize(levels.len().max(number + 1), Level::default());
        };
        reach(&mut self.control_units, control_unit);
        reach(&mut self.channels, channel);
        let id = PathId(u16::try_from(self.paths.len()).expect("no more than 65,536 paths"));
        self.paths.push(Path {
            control_unit,
            channel,
        });
        id
    }

    pub fn is_free(&self, path: PathId) -> bool {
        let path = &self.paths[usize::from(path.0)];
        self.control_units[path.control_unit].value() == 0 && self.channels[path.channel].value() == 0
    }

    pub fn take(&mut self, path: PathId, now: Time) {
        self.set(path, now, 1);
    }

    pub fn release(&mut self, path: PathId, now: Time) {
        self.set(path, now, 0);
    }

    fn set(&mut self, path: PathId, now: Time, busy: u64) {
        let path = &self.paths[usize::from(path.0)];
        self.control_units[path.control_unit].set(now, busy);
        self.channels[path.channel].set(now, busy);
    }

    /// Busy time, ns.
    pub fn control_unit_busy_ns(&self, number: u16, now: Time) -> Option<u128> {
        Some(self.control_units.get(usize::from(number))?.integral(now))
    }

    /// Busy time, ns.
    pub fn channel_busy_ns(&self, number: u16, now: Time) -> Option<u128> {
        Some(self.channels.get(usize::from(number))?.integral(now))
    }
}
