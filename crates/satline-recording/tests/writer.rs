//! What a writer puts on disk, a reader finds.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use satline_recording::{RecordingWriter, WriterOptions, catalogue, read_segment};

const DAY_NS: i64 = 86_400_000_000_000;

fn options() -> WriterOptions {
    WriterOptions::default()
}

fn segment(dir: &Path, table: &str, name: &str) -> PathBuf {
    dir.join("segments").join(table).join(name)
}

fn integers(batch: &RecordBatch, column: &str) -> Vec<Option<i64>> {
    batch
        .column_by_name(column)
        .unwrap()
        .as_primitive::<Int64Type>()
        .iter()
        .collect()
}

fn events(dir: &Path, options: WriterOptions, rows: &[(i64, i64)]) -> i64 {
    let mut writer = RecordingWriter::open(dir, "monitor", options).unwrap();
    let event = writer.table("event").unwrap();
    let users = writer.column(event, "users").unwrap();
    for &(time_ns, value) in rows {
        writer.begin_row(event, time_ns, time_ns);
        writer.set(users, value);
        writer.end_row(event);
        writer.flush().unwrap();
    }
    writer.finish().unwrap();
    writer.run()
}

#[test]
fn rows_come_back_with_every_type_and_nulls() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = RecordingWriter::open(dir.path(), "monitor", options()).unwrap();
    assert_eq!(writer.directory(), dir.path());
    let event = writer.table("event").unwrap();
    assert_eq!(writer.table("event").unwrap(), event);
    let [source, step, value, text] =
        ["source", "step", "value", "text"].map(|c| writer.column(event, c).unwrap());
    writer.begin_row(event, 7, 8);
    writer.set_text(source, "old");
    writer.set_text(source, "<b>\u{1b}[2J");
    writer.set_option(step, Some(i64::MIN));
    writer.set_float(value, 0.5);
    writer.end_row(event);
    writer.begin_row(event, 9, 10);
    writer.set(step, 3);
    writer.set_option(step, None);
    writer.set(value, 2);
    writer.set_text(text, "");
    writer.end_row(event);
    writer.flush().unwrap();

    let contents = read_segment(&segment(dir.path(), "event", "monitor-1-0.seg")).unwrap();
    assert_eq!(contents.damage, None);
    assert_eq!(contents.rows(), 2);
    let schema = contents.schema.unwrap();
    assert_eq!(schema.metadata()["satline.table"], "event");
    assert_eq!(schema.metadata()["satline.format"], "1");
    let batch = &contents.batches[0];
    assert_eq!(integers(batch, "time_ns"), [Some(7), Some(9)]);
    assert_eq!(integers(batch, "monotonic_ns"), [Some(8), Some(10)]);
    assert_eq!(integers(batch, "run"), [Some(1), Some(1)]);
    assert_eq!(integers(batch, "step"), [Some(i64::MIN), None]);
    assert_eq!(integers(batch, "users"), [None, None]);
    let values = batch
        .column_by_name("value")
        .unwrap()
        .as_primitive::<Float64Type>();
    assert_eq!(values.values(), &[0.5, 2.0]);
    let strings = |column| batch.column_by_name(column).unwrap().as_string::<i32>();
    assert_eq!(
        (strings("source").value(0), strings("source").is_null(1)),
        ("<b>\u{1b}[2J", true)
    );
    assert_eq!((strings("text").is_null(0), strings("text").value(1)), (true, ""));
    drop(writer);
}

#[test]
fn many_rows_are_compressed_and_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = RecordingWriter::open(dir.path(), "monitor", options()).unwrap();
    let user = writer.table("user").unwrap();
    let [name, cpu] = ["user", "cpu_us"].map(|c| writer.column(user, c).unwrap());
    for i in 0..1000 {
        writer.begin_row(user, i, i);
        writer.set_text(name, &format!("user-{}", i % 50));
        writer.set(cpu, i * i);
        writer.end_row(user);
    }
    writer.finish().unwrap();
    let path = segment(dir.path(), "user", "monitor-1-0.seg");
    assert_eq!(writer.bytes_written(), fs::metadata(&path).unwrap().len());
    let columns = catalogue().table("user").unwrap().columns.len() as u64;
    assert!(
        writer.bytes_written() < 1000 * columns * 8 / 3,
        "{} bytes",
        writer.bytes_written()
    );
    let contents = read_segment(&path).unwrap();
    assert_eq!(
        integers(&contents.batches[0], "cpu_us"),
        (0..1000).map(|i| Some(i * i)).collect::<Vec<_>>()
    );
}

#[test]
fn each_run_has_its_number() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(events(dir.path(), options(), &[(0, 1)]), 1);
    assert_eq!(events(dir.path(), options(), &[(0, 2)]), 2);
    let contents = read_segment(&segment(dir.path(), "event", "monitor-2-0.seg")).unwrap();
    assert_eq!(integers(&contents.batches[0], "run"), [Some(2)]);
    let writer = RecordingWriter::open(dir.path(), "terminal", options()).unwrap();
    assert_eq!(writer.run(), 1);
}

#[test]
fn midnight_begins_a_segment_within_a_batch_and_after_a_clock_step_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = RecordingWriter::open(dir.path(), "monitor", options()).unwrap();
    let event = writer.table("event").unwrap();
    for time_ns in [DAY_NS - 2, DAY_NS - 1, DAY_NS, DAY_NS - 1, -1] {
        writer.begin_row(event, time_ns, 0);
        writer.end_row(event);
    }
    writer.finish().unwrap();
    let times = |sequence| {
        let path = segment(dir.path(), "event", &format!("monitor-1-{sequence}.seg"));
        integers(&read_segment(&path).unwrap().batches[0], "time_ns")
    };
    assert_eq!(times(0), [Some(DAY_NS - 2), Some(DAY_NS - 1)]);
    assert_eq!(times(1), [Some(DAY_NS)]);
    assert_eq!(times(2), [Some(DAY_NS - 1)]);
    assert_eq!(times(3), [Some(-1)]);
}

#[test]
fn a_full_segment_is_followed_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let small = WriterOptions {
        segment_bytes: 1,
        ..options()
    };
    events(dir.path(), small, &[(0, 1), (0, 2), (0, 3)]);
    for sequence in 0..3 {
        let path = segment(dir.path(), "event", &format!("monitor-1-{sequence}.seg"));
        let contents = read_segment(&path).unwrap();
        assert_eq!(integers(&contents.batches[0], "users"), [Some(sequence + 1)]);
    }
}

#[test]
fn rows_are_written_when_the_interval_has_passed() {
    let dir = tempfile::tempdir().unwrap();
    let slow = WriterOptions {
        flush_interval: Duration::from_secs(10),
        ..options()
    };
    let mut writer = RecordingWriter::open(dir.path(), "monitor", slow).unwrap();
    let event = writer.table("event").unwrap();
    let mut rows_after = |seconds: i64| {
        writer.begin_row(event, 0, seconds * 1_000_000_000);
        writer.end_row(event);
        writer.flush_due(seconds * 1_000_000_000).unwrap();
        // It is written on another thread: that it comes is asserted, not when.
        let path = segment(dir.path(), "event", "monitor-1-0.seg");
        let deadline = std::time::Instant::now() + Duration::from_secs(120);
        while seconds >= 10 && !path.exists() && std::time::Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        path.exists()
    };
    assert!(!rows_after(0));
    assert!(!rows_after(8));
    assert!(rows_after(10));
}

#[test]
fn what_the_catalogue_does_not_have_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = RecordingWriter::open(dir.path(), "monitor", options()).unwrap();
    let error = writer.table("gauge").unwrap_err().to_string();
    assert!(
        error.contains("\"gauge\"") && error.contains("catalogue"),
        "{error}"
    );
    let user = writer.table("user").unwrap();
    let error = writer.column(user, "load").unwrap_err().to_string();
    assert!(
        error.contains("\"load\"") && error.contains("\"user\""),
        "{error}"
    );
}

#[test]
#[should_panic(expected = "user.user is Text")]
fn a_value_of_the_wrong_type_is_a_mistake_of_the_program() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = RecordingWriter::open(dir.path(), "monitor", options()).unwrap();
    let user = writer.table("user").unwrap();
    let name = writer.column(user, "user").unwrap();
    writer.begin_row(user, 0, 0);
    writer.set(name, 1);
}

#[test]
fn a_name_that_is_no_file_name_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["", "../x", "Monitor", "1st", "a b"] {
        let result = RecordingWriter::open(dir.path(), name, options());
        let error = result.err().expect(name).to_string();
        assert!(
            error.starts_with(&format!("writer name {name:?} must be")),
            "{error}"
        );
    }
}

#[test]
fn two_writers_of_one_name_do_not_mix() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = RecordingWriter::open(dir.path(), "monitor", options()).unwrap();
    let second = RecordingWriter::open(dir.path(), "monitor", options());
    let error = second.err().unwrap().to_string();
    assert!(error.contains("another writer named \"monitor\""), "{error}");
    assert!(RecordingWriter::open(dir.path(), "terminal", options()).is_ok());
    let event = first.table("event").unwrap();
    first.begin_row(event, 0, 0);
    first.end_row(event);
    first.flush().unwrap();
    assert_eq!(
        read_segment(&segment(dir.path(), "event", "monitor-1-0.seg"))
            .unwrap()
            .rows(),
        1
    );
    drop(first);
    let next = RecordingWriter::open(dir.path(), "monitor", options()).unwrap();
    assert_eq!(next.run(), 2);
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = RecordingWriter::open(&file, "monitor", options()).err().unwrap();
    assert!(error.to_string().contains("file/sources"), "{error}");
    assert!(!error.is_disk_full());
}

#[test]
fn what_python_wrote_is_read() {
    // Made by tests/unit/recording/data/write_sample.py of the source tree.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/written-by-python.seg");
    let contents = read_segment(&path).unwrap();
    assert_eq!(contents.damage, None);
    assert_eq!(contents.schema.unwrap().metadata()["satline.table"], "event");
    let [first, second] = contents.batches.as_slice() else {
        panic!("{} batches", contents.batches.len())
    };
    assert_eq!(integers(first, "time_ns"), [Some(7)]);
    assert_eq!(
        first.column_by_name("text").unwrap().as_string::<i32>().value(0),
        "old <b>\u{1b}[2J"
    );
    assert_eq!(
        first
            .column_by_name("value")
            .unwrap()
            .as_primitive::<Float64Type>()
            .value(0),
        0.5
    );
    assert_eq!(
        integers(second, "step"),
        (0..40).map(|n| Some(n * n)).collect::<Vec<_>>()
    );
    assert_eq!(second.column_by_name("value").unwrap().null_count(), 40);
}
