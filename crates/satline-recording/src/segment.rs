//! The segments of one table: frames appended to one file at a time.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_ipc::{CompressionType, MetadataVersion};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use satline_program::Error;

use crate::durable::{make_directory, sync_directory};
use crate::frame::{HEADER_BYTES, seal};
use crate::ledger::Ledger;
use crate::writer::{MISTAKE, writer_busy};

/// Batches with fewer rows than this are stored uncompressed: zstd would make each of their buffers longer.
const COMPRESS_FROM_ROWS: usize = 16;

/// The segments of one table, one writer and one run, in sequence.
pub(crate) struct SegmentSeries {
    directory: PathBuf,
    prefix: String,
    schema: SchemaRef,
    segment_bytes: u64,
    sequence: u64,
    open: Option<OpenSegment>,
    ledger: Ledger,
    table: String,
}

struct OpenSegment {
    path: PathBuf,
    file: File,
    day: i64,
    length: u64,
    rows: u64,
    checksum: crc32fast::Hasher,
    unsynced: bool,
    encoder: Encoder,
}

impl SegmentSeries {
    /// `prefix` is `<writer>-<run>`; no file is made before the first batch.
    pub fn new(directory: PathBuf, prefix: String, schema: SchemaRef, segment_bytes: u64) -> Self {
        let table = directory.file_name().unwrap_or_default();
        SegmentSeries {
            ledger: Ledger::new(directory.parent().unwrap_or(&directory), &prefix),
            table: table.to_string_lossy().into_owned(),
            directory,
            prefix,
            schema,
            segment_bytes,
            sequence: 0,
            open: None,
        }
    }

    /// Appends one batch of one UTC day as a frame; returns the bytes written.
    ///
    /// If the write fails the segment is cut back to its last whole frame.
    pub fn append(&mut self, day: i64, batch: &RecordBatch) -> Result<u64, Error> {
        if self
            .open
            .as_ref()
            .is_some_and(|s| s.day != day || s.length >= self.segment_bytes)
        {
            self.close()?;
        }
        let mut written = 0;
        if self.open.is_none() {
            let segment =
                OpenSegment::create(&self.directory, &self.prefix, self.sequence, day, &self.schema)?;
            written += segment.length;
            self.open = Some(segment);
            self.sequence += 1;
            self.ledger.opened(&self.table, self.sequence - 1)?;
        }
        if let Some(segment) = &mut self.open {
            written += segment.append(batch)?;
        }
        Ok(written)
    }

    /// Makes what was written durable.
    pub fn sync(&mut self) -> Result<(), Error> {
        match &mut self.open {
            Some(segment) => segment.sync(),
            None => Ok(()),
        }
    }

    /// Closes the segment that is open; the ledger says then what it holds.
    pub fn close(&mut self) -> Result<(), Error> {
        self.sync()?;
        if let Some(segment) = self.open.take() {
            let checksum = segment.checksum.finalize();
            let sequence = self.sequence - 1;
            self.ledger
                .closed(&self.table, sequence, segment.length, checksum, segment.rows)?;
        }
        Ok(())
    }
}

impl OpenSegment {
    fn create(
        directory: &Path,
        prefix: &str,
        sequence: u64,
        day: i64,
        schema: &SchemaRef,
    ) -> Result<Self, Error> {
        make_directory(directory).map_err(|e| Error::file(directory, "create it", &e))?;
        let path = directory.join(format!("{prefix}-{sequence}.seg"));
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&path)
            .map_err(|e| match e.kind() {
                std::io::ErrorKind::AlreadyExists => {
                    let writer = prefix.rsplit_once('-').map_or(prefix, |(writer, _)| writer);
                    writer_busy(&path, writer)
                }
                _ => Error::file(&path, "create it", &e),
            })?;
        // The lock tells compaction that this segment still grows. Where the file system has no locks nothing is lost:
        // the last segment of a recording that has not ended is left alone anyway.
        // SAFETY: flock takes a descriptor that `file` keeps open and touches no memory.
        unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
        let encoder = Encoder::new(schema).map_err(|e| encode_error(&path, e))?;
        let mut segment = OpenSegment {
            path,
            file,
            day,
            length: 0,
            rows: 0,
            checksum: crc32fast::Hasher::new(),
            unsynced: true,
            encoder,
        };
        let frame = segment.encoder.schema_frame();
        if let Err(error) = segment.write(&frame) {
            // Without its schema the file says nothing.
            let _ = fs::remove_file(&segment.path);
            return Err(error);
        }
        // The name must survive a power cut as well as the bytes.
        sync_directory(directory).map_err(|e| Error::file(&segment.path, "make it durable", &e))?;
        Ok(segment)
    }

    fn append(&mut self, batch: &RecordBatch) -> Result<u64, Error> {
        let frame = self
            .encoder
            .batch_frame(batch)
            .map_err(|e| encode_error(&self.path, e))?;
        self.write(&frame)?;
        self.rows += batch.num_rows() as u64;
        Ok(frame.len() as u64)
    }

    fn write(&mut self, frame: &[u8]) -> Result<(), Error> {
        if let Err(error) = self.file.write_all(frame) {
            let error = Error::file(&self.path, "write to it", &error);
            self.file
                .set_len(self.length)
                .map_err(|e| Error::file(&self.path, "cut it back", &e))?;
            return Err(error);
        }
        self.length += frame.len() as u64;
        self.checksum.update(frame);
        self.unsynced = true;
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Error> {
        if self.unsynced {
            self.file
                .sync_data()
                .map_err(|e| Error::file(&self.path, "make it durable", &e))?;
            self.unsynced = false;
        }
        Ok(())
    }
}

fn encode_error(path: &Path, source: ArrowError) -> Error {
    Error::failure(
        format!("{}: cannot encode rows: {source}", path.display()),
        MISTAKE,
    )
}

/// Makes the frames of one segment: one Arrow stream whose batches are compressed where that pays.
struct Encoder {
    plain: StreamWriter<Vec<u8>>,
    zstd: StreamWriter<Vec<u8>>,
}

impl Encoder {
    fn new(schema: &Schema) -> Result<Self, ArrowError> {
        let options = || IpcWriteOptions::try_new(8, false, MetadataVersion::V5);
        let compressed = options()?
            .try_with_compression(Some(CompressionType::ZSTD))?
            .try_with_compression_level(Some(1))?;
        let room = || vec![0; HEADER_BYTES];
        let plain = StreamWriter::try_new_with_options(room(), schema, options()?)?;
        let mut zstd = StreamWriter::try_new_with_options(Vec::new(), schema, compressed)?;
        // Both began their stream with the same schema message; it is written once.
        *zstd.get_mut() = room();
        Ok(Encoder { plain, zstd })
    }

    fn schema_frame(&mut self) -> Vec<u8> {
        sealed(&mut self.plain)
    }

    fn batch_frame(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        let stream = if batch.num_rows() < COMPRESS_FROM_ROWS {
            &mut self.plain
        } else {
            &mut self.zstd
        };
        stream.write(batch)?;
        Ok(sealed(stream))
    }
}

/// Takes what a stream has written as a frame and leaves room for the next header.
fn sealed(stream: &mut StreamWriter<Vec<u8>>) -> Vec<u8> {
    let mut frame = std::mem::replace(stream.get_mut(), vec![0; HEADER_BYTES]);
    seal(&mut frame);
    frame
}
