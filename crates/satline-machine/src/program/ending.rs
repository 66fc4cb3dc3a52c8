//! How the program ends, and with what exit code.

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
