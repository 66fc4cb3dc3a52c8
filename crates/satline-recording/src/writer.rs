//! The writer that sources use.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use satline_program::Error;
use serde::Serialize;

use crate::catalogue::catalogue;
use crate::description::{no_toml, toml_text, write_toml_at_end};
use crate::durable::make_directory;
use crate::names::{is_writer_name, next_run};
use crate::pseudonym::Pseudonymiser;
use crate::reserve;
use crate::rows::{ColumnId, Rows, TableId};
use crate::segment::SegmentSeries;
use crate::worker::Worker;

/// How often a writer writes.
#[derive(Debug, Clone)]
pub struct WriterOptions {
    /// Rows wait at most this long before they are written.
    pub flush_interval: Duration,
    /// What is written is made durable at most this often.
    pub sync_interval: Duration,
    /// A segment is closed when it reaches this length.
    pub segment_bytes: u64,
}

impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions {
            flush_interval: Duration::from_secs(1),
            sync_interval: Duration::from_secs(1),
            segment_bytes: 8 << 20,
        }
    }
}

/// Writes the rows of one run of one writer into a recording.
///
/// Rows are cheap to make: nothing is encoded or written on the caller's thread. An error of the disk shows at the next
/// [`flush_due`](Self::flush_due), [`flush`](Self::flush) or [`finish`](Self::finish); nothing is written after it, and
/// what was written before it stays valid.
pub struct RecordingWriter {
    directory: PathBuf,
    /// Held as long as the writer lives; the kernel gives it up after a kill.
    _lock: File,
    prefix: String,
    run: i64,
    options: WriterOptions,
    tables: Vec<Rows>,
    names: Option<Pseudonymiser>,
    worker: Worker,
    last_flush_ns: Option<i64>,
    finished: bool,
}

impl RecordingWriter {
    /// Opens the recording `dir` for the writer named `writer` (`monitor`, `terminal`, …) and begins its next run.
    ///
    /// Makes the directory tree and the reserves where they are missing; `recording.toml` is the creator's affair.
    ///
    /// # Errors
    /// The name is none, another such writer is at work, or the disk gives an error.
    pub fn open(dir: &Path, writer: &str, options: WriterOptions) -> Result<Self, Error> {
        if !is_writer_name(writer) {
            return Err(Error::failure(
                format!(
                    "writer name {writer:?} must be lower-case letters, digits, '_' and '-', beginning with a letter"
                ),
                MISTAKE,
            ));
        }
        for part in ["sources", "segments", "tables"] {
            let path = dir.join(part);
            make_directory(&path).map_err(|e| Error::file(&path, "create it", &e))?;
        }
        let lock = lock_writer(dir, writer)?;
        reserve::make(dir, writer)?;
        let run = next_run(dir, writer)?;
        let worker = Worker::start(options.sync_interval)
            .map_err(|e| Error::file(dir, "start the writing thread", &e))?;
        Ok(RecordingWriter {
            directory: dir.to_owned(),
            _lock: lock,
            prefix: format!("{writer}-{run}"),
            run,
            options,
            tables: Vec::new(),
            names: None,
            worker,
            last_flush_ns: None,
            finished: false,
        })
    }

    /// Has names replaced in all that is written from here on, before any table is opened.
    ///
    /// # Panics
    /// If a table is open already.
    pub fn without_names(&mut self, names: Pseudonymiser) {
        assert!(
            self.tables.is_empty(),
            "names are replaced in all tables or in none"
        );
        if let Ok((path, file)) = names.file() {
            self.worker.beside(path, file);
        }
        self.names = Some(names);
    }

    /// Number of this run within the recording, from 1.
    pub fn run(&self) -> i64 {
        self.run
    }

    /// The recording's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The table of this name; the same name gives the same table.
    ///
    /// # Errors
    /// It is not in the catalogue.
    pub fn table(&mut self, name: &str) -> Result<TableId, Error> {
        if let Some(known) = self.tables.iter().position(|t| t.definition.name == name) {
            return Ok(TableId(known as u16));
        }
        let definition = catalogue().table(name).ok_or_else(|| {
            Error::failure(
                format!("table {name:?} is not in the catalogue (catalogue/variables.toml)"),
                MISTAKE,
            )
        })?;
        let mut rows = Rows::new(definition);
        if let Some(names) = &self.names {
            rows.without_names(names);
        }
        let directory = self.directory.join("segments").join(name);
        self.worker.add_table(SegmentSeries::new(
            directory,
            self.prefix.clone(),
            rows.schema.clone(),
            self.options.segment_bytes,
        ));
        self.tables.push(rows);
        Ok(TableId((self.tables.len() - 1) as u16))
    }

    /// A column of a table.
    ///
    /// # Errors
    /// It is not in the catalogue.
    pub fn column(&self, table: TableId, name: &str) -> Result<ColumnId, Error> {
        let definition = self.tables[usize::from(table.0)].definition;
        let place = definition.position(name).ok_or_else(|| {
            Error::failure(
                format!(
                    "column {name:?} of table {:?} is not in the catalogue (catalogue/variables.toml)",
                    definition.name
                ),
                MISTAKE,
            )
        })?;
        Ok(ColumnId {
            table: table.0,
            column: place as u16,
        })
    }

    /// Begins a row; a column that is not set before [`end_row`](Self::end_row) is null.
    pub fn begin_row(&mut self, table: TableId, time_ns: i64, monotonic_ns: i64) {
        self.tables[usize::from(table.0)].begin(time_ns, monotonic_ns, self.run);
    }

    /// Sets an integer (a float column takes it as a float).
    ///
    /// # Panics
    /// If it is a text column.
    pub fn set(&mut self, column: ColumnId, value: i64) {
        self.tables[usize::from(column.table)].set_int(column.column, value);
    }

    /// Sets an integer, or null where there is none.
    ///
    /// # Panics
    /// If it is a text column and there is a value.
    pub fn set_option(&mut self, column: ColumnId, value: Option<i64>) {
        match value {
            Some(value) => self.set(column, value),
            None => self.tables[usize::from(column.table)].set_null(column.column),
        }
    }

    /// Sets integers one after another; further columns are null.
    ///
    /// # Panics
    /// As [`set_option`](Self::set_option).
    pub fn set_all(&mut self, columns: &[ColumnId], values: &[Option<i64>]) {
        for (column, value) in columns.iter().zip(values) {
            self.set_option(*column, *value);
        }
    }

    /// Sets a float.
    ///
    /// # Panics
    /// If it is not a float column.
    pub fn set_float(&mut self, column: ColumnId, value: f64) {
        self.tables[usize::from(column.table)].set_float(column.column, value);
    }

    /// Sets a text.
    ///
    /// # Panics
    /// If it is not a text column.
    pub fn set_text(&mut self, column: ColumnId, value: &str) {
        self.tables[usize::from(column.table)].set_text(column.column, value);
    }

    /// Ends the row that [`begin_row`](Self::begin_row) began.
    pub fn end_row(&mut self, table: TableId) {
        let index = usize::from(table.0);
        if self.tables[index].day_changes() {
            self.send(index);
        }
        self.tables[index].end(self.names.as_mut());
    }

    /// Sends the rows that wait to the disk if the flush interval has passed since the last time; does not wait for it.
    ///
    /// The first call only sets the beginning.
    ///
    /// # Errors
    /// The first error that the disk gave, now or before; it comes again at every later call.
    pub fn flush_due(&mut self, monotonic_ns: i64) -> Result<(), Error> {
        let last = *self.last_flush_ns.get_or_insert(monotonic_ns);
        // A tenth earlier counts as due: else samples taken every second with a little jitter would be written every two.
        let due = self.options.flush_interval.as_nanos() as i64 / 10 * 9;
        if monotonic_ns.saturating_sub(last) >= due {
            self.last_flush_ns = Some(monotonic_ns);
            self.send_all();
        }
        self.failure()
    }

    /// Begins to write the rows that wait, and waits for nothing.
    ///
    /// # Errors
    /// As [`flush_due`](Self::flush_due).
    pub fn flush_soon(&mut self) -> Result<(), Error> {
        self.send_all();
        self.failure()
    }

    /// Writes the rows that wait, now, and waits until the kernel has them (not until they are durable).
    ///
    /// # Errors
    /// As [`flush_due`](Self::flush_due).
    pub fn flush(&mut self) -> Result<(), Error> {
        self.send_all();
        self.worker.wait(false);
        self.failure()
    }

    /// Replaces a file of the recording atomically with `value` as TOML; does not wait for the disk.
    ///
    /// # Errors
    /// The value cannot be written as TOML; else as [`flush_due`](Self::flush_due).
    pub fn replace_toml<T: Serialize + ?Sized>(&mut self, path: &Path, value: &T) -> Result<(), Error> {
        let text = match self.said(path, value)? {
            Some(table) => toml_text(path, &table)?,
            None => toml_text(path, value)?,
        };
        self.worker.replace(path.to_owned(), text);
        self.failure()
    }

    /// As [`write_toml_at_end`](crate::write_toml_at_end), without names where they are replaced.
    ///
    /// # Errors
    /// As there.
    pub fn write_toml_at_end<T: Serialize + ?Sized>(&mut self, path: &Path, value: &T) -> Result<(), Error> {
        match self.said(path, value)? {
            Some(table) => write_toml_at_end(path, &table),
            None => write_toml_at_end(path, value),
        }
    }

    /// What a source says, without names; none where they are written.
    fn said<T: Serialize + ?Sized>(&mut self, path: &Path, value: &T) -> Result<Option<toml::Table>, Error> {
        let Some(names) = &mut self.names else {
            return Ok(None);
        };
        let table = toml::Table::try_from(value).map_err(|e| no_toml(path, &e))?;
        Ok(Some(names.source(table)))
    }

    fn failure(&self) -> Result<(), Error> {
        self.names.as_ref().map_or(Ok(()), Pseudonymiser::failure)?;
        self.worker.failure()
    }

    /// Bytes written to segments so far.
    pub fn bytes_written(&self) -> u64 {
        self.worker.bytes_written()
    }

    /// Writes the rows that wait, makes everything durable, and closes the segments. Later calls do nothing.
    ///
    /// # Errors
    /// As [`flush_due`](Self::flush_due); the segments are closed all the same.
    pub fn finish(&mut self) -> Result<(), Error> {
        if !self.finished {
            self.finished = true;
            self.send_all();
            self.worker.wait(true);
            self.worker.stop();
        }
        self.failure()
    }

    fn send_all(&mut self) {
        for index in 0..self.tables.len() {
            self.send(index);
        }
    }

    fn send(&mut self, index: usize) {
        match self.tables[index].take() {
            Ok(Some((day, batch))) => self.worker.append(index, day, batch),
            Ok(None) => {}
            Err(error) => unreachable!("builders follow the schema they were made from: {error}"),
        }
    }
}

impl Drop for RecordingWriter {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

/// The remedy where a program asks for what the format does not have.
pub(crate) const MISTAKE: &str = "this is a mistake of the program: report it";

pub(crate) fn writer_busy(path: &Path, writer: &str) -> Error {
    Error::failure(
        format!(
            "{}: another writer named {writer:?} is writing this recording",
            path.display()
        ),
        "wait for its end, or write another recording",
    )
}

/// Keeps a second writer of this name out: it would replace the first one's `sources/<writer>.toml`.
fn lock_writer(dir: &Path, writer: &str) -> Result<File, Error> {
    let path = dir.join("sources").join(format!(".{writer}.lock"));
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|e| Error::file(&path, "create it", &e))?;
    // SAFETY: flock takes a descriptor that `file` keeps open and touches no memory.
    let held = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    // Other errors mean a file system without locks; there the user must see to it.
    if held != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EWOULDBLOCK) {
        return Err(writer_busy(dir, writer));
    }
    Ok(file)
}
