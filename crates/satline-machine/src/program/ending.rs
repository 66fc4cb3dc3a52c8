//! How the program ends, and with what exit code.

use std::fmt;

use satline_recording::RecordingError;

use crate::MachineError;

/// A run's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Complete,
    /// SIGINT.
    Interrupted,
    /// SIGTERM.
    Terminated,
}

impl Ending {
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Complete => 0,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// The recording's word for it.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Interrupted | Self::Terminated => "interrupted",
        }
    }
}

/// What ends the program early.
#[derive(Debug)]
pub enum ProgramError {
    Input(MachineError),
    Recording(RecordingError),
    /// What does not add up: a mistake of the program.
    Audit(Vec<String>),
}

impl ProgramError {
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Input(_) => 2,
            _ => 1,
        }
    }

    /// The remedy.
    pub fn hint(&self) -> &str {
        match self {
            Self::Input(error) => &error.hint,
            Self::Recording(error) if error.is_disk_full() => "free some space, or record elsewhere",
            Self::Recording(_) => "check that --record names a directory that can be written",
            Self::Audit(_) => "this is a mistake of the simulator: report it with the files and the command",
        }
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(error) => error.fmt(f),
            Self::Recording(error) => error.fmt(f),
            Self::Audit(failed) => write!(f, "the run does not add up: {}", failed.join("; ")),
        }
    }
}

impl std::error::Error for ProgramError {}

impl From<MachineError> for ProgramError {
    fn from(error: MachineError) -> Self {
        Self::Input(error)
    }
}

impl From<RecordingError> for ProgramError {
    fn from(error: RecordingError) -> Self {
        Self::Recording(error)
    }
}
