//! Errors that a user can act on.

use std::fmt;

/// What went wrong, where, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalError {
    /// What is wrong, naming the file and the place in it.
    pub message: String,
    /// The remedy, one sentence, or empty.
    pub hint: String,
    /// Exit status: 2 for wrong input, 1 for anything else.
    pub exit_code: i32,
    /// The recording could not go on for lack of space.
    pub disk_full: bool,
}

impl TerminalError {
    /// Wrong input: a file, key, option or permission.
    pub fn input(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
            exit_code: 2,
            disk_full: false,
        }
    }

    /// Something outside failed while running.
    pub fn failure(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
            exit_code: 1,
            disk_full: false,
        }
    }
}

impl fmt::Display for TerminalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TerminalError {}
