//! Running figures of a run: for the progress line and for `sources/terminal.toml`.

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::clients::Used;

/// A run whose 99th percentile of lateness in windows is above this is marked late, us.
pub const LATENESS_LIMIT_US: u64 = 10_000;
/// So is one in which the emulator, or a client that carries lines for it, used more than this part of one processor,
/// or all of them together more than this part of those that they may run on.
pub const CPU_LIMIT: f64 = 0.8;

/// Counts and distributions so far.
#[derive(Debug)]
pub struct Statistics {
    /// Lateness of every line end, us.
    lateness: Histogram<u64>,
    /// Lateness of line ends within measured windows, us.
    window_lateness: Histogram<u64>,
    /// Responses of the current step, us.
    response: Histogram<u64>,
    pub transactions: u64,
    pub reactions: u64,
    /// Transactions with another outcome than ok, and failed log-ons.
    pub failures: u64,
    /// Lines that did not come to be, or were lost; ptys excepted.
    pub lines_lost: u64,
    /// Times that a line had to wait for the bound on their rate, and those of them in measured windows.
    pub lines_held: u64,
    window_held: u64,
    /// Of the emulator and the clients of its lines; of the busiest of them.
    window_cpu_us: i64,
    window_busiest_us: i64,
    window_ns: i64,
    /// Monotonic time at the beginning of the open window.
    window_open: Option<i64>,
    /// Processors that emulator and clients may run on.
    processors: usize,
}

/// `[lateness]` of `sources/terminal.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Lateness {
    pub p50_us: u64,
    pub p99_us: u64,
    pub max_us: u64,
}

fn histogram() -> Histogram<u64> {
    // Up to a day, 3 significant digits; never fails for these constants.
    Histogram::new_with_bounds(1, 86_400_000_000, 3).unwrap_or_else(|_| unreachable!())
}

fn quantile(histogram: &Histogram<u64>, quantile: f64) -> Option<u64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(quantile))
}

impl Default for Statistics {
    fn default() -> Self {
        Self {
            lateness: histogram(),
            window_lateness: histogram(),
            response: histogram(),
            transactions: 0,
            reactions: 0,
            failures: 0,
            lines_lost: 0,
            lines_held: 0,
            window_held: 0,
            window_cpu_us: 0,
            window_busiest_us: 0,
            window_ns: 0,
            window_open: None,
            processors: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

impl Statistics {
    /// A line end was sent.
    pub fn sent(&mut self, lateness_us: i64) {
        self.lateness.saturating_record(lateness_us.max(0) as u64);
        if self.window_open.is_some() {
            self.window_lateness.saturating_record(lateness_us.max(0) as u64);
        }
    }

    /// A line end had to wait for the bound on the rate.
    pub fn held(&mut self) {
        self.lines_held += 1;
        self.window_held += u64::from(self.window_open.is_some());
    }

    pub fn responded(&mut self, response_us: i64) {
        self.response.saturating_record(response_us.max(0) as u64);
    }

    /// A step begins: its responses are shown apart from those of the one before.
    pub fn begin_step(&mut self) {
        self.response.reset();
    }

    pub fn begin_window(&mut self, now_ns: i64) {
        self.window_open = Some(now_ns);
    }

    /// `used`: since the window began.
    pub fn end_window(&mut self, now_ns: i64, used: Used) {
        if let Some(began) = self.window_open.take() {
            self.window_cpu_us += used.all_us;
            self.window_busiest_us += used.busiest_us;
            self.window_ns += now_ns - began;
        }
    }

    /// Quantile of the responses of this step, ms.
    pub fn response_ms(&self, q: f64) -> Option<f64> {
        quantile(&self.response, q).map(|us| us as f64 / 1000.0)
    }

    pub fn lateness_p99_us(&self) -> Option<u64> {
        quantile(&self.lateness, 0.99)
    }

    /// Lateness over the measured windows; None if no line was sent in one.
    pub fn window_lateness(&self) -> Option<Lateness> {
        Some(Lateness {
            p50_us: quantile(&self.window_lateness, 0.5)?,
            p99_us: quantile(&self.window_lateness, 0.99)?,
            max_us: self.window_lateness.max(),
        })
    }

    fn window_part(&self, used_us: i64) -> Option<f64> {
        (self.window_ns > 0).then(|| used_us as f64 * 1000.0 / self.window_ns as f64)
    }

    /// Part of one processor that the emulator and the clients of its lines used over the measured windows; None
    /// before the first one ended.
    pub fn window_cpu(&self) -> Option<f64> {
        self.window_part(self.window_cpu_us)
    }

    /// The same of whichever of them used most.
    pub fn window_busiest(&self) -> Option<f64> {
        self.window_part(self.window_busiest_us)
    }

    /// Whether the emulator was late, too busy, or held back to what it may send. Whether that matters, and to which
    /// steps, only the lines tell.
    pub fn late(&self) -> bool {
        self.window_held > 0
            || self
                .window_lateness()
                .is_some_and(|lateness| lateness.p99_us > LATENESS_LIMIT_US)
            || self.window_busiest().is_some_and(|part| part > CPU_LIMIT)
            || self
                .window_cpu()
                .is_some_and(|part| part > CPU_LIMIT * self.processors as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_windows_decide_whether_it_was_late() {
        let mut statistics = Statistics::default();
        statistics.sent(50_000);
        assert!(!statistics.late() && statistics.window_lateness().is_none());
        let used = |all_us, busiest_us| Used { all_us, busiest_us };
        statistics.processors = 2;
        statistics.begin_window(0);
        (0..200).for_each(|_| statistics.sent(100));
        statistics.sent(-5);
        statistics.end_window(1_000_000_000, used(500_000, 500_000));
        assert_eq!(statistics.window_lateness().unwrap().p50_us, 100);
        assert_eq!(statistics.window_cpu(), Some(0.5));
        assert!(!statistics.late());
        statistics.begin_window(2_000_000_000);
        statistics.end_window(3_000_000_000, used(1_500_000, 700_000));
        assert_eq!(
            (statistics.window_cpu(), statistics.window_busiest()),
            (Some(1.0), Some(0.6))
        );
        assert!(!statistics.late(), "two processors, none of them too busy");
        statistics.begin_window(4_000_000_000);
        statistics.end_window(5_000_000_000, used(1_500_000, 1_500_000));
        assert!(statistics.late(), "too busy");
        let mut late = Statistics::default();
        late.begin_window(0);
        (0..10).for_each(|_| late.sent(20_000));
        assert!(late.late(), "late");
    }
}
