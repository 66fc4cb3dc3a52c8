//! Running figures of a run: for the progress line and for `sources/terminal.toml`.

use hdrhistogram::Histogram;
use serde::Serialize;

/// A window whose 99th percentile of lateness is above this is not valid, us.
pub const LATENESS_LIMIT_US: u64 = 10_000;
/// Nor is one in which the emulator used more than this part of one processor.
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
    window_cpu_us: i64,
    window_ns: i64,
    /// Processor time and monotonic time at the beginning of the open window.
    window_open: Option<(i64, i64)>,
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
            window_ns: 0,
            window_open: None,
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

    pub fn begin_window(&mut self, now_ns: i64, cpu_us: i64) {
        self.window_open = Some((cpu_us, now_ns));
    }

    pub fn end_window(&mut self, now_ns: i64, cpu_us: i64) {
        if let Some((cpu_before, began)) = self.window_open.take() {
            self.window_cpu_us += cpu_us - cpu_before;
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

    /// Part of one processor that the emulator used over the measured windows; None before the first one ended.
    pub fn window_cpu(&self) -> Option<f64> {
        (self.window_ns > 0).then(|| self.window_cpu_us as f64 * 1000.0 / self.window_ns as f64)
    }

    /// False if the emulator was late, too busy, or held back to what it may send.
    pub fn valid(&self) -> bool {
        self.window_held == 0
            && self
                .window_lateness()
                .is_none_or(|lateness| lateness.p99_us <= LATENESS_LIMIT_US)
            && self.window_cpu().is_none_or(|part| part <= CPU_LIMIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_windows_decide_validity() {
        let mut statistics = Statistics::default();
        statistics.sent(50_000);
        assert!(statistics.valid() && statistics.window_lateness().is_none());
        statistics.begin_window(0, 0);
        (0..200).for_each(|_| statistics.sent(100));
        statistics.sent(-5);
        statistics.end_window(1_000_000_000, 500_000);
        assert_eq!(statistics.window_lateness().unwrap().p50_us, 100);
        assert_eq!(statistics.window_cpu(), Some(0.5));
        assert!(statistics.valid());
        statistics.begin_window(2_000_000_000, 500_000);
        statistics.end_window(3_000_000_000, 2_000_000);
        assert_eq!(statistics.window_cpu(), Some(1.0));
        assert!(!statistics.valid(), "too busy");
        let mut late = Statistics::default();
        late.begin_window(0, 0);
        (0..10).for_each(|_| late.sent(20_000));
        assert!(!late.valid(), "late");
    }
}
