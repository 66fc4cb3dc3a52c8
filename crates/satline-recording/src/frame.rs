//! Frames: `SATF`, length, CRC-32, payload; and a reader of whole segments.

use std::fs;
use std::io::Read;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, SchemaRef};
use satline_program::Error;

const MAGIC: [u8; 4] = *b"SATF";
/// Bytes before a frame's payload.
pub(crate) const HEADER_BYTES: usize = 12;

/// Fills in the header of a frame whose payload lies in `frame` after `HEADER_BYTES` bytes of room.
///
/// # Panics
/// If the payload is 4 GiB or longer.
pub(crate) fn seal(frame: &mut [u8]) {
    let (header, payload) = frame.split_at_mut(HEADER_BYTES);
    let length = u32::try_from(payload.len()).expect("a batch is shorter than 4 GiB");
    header[..4].copy_from_slice(&MAGIC);
    header[4..8].copy_from_slice(&length.to_le_bytes());
    header[8..12].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
}

/// Where the whole frames of a segment end, if something follows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Bytes of whole frames before it.
    pub offset: u64,
    /// Bytes from there to the end of the file.
    pub length: u64,
    pub reason: &'static str,
}

/// What a segment holds.
#[derive(Debug)]
pub struct SegmentContents {
    /// None if the segment ends before its first whole frame.
    pub schema: Option<SchemaRef>,
    pub batches: Vec<RecordBatch>,
    pub damage: Option<Damage>,
}

impl SegmentContents {
    /// Rows in all batches.
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// Reads the whole frames of a segment up to the first that is damaged.
///
/// # Errors
/// The file cannot be read. Damage is no error: it is in the result.
pub fn read_segment(path: &Path) -> Result<SegmentContents, Error> {
    let bytes = fs::read(path).map_err(|e| Error::file(path, "read it", &e))?;
    Ok(decode(&bytes))
}

/// Decodes the bytes of a segment; see [`read_segment`].
fn decode(bytes: &[u8]) -> SegmentContents {
    let mut contents = SegmentContents {
        schema: None,
        batches: Vec::new(),
        damage: None,
    };
    let mut beginning: &[u8] = &[];
    let mut offset = 0;
    while offset < bytes.len() {
        let step = next_payload(&bytes[offset..]).and_then(|payload| {
            let (schema, batches) = decode_payload(beginning, payload).map_err(|_| "not Arrow data")?;
            if contents.schema.is_none() {
                contents.schema = Some(schema);
                beginning = payload;
            }
            contents.batches.extend(batches);
            Ok(payload.len() + HEADER_BYTES)
        });
        match step {
            Ok(length) => offset += length,
            Err(reason) => {
                let length = (bytes.len() - offset) as u64;
                contents.damage = Some(Damage {
                    offset: offset as u64,
                    length,
                    reason,
                });
                break;
            }
        }
    }
    contents
}

/// The payload of the frame at the beginning of `bytes`.
fn next_payload(bytes: &[u8]) -> Result<&[u8], &'static str> {
    let (header, rest) = bytes.split_at_checked(HEADER_BYTES).ok_or("short header")?;
    let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if header[..4] != MAGIC {
        return Err("not the beginning of a frame");
    }
    let payload = rest.get(..word(4) as usize).ok_or("short frame")?;
    if crc32fast::hash(payload) == word(8) {
        Ok(payload)
    } else {
        Err("wrong checksum")
    }
}

/// Batches of one payload of the stream that begins with the payload `beginning`, the schema's (empty: this is it).
fn decode_payload(beginning: &[u8], payload: &[u8]) -> Result<(SchemaRef, Vec<RecordBatch>), ArrowError> {
    let reader = StreamReader::try_new(beginning.chain(payload), None)?;
    Ok((reader.schema(), reader.collect::<Result<_, _>>()?))
}
