//! When samples are due: absolute times on CLOCK_MONOTONIC, so that lateness never adds up.

use std::time::Duration;

use hdrhistogram::Histogram;
use satline_program::clock::{self, SECOND_NS};

/// The clocks. Tests give times that they made.
pub trait Clock {
    /// CLOCK_MONOTONIC, ns.
    fn monotonic_ns(&self) -> i64;
    /// CLOCK_BOOTTIME, ns: monotonic time and the time the host was suspended, in which starts of tasks are told.
    fn boot_ns(&self) -> i64 {
        self.monotonic_ns()
    }
    /// Real time, ns since 1970.
    fn real_ns(&self) -> i64;
    /// Sleeps until a time on CLOCK_MONOTONIC; may return earlier, when a signal comes.
    fn sleep_until(&self, monotonic_ns: i64);
}

/// The clocks of the system.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn monotonic_ns(&self) -> i64 {
        clock::monotonic_ns()
    }

    fn boot_ns(&self) -> i64 {
        clock::boot_ns()
    }

    fn real_ns(&self) -> i64 {
        clock::real_ns()
    }

    fn sleep_until(&self, monotonic_ns: i64) {
        let (tv_sec, tv_nsec) = (
            monotonic_ns.div_euclid(SECOND_NS),
            monotonic_ns.rem_euclid(SECOND_NS),
        );
        let until = libc::timespec { tv_sec, tv_nsec };
        // SAFETY: `until` is valid; the remainder is not asked for.
        unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &until,
                std::ptr::null_mut(),
            );
        }
    }
}

/// The sequence of due times: the start plus whole intervals.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    start_ns: i64,
    interval_ns: i64,
    last: Option<i64>,
}

impl Schedule {
    /// The first sample is due at `start_ns`.
    pub fn new(start_ns: i64, interval: Duration) -> Self {
        let interval_ns = i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX).max(1);
        Self {
            start_ns,
            interval_ns,
            last: None,
        }
    }

    /// When a sample is due.
    pub fn due_ns(&self, sample: i64) -> i64 {
        self.start_ns
            .saturating_add(self.interval_ns.saturating_mul(sample))
    }

    /// Time between two samples.
    pub fn interval_ns(&self) -> i64 {
        self.interval_ns
    }

    /// Samples are due half as often from the last one on; their numbers go on.
    pub fn double(&mut self) {
        let last = self.last.unwrap_or(0);
        let due_ns = self.due_ns(last);
        self.interval_ns = self.interval_ns.saturating_mul(2);
        self.start_ns = due_ns.saturating_sub(self.interval_ns.saturating_mul(last));
    }

    /// The sample to take next, and how many before it are lost.
    ///
    /// One that is late, but by less than an interval, is taken late; those whose successor is due already are lost.
    pub fn next(&mut self, now_ns: i64) -> (i64, i64) {
        let following = self.last.map_or(0, |last| last + 1);
        let reached = now_ns.saturating_sub(self.start_ns).div_euclid(self.interval_ns);
        let sample = following.max(reached);
        self.last = Some(sample);
        (sample, sample - following)
    }
}

/// Finds steps of the real-time clock: readings are paired, and real time minus monotonic time must stay.
#[derive(Debug, Default)]
pub struct ClockWatch {
    difference_ns: Option<i64>,
}

/// A clock that is slewed changes by up to 500 ppm, 30 ms in a minute; a step is more.
const STEP_NS: i64 = 100_000_000;

impl ClockWatch {
    /// The step since the last call, s, if there was one.
    pub fn step(&mut self, real_ns: i64, monotonic_ns: i64) -> Option<f64> {
        let difference = real_ns.saturating_sub(monotonic_ns);
        let change = difference.saturating_sub(self.difference_ns.replace(difference).unwrap_or(difference));
        (change.saturating_abs() >= STEP_NS).then_some(change as f64 / 1e9)
    }
}

/// How late samples were: quantiles within 1 %.
#[derive(Debug)]
pub struct Lateness {
    times: Histogram<u64>,
    max_us: i64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            times: Histogram::new(2).expect("two digits are allowed"),
            max_us: 0,
        }
    }
}

impl Lateness {
    /// Adds one, in µs.
    pub fn add(&mut self, us: i64) {
        // It grows as it must, and there is no number that it cannot hold.
        let _ = self.times.record(us.max(0) as u64);
        self.max_us = self.max_us.max(us);
    }

    /// A quantile, µs, and never more than the maximum.
    pub fn quantile(&self, q: f64) -> i64 {
        (self.times.value_at_quantile(q) as i64).min(self.max_us)
    }

    /// The largest, µs.
    pub fn max(&self) -> i64 {
        self.max_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn due_times_do_not_drift_and_overrun_samples_are_counted() {
        let mut schedule = Schedule::new(1000 * MS, Duration::from_millis(100));
        assert_eq!(schedule.next(1000 * MS), (0, 0));
        assert_eq!(schedule.next(1030 * MS), (1, 0));
        assert_eq!(schedule.due_ns(1), 1100 * MS);
        assert_eq!(schedule.next(1199 * MS), (2, 0));
        assert_eq!(
            schedule.next(1310 * MS),
            (3, 0),
            "late by less than an interval: taken late"
        );
        assert_eq!(schedule.next(1650 * MS), (6, 2), "4 and 5 are lost");
        assert_eq!(schedule.next(1650 * MS), (7, 0));
    }

    #[test]
    fn steps_of_the_clock_are_told_once() {
        let mut watch = ClockWatch::default();
        assert_eq!(watch.step(10_000 * MS, 500 * MS), None);
        assert_eq!(watch.step(11_020 * MS, 1500 * MS), None, "slewed");
        assert_eq!(watch.step(9020 * MS, 2500 * MS), Some(-3.0));
        assert_eq!(watch.step(10_020 * MS, 3500 * MS), None);
    }

    #[test]
    fn quantiles_of_lateness() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.quantile(0.5), 0);
        for us in 1..=1000 {
            lateness.add(us);
        }
        assert!(
            (500..=545).contains(&lateness.quantile(0.5)),
            "{}",
            lateness.quantile(0.5)
        );
        assert!((990..=1000).contains(&lateness.quantile(0.99)));
        assert_eq!(lateness.max(), 1000);
    }
}
