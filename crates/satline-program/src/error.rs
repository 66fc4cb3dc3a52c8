//! Errors that a user can act on.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

/// What went wrong and where, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What is wrong, naming the file and the place in it.
    pub message: String,
    /// The remedy, one sentence, or empty.
    pub hint: String,
    pub cause: Cause,
}

/// What is to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A file, key, option or permission: the user can mend it.
    Input,
    /// Something outside failed.
    Failure,
    /// Lack of space (or quota): what was written before is whole.
    DiskFull,
}

impl Error {
    /// Wrong input.
    pub fn input(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
            cause: Cause::Input,
        }
    }

    /// Something outside failed while running.
    pub fn failure(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            cause: Cause::Failure,
            ..Self::input(message, hint)
        }
    }

    /// The system refused something; `source` is its reason.
    pub fn system(what: impl fmt::Display, source: &io::Error, hint: impl Into<String>) -> Self {
        Self::failure(format!("{what}: {source}"), hint)
    }

    /// A file of a recording to which an action cannot be done: lack of space (or quota) ends the recording.
    pub fn file(path: &Path, action: &str, source: &io::Error) -> Self {
        match source.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => Self {
                message: format!("{}: no space left: the recording ends here", path.display()),
                hint: "free some space; what was recorded until now is whole".into(),
                cause: Cause::DiskFull,
            },
            _ => Self::system(
                format_args!("{}: cannot {action}", path.display()),
                source,
                "check that the recording's directory can be written",
            ),
        }
    }

    /// A file that cannot be read or written: the user's mistake if it is not there.
    pub fn io(path: &Path, source: &io::Error) -> Self {
        let error = Self::system(path.display(), source, "see the path, permissions and free space");
        match source.kind() {
            io::ErrorKind::NotFound => Self {
                cause: Cause::Input,
                ..error
            },
            _ => error,
        }
    }

    /// Whether the cause is lack of space (or quota).
    pub fn is_disk_full(&self) -> bool {
        self.cause == Cause::DiskFull
    }

    /// The exit code of a program that it ends: 2 if the input was wrong, else 1.
    pub fn exit_code(&self) -> u8 {
        match self.cause {
            Cause::Input => 2,
            Cause::Failure | Cause::DiskFull => 1,
        }
    }

    /// The word for `end_reason` of a recording that it ends.
    pub fn end_reason(&self) -> &'static str {
        match self.cause {
            Cause::DiskFull => "disk-full",
            Cause::Input | Cause::Failure => "failed",
        }
    }

    /// Tells the user on standard error, which may be closed; `head` is what the program's errors begin with.
    pub fn tell(&self, head: &str) {
        // The text may quote files and what other programs printed.
        let _ = writeln!(io::stderr(), "{head}: {}", harmless(&self.with_hint()));
    }

    /// Message and remedy.
    pub fn with_hint(&self) -> String {
        match self.hint.as_str() {
            "" => self.message.clone(),
            hint => format!("{}\nhint: {hint}", self.message),
        }
    }
}

/// The message alone.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// A text that may quote files or other programs, with control characters and those that turn the direction of writing
/// made visible as U+FFFD, so that nothing of it acts on a terminal. Line ends stay.
pub fn harmless(text: &str) -> String {
    let acts = |c: char| {
        let turns = matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}');
        turns || (c.is_control() && c != '\n')
    };
    text.chars()
        .map(|c| if acts(c) { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_acts_on_a_terminal() {
        assert_eq!(
            harmless("a\u{1b}[31m\r\u{202e}b\nc é"),
            "a\u{fffd}[31m\u{fffd}\u{fffd}b\nc é"
        );
    }

    #[test]
    fn a_file_that_is_not_there_is_wrong_input() {
        let of = |kind: io::ErrorKind| Error::io(Path::new("f"), &kind.into()).exit_code();
        assert_eq!(
            (of(io::ErrorKind::NotFound), of(io::ErrorKind::PermissionDenied)),
            (2, 1)
        );
    }
}
