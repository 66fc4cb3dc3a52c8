//! Paging devices: moving-arm disks and fixed-head drums on shared paths.
//!
//! A device is described by a file of figures ([`DeviceModel`]); a [`Subsystem`] holds the devices of a machine, their
//! control units and channels, and serves [`Request`]s. The time of a request is its wait in the device's queue, then
//! pend (no path for the start-I/O), disconnect (seek, latency, missed reconnections) and connect (path held), each
//! recorded on its own (spec page 7, devices).

mod compressed;
mod counters;
mod disk;
mod drum;
mod figures;
mod kinds;
mod links;
mod request;
mod seek;
mod subsystem;
mod track;

pub use counters::DeviceCounters;
pub use figures::{Figure, Figures};
pub use kinds::{Built, DeviceModel, KINDS, Kind, Mechanism};
pub use links::PathId;
pub use request::{Completed, MAX_PAGES, Pages, Request, Service};
pub use seek::SeekCurve;
pub use subsystem::{DeviceId, IoEvent, Subsystem};
pub use track::Track;
