//! Whatever happens to the bytes of a segment, a reader returns exactly the whole frames before the damage.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use satline_recording::{RecordingWriter, SegmentContents, WriterOptions, read_segment};

/// A segment whose batches have these numbers of rows, and the offset at which each frame ends (the schema's first).
fn make(dir: &tempfile::TempDir, batches: &[usize]) -> (PathBuf, Vec<u64>) {
    let mut writer = RecordingWriter::open(dir.path(), "monitor", WriterOptions::default()).unwrap();
    let event = writer.table("event").unwrap();
    let [text, users] = ["text", "users"].map(|c| writer.column(event, c).unwrap());
    let mut ends = Vec::new();
    for (number, rows) in batches.iter().enumerate() {
        for row in 0..*rows {
            writer.begin_row(event, row as i64, number as i64);
            writer.set_text(text, &"x".repeat(row % 7));
            writer.set_option(users, (row % 3 > 0).then_some(row as i64 * 7_919));
            writer.end_row(event);
        }
        writer.flush().unwrap();
        ends.push(writer.bytes_written());
    }
    writer.finish().unwrap();
    let path = dir.path().join("segments/event/monitor-1-0.seg");
    let bytes = fs::read(&path).unwrap();
    let schema_end = 12 + u64::from(u32::from_le_bytes(bytes[4..8].try_into().unwrap()));
    ends.insert(0, schema_end);
    (path, ends)
}

/// Holds the contents against the frames that end at or before `damaged_from`.
fn assert_whole_frames(
    contents: &SegmentContents,
    intact: &SegmentContents,
    ends: &[u64],
    damaged_from: u64,
) {
    let whole = ends.iter().filter(|end| **end <= damaged_from).count();
    assert_eq!(contents.schema.is_some(), whole > 0);
    assert_eq!(contents.batches, intact.batches[..whole.saturating_sub(1)]);
    let offset = contents.damage.as_ref().map(|d| d.offset);
    assert_eq!(offset, Some(if whole == 0 { 0 } else { ends[whole - 1] }));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn a_cut_at_any_byte(batches in prop::collection::vec(1usize..40, 1..6), place in 0.0f64..1.0) {
        let dir = tempfile::tempdir().unwrap();
        let (path, ends) = make(&dir, &batches);
        let intact = read_segment(&path).unwrap();
        prop_assert_eq!(intact.rows(), batches.iter().sum::<usize>());
        prop_assert!(intact.damage.is_none());
        let bytes = fs::read(&path).unwrap();
        let length = (bytes.len() as f64 * place) as usize;
        fs::write(&path, &bytes[..length]).unwrap();
        let contents = read_segment(&path).unwrap();
        if length == 0 || ends.contains(&(length as u64)) {
            prop_assert!(contents.damage.is_none());
        } else {
            assert_whole_frames(&contents, &intact, &ends, length as u64);
            prop_assert_eq!(contents.damage.map(|d| d.offset + d.length), Some(length as u64));
        }
    }

    #[test]
    fn a_flipped_bit_anywhere(
        batches in prop::collection::vec(1usize..40, 1..6), place in 0.0f64..1.0, bit in 0u8..8
    ) {
        let dir = tempfile::tempdir().unwrap();
        let (path, ends) = make(&dir, &batches);
        let intact = read_segment(&path).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let at = (bytes.len() as f64 * place) as usize;
        bytes[at] ^= 1 << bit;
        fs::write(&path, &bytes).unwrap();
        assert_whole_frames(&read_segment(&path).unwrap(), &intact, &ends, at as u64);
    }

    #[test]
    fn bytes_that_are_no_segment(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.seg");
        fs::write(&path, &bytes).unwrap();
        let contents = read_segment(&path).unwrap();
        prop_assert_eq!(contents.rows(), 0);
        prop_assert_eq!(contents.damage.is_some(), !bytes.is_empty());
    }
}

#[test]
fn every_cut_of_a_short_segment() {
    let dir = tempfile::tempdir().unwrap();
    let (path, ends) = make(&dir, &[1, 20]);
    let intact = read_segment(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    for length in 1..bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        let contents = read_segment(&path).unwrap();
        if ends.contains(&(length as u64)) {
            assert_eq!(contents.damage, None);
        } else {
            assert_whole_frames(&contents, &intact, &ends, length as u64);
        }
    }
}

#[test]
fn a_frame_with_a_right_checksum_that_is_not_arrow_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let (path, ends) = make(&dir, &[2]);
    let mut bytes = fs::read(&path).unwrap();
    let payload = [0xffu8; 24];
    bytes.extend(b"SATF");
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend(crc32fast::hash(&payload).to_le_bytes());
    bytes.extend(payload);
    fs::write(&path, &bytes).unwrap();
    let contents = read_segment(&path).unwrap();
    assert_eq!(contents.rows(), 2);
    assert_eq!(contents.damage.unwrap().offset, ends[1]);
}
