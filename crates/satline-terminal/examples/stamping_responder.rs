//! Answers each line it reads and notes when it did: the true times for the bench of the emulator.
//!
//! `stamping_responder LOG`: prints `ready` and, for each line on standard input, `answer NUMBER`. To the file LOG,
//! or to LOG/$SATLINE_USER where LOG is a directory, goes a line with CLOCK_MONOTONIC in ns after the line was read
//! and before the answer is written.

use std::fs::OpenOptions;
use std::io::{BufRead, Write};
use std::path::PathBuf;

use satline_terminal::clock::monotonic_ns;

fn main() -> std::io::Result<()> {
    let mut path = PathBuf::from(std::env::args_os().nth(1).unwrap_or_default());
    if path.is_dir() {
        path.push(std::env::var_os("SATLINE_USER").unwrap_or_default());
    }
    let mut log = OpenOptions::new().create(true).append(true).open(path)?;
    let mut out = std::io::stdout();
    out.write_all(b"ready\n")?;
    out.flush()?;
    let mut line = String::new();
    let mut input = std::io::stdin().lock();
    let mut number = 0u64;
    while input.read_line(&mut line)? > 0 {
        let read_ns = monotonic_ns();
        line.clear();
        number += 1;
        let answer = format!("answer {number}\n");
        let written_ns = monotonic_ns();
        out.write_all(answer.as_bytes())?;
        out.flush()?;
        writeln!(log, "{read_ns} {written_ns}")?;
    }
    Ok(())
}
