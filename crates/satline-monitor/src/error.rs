//! What can end the monitor early, with the remedy.

use satline_recording::RecordingError;

/// An error of the monitor.
#[derive(Debug, thiserror::Error)]
pub enum MonitorError {
    #[error("{message}\nhint: {hint}")]
    Input { message: String, hint: String },
    #[error("{0}{hint}", hint = hint_for(.0))]
    Recording(#[from] RecordingError),
    #[error("{path}: cannot list it: {source}\nhint: the monitor needs a mounted /proc that it may read")]
    Proc { path: String, source: std::io::Error },
}

impl MonitorError {
    /// Wrong input: exit code 2.
    pub fn input(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Input {
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// The exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Input { .. } => 2,
            _ => 1,
        }
    }

    /// The word for `end_reason`.
    pub fn end_reason(&self) -> &'static str {
        match self {
            Self::Recording(error) if error.is_disk_full() => "disk-full",
            _ => "failed",
        }
    }
}

fn hint_for(error: &RecordingError) -> &'static str {
    if error.is_disk_full() {
        "\nhint: free some space; what was recorded until now is whole, and the same command continues it"
    } else {
        "\nhint: check that --recording names a directory that can be written"
    }
}
