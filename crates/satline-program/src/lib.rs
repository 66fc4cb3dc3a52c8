//! What the programs share: errors that a user can act on, clocks, the kernel's texts, and how a program sees to it that it runs when it must.

pub mod clock;
mod error;
pub mod parse;
pub mod scheduling;

pub use error::{Cause, Error, harmless};

/// What may fail with a remedy.
pub type Result<T> = std::result::Result<T, Error>;
