//! Errors of the probe: what is wrong, the remedy, and whether the input was to blame.

use std::fmt;
use std::io;

/// A failure that ends the probe.
#[derive(Debug)]
pub struct Error {
    message: String,
    hint: String,
    wrong_input: bool,
}

impl Error {
    /// Wrong flags or an unusable directory: the user can mend it.
    pub fn input(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
            wrong_input: true,
        }
    }

    /// The host refused something; `source` is its reason.
    pub fn host(what: &str, source: &io::Error, hint: impl Into<String>) -> Self {
        Self {
            message: format!("{what}: {source}"),
            hint: hint.into(),
            wrong_input: false,
        }
    }

    /// The last error of a C library call.
    pub fn last(what: &str, hint: impl Into<String>) -> Self {
        Self::host(what, &io::Error::last_os_error(), hint)
    }

    /// 2 when the input was wrong, else 1.
    pub fn exit_code(&self) -> u8 {
        if self.wrong_input { 2 } else { 1 }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nhint: {}", self.message, self.hint)
    }
}

pub type Result<T> = std::result::Result<T, Error>;
