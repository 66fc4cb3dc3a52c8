//! The compact form of a trace of page numbers.
//!
//! ```text
//! "SATLPAGE"
//! head        length u32, its crc32 u32, JSON: version, page_bytes, source, command, joined, note
//! block …     references u32 (not 0), plain length u32, packed length u32, crc32 u32 of these and the packed bytes; zstd
//! end         the same with 0 references; JSON: references, of the source before joining, lines, unread tail of it
//! ```
//! Numbers are little-endian. A block's plain bytes have one code per reference: the page's place among the 128 pages
//! referenced last (0 to 127, 0 the last one), or 128 and its number as a difference from the last one written so, zigzag,
//! 7 bits a byte. The places go on from block to block. So what a program does again and again is the same bytes again,
//! which zstd then packs: less than a bit per reference in loops.
//!
//! A file that was cut or damaged is read up to the last block that is whole, and the rest is told ([`Tail`]).

mod reader;
mod recent;
mod writer;

use serde::{Deserialize, Serialize};

pub use reader::{Ended, Opened, is_compact, open};
pub use writer::Writer;

const MAGIC: &[u8; 8] = b"SATLPAGE";
pub const VERSION: u32 = 1;
/// Codes that are places.
const PLACES: usize = 128;
const ESCAPE: u8 = PLACES as u8;
/// Plain bytes at which a block is full. One code has 11 at most.
const BLOCK_BYTES: usize = 1 << 18;
const LONGEST_CODE: usize = 11;
const LONGEST_HEAD: usize = 65_536;
const BLOCK_HEAD_BYTES: usize = 16;

/// What a trace is of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub version: u32,
    pub page_bytes: u64,
    /// The format that it was read from.
    pub source: String,
    /// The command whose references they are.
    #[serde(default)]
    pub command: Option<String>,
    /// Whether consecutive references to one page were joined.
    pub joined: bool,
    #[serde(default)]
    pub note: Option<String>,
}

/// Known when all is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    pub references: u64,
    /// References of the source, before consecutive ones were joined.
    pub source_references: u64,
    pub source_lines: u64,
    /// Bytes of the source's last line that could not be read.
    pub source_tail_bytes: u64,
}

/// What is missing at the end of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tail {
    /// Bytes after the last whole block.
    pub bytes: u64,
    pub what: String,
}
