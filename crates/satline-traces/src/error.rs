//! Errors that a user can act on.

use std::fmt;
use std::io;
use std::path::Path;

/// What is wrong and where, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceError {
    /// What is wrong, naming the file and the place in it.
    pub message: String,
    /// The remedy, one sentence.
    pub hint: String,
    /// 2: the input was wrong; 1: something else failed.
    pub exit_code: u8,
}

impl TraceError {
    /// Wrong input.
    pub fn input(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
            exit_code: 2,
        }
    }

    /// A file that cannot be read or written.
    pub fn io(path: &Path, error: &io::Error) -> Self {
        let missing = error.kind() == io::ErrorKind::NotFound;
        Self {
            message: format!("{}: {error}", path.display()),
            hint: String::from("see the path, permissions and free space"),
            exit_code: if missing { 2 } else { 1 },
        }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TraceError {}

pub type Result<T> = std::result::Result<T, TraceError>;

/// One line that a terminal shows and does not obey: control characters and those that turn the direction of writing
/// become escapes.
pub fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        let turns =
            matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
        if character.is_control() || turns {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}
