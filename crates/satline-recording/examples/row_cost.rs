//! What rows cost the sampling thread, what a batch costs altogether, and how long it is on disk.
//!
//! `cargo run --release -p satline-recording --example row_cost`

use std::error::Error;
use std::time::Instant;

use satline_recording::{RecordingWriter, WriterOptions, catalogue};

const SAMPLES: i64 = 2_000;

fn cpu_us() -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
}

fn main() -> Result<(), Box<dyn Error>> {
    for (table, entities) in [("system", 1), ("processor", 2), ("device", 4), ("user", 50)] {
        let dir = std::env::temp_dir().join(format!("satline-row-cost-{}", std::process::id()));
        let mut writer = RecordingWriter::open(&dir, "monitor", WriterOptions::default())?;
        let id = writer.table(table)?;
        let definition = catalogue().table(table).ok_or("no such table")?;
        let mut integers = Vec::new();
        let mut text = None;
        for column in &definition.columns[3..] {
            let column_id = writer.column(id, &column.name)?;
            match column.column_type {
                satline_recording::ColumnType::Text if text.is_none() => text = Some(column_id),
                satline_recording::ColumnType::Text => {}
                _ => integers.push(column_id),
            }
        }
        let (before, mut rows_us) = (cpu_us(), 0);
        for sample in 0..SAMPLES {
            let start = Instant::now();
            for entity in 0..entities {
                writer.begin_row(id, sample * 1_000_000_000, sample * 1_000_000_000);
                if let Some(text) = text {
                    writer.set_text(text, ["root", "alice", "bob", "carol"][entity as usize % 4]);
                }
                for (place, column) in integers.iter().enumerate() {
                    writer.set(*column, sample * (place as i64 * 7_919 + entity) + 1_000_000);
                }
                writer.end_row(id);
            }
            rows_us += start.elapsed().as_nanos();
            writer.flush()?;
        }
        writer.finish()?;
        let total = (cpu_us() - before) as f64 / SAMPLES as f64;
        println!(
            "{table}: {entities} rows of {} columns: {:.1} us to make, {total:.0} us in all, {} bytes a sample",
            definition.columns.len(),
            rows_us as f64 / 1e3 / SAMPLES as f64,
            writer.bytes_written() / SAMPLES as u64,
        );
        std::fs::remove_dir_all(&dir)?;
    }
    Ok(())
}
