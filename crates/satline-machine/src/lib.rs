//! The simulated machine: the laboratory in which the truth is known.
//!
//! [`engine`] is what every model needs: the calendar of events, the clock, the random streams, the counters and the
//! queues. [`devices`] are the paging devices with their paths, each read from a file of figures. A run is fixed by its
//! model and its seed: the same program gives the same events, bit for bit.

pub mod configuration;
pub mod devices;
pub mod engine;
mod error;
pub mod readings;

pub use error::MachineError;
