//! The recording, format 1: the catalogue of variables, the segment format, the crash-safe writer.
//!
//! docs/reference/recording.md describes the format. A source opens a [`RecordingWriter`], asks once for its tables and
//! columns, and then writes rows; rows gather in batches and every batch becomes one checksummed frame of a segment. The
//! catalogue decides what a recording can hold: a column that it does not name cannot be written.

mod catalogue;
mod description;
mod durable;
mod frame;
mod host;
mod key;
mod ledger;
mod names;
mod pseudonym;
mod reserve;
mod rows;
mod segment;
mod table;
mod worker;
mod writer;

pub use catalogue::{Catalogue, ColumnDefinition, ColumnType, Kind, TableDefinition, catalogue};
pub use description::{
    Annotation, Pseudonyms, RecordingDescription, RecordingHead, SimulationText, StudyText, SystemUnderTest,
    create_if_absent, end_recording, random_id, reopen_recording, utc_datetime, write_toml_at_end,
    write_toml_atomically,
};
pub use frame::{Damage, SegmentContents, read_segment};
pub use host::HostFacts;
pub use key::Key;
pub use pseudonym::Pseudonymiser;
pub use rows::{ColumnId, TableId};
pub use table::{EventRow, Row, Table, Value};
pub use writer::{RecordingWriter, WriterOptions};

/// The version of the format that this crate writes.
pub const FORMAT_VERSION: i64 = 1;

/// The version of the checksums that a recording's files carry: `checksums` of recording.toml.
pub const CHECKSUMS: i64 = 1;
