//! The progress line: JSON on standard output, twice a second.

use std::io;
use std::os::fd::AsRawFd;

use serde::Serialize;

use crate::common::Common;

/// One line. Null: none so far.
#[derive(Debug, Serialize)]
struct ProgressLine {
    elapsed_s: f64,
    total_s: f64,
    step: usize,
    steps: usize,
    users: i64,
    logged_on: usize,
    phase: &'static str,
    reactions: u64,
    response_p50_ms: Option<f64>,
    response_p90_ms: Option<f64>,
    lateness_p99_us: Option<u64>,
    failures: u64,
}

/// Where progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    None,
    Json,
}

impl Progress {
    /// Writes a line, unless nobody takes it: the clockwork never waits for a reader.
    pub fn show(self, c: &Common, elapsed_s: f64) {
        if self == Self::None {
            return;
        }
        let line = ProgressLine {
            elapsed_s,
            total_s: c.plan.total_s(),
            step: c.step,
            steps: c.plan.steps.len(),
            users: c.step_and_users().map_or(0, |(_, users)| users),
            logged_on: c.logged_on,
            phase: c.phase.word(),
            reactions: c.statistics.reactions,
            response_p50_ms: c.statistics.response_ms(0.5),
            response_p90_ms: c.statistics.response_ms(0.9),
            lateness_p99_us: c.statistics.lateness_p99_us(),
            failures: c.statistics.failures,
        };
        let Ok(mut text) = serde_json::to_string(&line) else {
            return;
        };
        text.push('\n');
        let fd = io::stdout().as_raw_fd();
        let mut poll = libc::pollfd {
            fd,
            events: libc::POLLOUT,
            revents: 0,
        };
        // SAFETY: one pollfd; a pipe that polls writable takes a line of less than PIPE_BUF whole.
        unsafe {
            if libc::poll(&mut poll, 1, 0) == 1 && poll.revents & libc::POLLOUT != 0 {
                libc::write(fd, text.as_ptr().cast(), text.len());
            }
        }
    }
}
