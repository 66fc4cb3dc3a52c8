//! What can go wrong with a recording.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An error of the recording; it names the file or the place in the catalogue.
///
/// After `Io`, `DiskFull` and `Encode` of a writer that writer writes no more; what it had written before stays valid.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RecordingError {
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        path: PathBuf,
        action: &'static str,
        source: Arc<io::Error>,
    },
    #[error("{}: no space left: the recording ends here", path.display())]
    DiskFull { path: PathBuf },
    #[error("{}: cannot encode rows: {source}", path.display())]
    Encode {
        path: PathBuf,
        source: Arc<arrow_schema::ArrowError>,
    },
    #[error("table {table:?} is not in the catalogue (catalogue/variables.toml)")]
    UnknownTable { table: String },
    #[error("column {column:?} of table {table:?} is not in the catalogue (catalogue/variables.toml)")]
    UnknownColumn { table: String, column: String },
    #[error("writer name {name:?} must be lower-case letters, digits, '_' and '-', beginning with a letter")]
    WriterName { name: String },
    #[error("{}: another writer named {writer:?} is writing this recording", path.display())]
    WriterBusy { path: PathBuf, writer: String },
    #[error("{}: not a segment of format 1: {reason}", path.display())]
    NotASegment { path: PathBuf, reason: String },
    #[error("{}: {reason}", path.display())]
    Key { path: PathBuf, reason: String },
    #[error("{}: {reason}", path.display())]
    Toml { path: PathBuf, reason: String },
}

impl RecordingError {
    /// Wraps an error of the operating system; lack of space (or quota) becomes `DiskFull`.
    pub(crate) fn io(path: &Path, action: &'static str, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => RecordingError::DiskFull { path },
            _ => RecordingError::Io {
                path,
                action,
                source: Arc::new(source),
            },
        }
    }

    /// Whether the cause is lack of space (or quota).
    pub fn is_disk_full(&self) -> bool {
        matches!(self, RecordingError::DiskFull { .. })
    }
}

/// A text that may quote files or other programs, with control characters made visible as U+FFFD, so that nothing of it acts
/// on a terminal. Line ends stay.
pub fn harmless(text: &str) -> String {
    let made_visible = |c: char| {
        if c.is_control() && c != '\n' {
            '\u{fffd}'
        } else {
            c
        }
    };
    text.chars().map(made_visible).collect()
}
