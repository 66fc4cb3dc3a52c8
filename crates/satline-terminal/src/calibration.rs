//! How exactly the emulator times, measured before each run: a responder on a terminal of its own answers lines at once
//! and stamps when; the error is what the emulator reads off minus that.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use hdrhistogram::Histogram;
use regex::bytes::Regex;
use satline_program::clock::{SECOND_NS, monotonic_ns};
use serde::Serialize;

use crate::lines::pty::open_pty;
use crate::poll::{Poll, Watch};
use crate::reader::{Reader, Status, Wait};
use crate::workload::Ending;

/// Lines that are exchanged, and the pause before each.
const LINES: usize = 40;
const PAUSE: Duration = Duration::from_millis(2);
/// Time after which an answer is given up, and the calibration with it.
const PATIENCE_NS: i64 = SECOND_NS;

/// `[calibration]` of `sources/terminal.toml`: recorded time of the first character minus the responder's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Calibration {
    pub responder: &'static str,
    pub lines: u64,
    pub p50_us: u64,
    pub p99_us: u64,
    pub max_us: u64,
}

/// Measures; None: a terminal could not be had, or no answer came in time.
pub fn calibrate() -> Option<Calibration> {
    let errors = exchange().ok()?;
    let mut histogram = Histogram::<u64>::new(3).ok()?;
    for error_ns in errors {
        // Never below 0 but for the granularity of clocks between processors.
        histogram.record(error_ns.max(0) as u64 / 1000).ok()?;
    }
    Some(Calibration {
        responder: "a stamping thread on a pty",
        lines: histogram.len(),
        p50_us: histogram.value_at_quantile(0.5),
        p99_us: histogram.value_at_quantile(0.99),
        max_us: histogram.max(),
    })
}

/// The errors, ns.
fn exchange() -> io::Result<Vec<i64>> {
    let (master, slave) = open_pty()?;
    let responder = std::thread::spawn(move || respond(slave));
    let read = ask(master);
    let stamped = responder
        .join()
        .map_err(|_| io::Error::other("the responder failed"))??;
    Ok(read?
        .iter()
        .zip(stamped)
        .map(|(read, stamped)| read - stamped)
        .collect())
}

/// Answers every line; the times just before each answer. Ends with the terminal.
fn respond(slave: OwnedFd) -> io::Result<Vec<i64>> {
    let terminal = File::from(slave);
    let mut lines = BufReader::new(terminal.try_clone()?);
    let (mut stamps, mut line) = (Vec::new(), String::new());
    // A terminal that was hung up is an error.
    while stamps.len() < LINES && lines.read_line(&mut line).is_ok_and(|got| got > 0) {
        stamps.push(monotonic_ns());
        (&terminal).write_all(b"answer\n")?;
        line.clear();
    }
    Ok(stamps)
}

/// As a user does: one line after the other, by the same poll and the same reader; the reactions' times.
fn ask(master: OwnedFd) -> io::Result<Vec<i64>> {
    let mut poll = Poll::new()?;
    poll.add(master.as_raw_fd(), 0, Watch::Arrivals)?;
    let mut terminal = File::from(master);
    let pattern = Regex::new("answer\\n\\z").map_err(io::Error::other)?;
    let ending = Ending::Pattern(Arc::new(pattern));
    let mut reader = Reader::new(None, usize::from(crate::lines::pty::COLUMNS), true);
    let mut times = Vec::new();
    let mut buffer = [0u8; 4096];
    for _ in 0..LINES {
        std::thread::sleep(PAUSE);
        reader.begin(Wait {
            typed: Some(b"line".to_vec()),
            ..Wait::for_prompt(&[&ending])
        });
        reader.sent();
        terminal.write_all(b"line\r")?;
        let began = monotonic_ns();
        loop {
            if poll.wait(began + PATIENCE_NS)? > 0 {
                let got = io::Read::read(&mut terminal, &mut buffer)?;
                reader.feed(&buffer[..got], monotonic_ns());
                reader.settle();
            }
            if let Some(at) = reader
                .reaction_ns()
                .filter(|_| matches!(reader.status(), Status::Complete(..)))
            {
                times.push(at);
                break;
            }
            if monotonic_ns() - began > PATIENCE_NS {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_answered_and_read_after_it_was_stamped() {
        let errors = exchange().unwrap();
        assert_eq!(errors.len(), LINES);
        assert!(errors.iter().all(|&error| error >= 0), "{errors:?}");
        let found = calibrate().unwrap();
        assert!(found.lines == LINES as u64 && found.p50_us <= found.p99_us && found.p99_us <= found.max_us);
    }
}
