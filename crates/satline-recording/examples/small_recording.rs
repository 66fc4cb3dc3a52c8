//! A small recording, as a source writes one: describe it, write rows, end it.
//!
//! `cargo run --release -p satline-recording --example small_recording -- NAME.satline`

use std::error::Error;
use std::path::{Path, PathBuf};

use satline_recording::{
    HostFacts, RecordingDescription, RecordingWriter, WriterOptions, create_if_absent, end_recording,
};

const START_NS: i64 = 1_795_251_600_000_000_000;
const SECOND_NS: i64 = 1_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = PathBuf::from(
        std::env::args()
            .nth(1)
            .ok_or("usage: small_recording NAME.satline")?,
    );
    let host = HostFacts::read(Path::new("/proc"), Path::new("/etc/os-release"));
    create_if_absent(
        &dir,
        &RecordingDescription::plain("small_recording", START_NS, host)?,
    )?;

    let mut writer = RecordingWriter::open(&dir, "monitor", WriterOptions::default())?;
    let user = writer.table("user")?;
    let name = writer.column(user, "user")?;
    let cpu_us = writer.column(user, "cpu_us")?;
    let io_delay_us = writer.column(user, "io_delay_us")?;
    let event = writer.table("event")?;
    let text = writer.column(event, "text")?;
    let value = writer.column(event, "value")?;

    for second in 0..3 {
        let (time_ns, monotonic_ns) = (START_NS + second * SECOND_NS, second * SECOND_NS);
        for number in 0..20 {
            writer.begin_row(user, time_ns, monotonic_ns);
            writer.set_text(name, &format!("user-{number}"));
            writer.set(cpu_us, 1_000 * second * number);
            writer.set_option(io_delay_us, (number % 2 == 0).then_some(second));
            writer.end_row(user);
        }
        writer.begin_row(event, time_ns, monotonic_ns);
        writer.set_text(text, "second drum <b>\u{1b}[1m");
        writer.set_float(value, 0.5);
        writer.end_row(event);
        writer.flush_due(monotonic_ns)?;
    }
    writer.finish()?;
    end_recording(&dir, START_NS + 3 * SECOND_NS, "complete")?;
    Ok(())
}
