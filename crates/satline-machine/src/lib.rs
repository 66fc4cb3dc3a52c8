//! The simulated machine: the laboratory in which the truth is known.
//!
//! [`engine`] is what every model needs: the calendar of events, the clock, the random streams, the counters and the
//! queues. [`devices`] are the paging devices with their paths, each read from a file of figures. [`model`] puts users, the
//! scheduler, processors, [`storage`] and the control program's own [`free_storage`] together; [`policies`] are what can be chosen in a machine file. A run is fixed by its
//! model and its seed: the same program gives the same events, bit for bit. [`recorder`] writes what a run does as a
//! recording, [`summary`] puts it into numbers, and [`program`] is the command line.

pub mod configuration;
pub mod devices;
pub mod engine;
pub mod free_storage;
pub mod model;
pub mod options;
pub mod policies;
pub mod program;
pub mod readings;
pub mod recorder;
pub mod references;
pub mod storage;
pub mod summary;
pub mod swapping;
