//! What the programs share: errors that a user can act on, clocks, the kernel's texts, and how a program sees to it that it runs when it must.

pub mod clock;
mod error;
pub mod parse;
pub mod scheduling;

use std::process::ExitCode;

pub use error::{Cause, Error, harmless};

/// The exit code of a program whose work is done or failed; the error is told, with `head` before it.
pub fn ended(result: Result<()>, head: &str) -> ExitCode {
    result.map_or_else(
        |error| {
            error.tell(head);
            ExitCode::from(error.exit_code())
        },
        |()| ExitCode::SUCCESS,
    )
}

/// What may fail with a remedy.
pub type Result<T> = std::result::Result<T, Error>;
