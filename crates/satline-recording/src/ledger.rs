//! The ledger of a writer's run: which segments it began, and what each was when it was closed.
//!
//! `segments/<writer>-<run>.ledger` begins with `recording <id> <checksum>` and has lines for each segment: `open <table> <sequence> <checksum>` once the segment is on disk,
//! `close <table> <sequence> <bytes> <CRC-32 of the file> <rows> <checksum>` once it is whole and durable. The checksum is the
//! CRC-32 of the line before it. A segment that is missing, or shorter than it was, shows by it.

use std::fmt::Arguments;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use satline_program::Error;

use crate::description::recording_id;
use crate::durable::sync_directory;

/// Opened by its first line, so that a writer that wrote no segment leaves none.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    path: PathBuf,
}

impl Ledger {
    /// That of the run whose files begin with `prefix`, in the directory `segments`.
    pub fn new(segments: &Path, prefix: &str) -> Self {
        Ledger {
            path: segments.join(format!("{prefix}.ledger")),
        }
    }

    /// A segment of this table was begun and has its first frame.
    pub fn opened(&self, table: &str, sequence: u64) -> Result<(), Error> {
        self.line(format_args!("open {table} {sequence}"))
    }

    /// It is whole and durable.
    pub fn closed(
        &self,
        table: &str,
        sequence: u64,
        bytes: u64,
        checksum: u32,
        rows: u64,
    ) -> Result<(), Error> {
        self.line(format_args!(
            "close {table} {sequence} {bytes} {checksum:08x} {rows}"
        ))
    }

    /// Adds a line, durable: of two that are not, a loss of power may keep the later only.
    fn line(&self, words: Arguments<'_>) -> Result<(), Error> {
        let words = format!("{words} ");
        let sealed = |words: &str| format!("{words}{:08x}\n", crc32fast::hash(words.as_bytes()));
        let mut lines = sealed(&words);
        let mut write = || {
            let mut file: File = OpenOptions::new().create(true).append(true).open(&self.path)?;
            let length = file.metadata()?.len();
            if length == 0 {
                let recording = self.path.parent().and_then(Path::parent).unwrap_or(Path::new(""));
                lines.insert_str(0, &sealed(&format!("recording {} ", recording_id(recording))));
            }
            if let Err(error) = file.write_all(lines.as_bytes()) {
                // A line that comes after it is to stand alone.
                file.set_len(length)?;
                return Err(error);
            }
            file.sync_data()?;
            if length == 0 {
                sync_directory(self.path.parent().unwrap_or(Path::new("")))
            } else {
                Ok(())
            }
        };
        write().map_err(|e| Error::file(&self.path, "write to it", &e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_ends_with_the_checksum_of_what_stands_before() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(dir.path(), "monitor-1");
        ledger.opened("user", 0).unwrap();
        ledger.closed("user", 0, 4711, 0xbeef, 12).unwrap();
        let text = std::fs::read_to_string(dir.path().join("monitor-1.ledger")).unwrap();
        let lines: Vec<_> = text.lines().map(|line| line.split_at(line.len() - 8)).collect();
        assert_eq!(
            lines.iter().map(|(words, _)| *words).collect::<Vec<_>>(),
            ["recording - ", "open user 0 ", "close user 0 4711 0000beef 12 "]
        );
        for (words, checksum) in lines {
            assert_eq!(format!("{:08x}", crc32fast::hash(words.as_bytes())), checksum);
        }
    }
}
