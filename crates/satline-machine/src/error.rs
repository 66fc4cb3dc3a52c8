//! Errors that a user can act on.

use std::fmt;

/// Wrong input: what and where, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineError {
    /// What is wrong, naming the file and the place in it.
    pub message: String,
    /// The remedy, one sentence.
    pub hint: String,
}

impl MachineError {
    /// An error with its remedy.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
        }
    }
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for MachineError {}
