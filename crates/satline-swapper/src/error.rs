//! What can end the swapper, with the remedy.

use satline_recording::RecordingError;

/// An error of the swapper.
#[derive(Debug, thiserror::Error)]
pub enum SwapperError {
    #[error("{message}\nhint: {hint}")]
    Input { message: String, hint: String },
    #[error("{0}\nhint: check that the recording's directory can be written and has room")]
    Recording(#[from] RecordingError),
    #[error("{what}: {source}\nhint: {hint}")]
    System {
        what: String,
        source: std::io::Error,
        hint: &'static str,
    },
}

impl SwapperError {
    /// Wrong input: exit code 2.
    pub fn input(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Input {
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// An error of the operating system.
    pub fn system(what: impl Into<String>, source: std::io::Error, hint: &'static str) -> Self {
        Self::System {
            what: what.into(),
            source,
            hint,
        }
    }

    /// The exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Input { .. } => 2,
            _ => 1,
        }
    }
}
