//! Signals that this host does not give: recorded as null, and named in `sources/monitor.toml`.

use serde::Serialize;

/// One signal that is missing, why, and what it would have needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    pub signal: String,
    pub reason: String,
    pub would_need: String,
}

impl Missing {
    /// `signal` is the column; for tables other than `system` it is written `table.column`.
    pub fn new(signal: impl Into<String>, reason: impl Into<String>, would_need: impl Into<String>) -> Self {
        Self {
            signal: signal.into(),
            reason: reason.into(),
            would_need: would_need.into(),
        }
    }
}
