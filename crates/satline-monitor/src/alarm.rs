//! Alarms: a probe that takes much longer than is usual for it, several times in succession.
//!
//! What is usual is learnt from the probe itself: the lower quartile of its running medians. The analysis finds the
//! same stretches again in a recording (`satline.diagnosis`); an alarm is what a person is told meanwhile.

use std::collections::VecDeque;

/// A running median is of so many runs; a single slow run shows nothing.
const IN_SUCCESSION: usize = 5;
/// Before so many runs nothing is usual.
const LEAST_RUNS: usize = 12;
/// Slow is so many times the usual, and so much above it; no longer slow is less than `OVER` times.
const SLOW: i64 = 3;
const LEAST_SLOWER_US: i64 = 5_000;
const OVER: i64 = 2;
/// Medians kept: a day of a probe that runs every 30 s.
const MOST_KEPT: usize = 2_880;

/// What has changed with a run of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alarm {
    /// True: it has become slow; false: it is as usual again.
    pub slow: bool,
    /// Median of its last runs.
    pub now_us: i64,
    pub usual_us: i64,
}

/// Watches one probe.
#[derive(Debug, Default)]
pub struct Watch {
    last: VecDeque<i64>,
    medians: VecDeque<i64>,
    sorted: Vec<i64>,
    runs: usize,
    slow: bool,
}

impl Watch {
    /// One run more, which took so long.
    pub fn take(&mut self, elapsed_us: i64) -> Option<Alarm> {
        self.runs += 1;
        self.last.push_back(elapsed_us);
        if self.last.len() > IN_SUCCESSION {
            self.last.pop_front();
        }
        if self.last.len() < IN_SUCCESSION {
            return None;
        }
        let mut last: Vec<i64> = self.last.iter().copied().collect();
        last.sort_unstable();
        let now_us = last[IN_SUCCESSION / 2];
        self.keep(now_us);
        if self.runs < LEAST_RUNS {
            return None;
        }
        let usual_us = self.sorted[(self.sorted.len() - 1) / 4];
        let slow = if self.slow {
            now_us >= usual_us.saturating_mul(OVER)
        } else {
            now_us >= usual_us.saturating_mul(SLOW) && now_us.saturating_sub(usual_us) >= LEAST_SLOWER_US
        };
        (slow != self.slow).then(|| {
            self.slow = slow;
            Alarm {
                slow,
                now_us,
                usual_us,
            }
        })
    }

    fn keep(&mut self, median: i64) {
        self.medians.push_back(median);
        let place = self.sorted.partition_point(|&kept| kept < median);
        self.sorted.insert(place, median);
        if self.medians.len() > MOST_KEPT {
            if let Some(old) = self.medians.pop_front() {
                // It is there: what is in one list is in the other.
                let place = self.sorted.partition_point(|&kept| kept < old);
                self.sorted.remove(place);
            }
        }
    }
}

impl Alarm {
    /// As a person would be told.
    pub fn words(&self, probe: &str) -> String {
        let (now, usual) = (time(self.now_us), time(self.usual_us));
        if self.slow {
            format!("probe {probe} takes {now}, where it usually takes {usual}")
        } else {
            format!("probe {probe} takes {now}, as usual again ({usual})")
        }
    }
}

fn time(us: i64) -> String {
    if us >= 1_000_000 {
        format!("{:.2} s", us as f64 / 1e6)
    } else if us >= 10_000 {
        format!("{:.0} ms", us as f64 / 1e3)
    } else {
        format!("{:.1} ms", us as f64 / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alarms(runs: &[(usize, i64)]) -> Vec<(usize, Alarm)> {
        let mut watch = Watch::default();
        let times = runs
            .iter()
            .flat_map(|&(count, us)| std::iter::repeat_n(us, count));
        times
            .enumerate()
            .filter_map(|(at, us)| Some((at, watch.take(us)?)))
            .collect()
    }

    #[test]
    fn a_probe_that_becomes_slow_and_recovers_is_told_once_each_way() {
        let found = alarms(&[(20, 33_000), (10, 1_608_000), (10, 34_000)]);
        let of = |slow, now_us| Alarm {
            slow,
            now_us,
            usual_us: 33_000,
        };
        assert_eq!(found, [(22, of(true, 1_608_000)), (32, of(false, 34_000))]);
        assert_eq!(
            found[0].1.words("io"),
            "probe io takes 1.61 s, where it usually takes 33 ms"
        );
        assert_eq!(
            found[1].1.words("io"),
            "probe io takes 34 ms, as usual again (33 ms)"
        );
    }

    #[test]
    fn two_slow_runs_or_a_short_time_or_too_few_runs_raise_none() {
        assert_eq!(alarms(&[(20, 33_000), (2, 1_608_000), (20, 33_000)]), []);
        assert_eq!(alarms(&[(20, 1_000), (20, 4_000)]), []);
        assert_eq!(alarms(&[(5, 33_000), (6, 1_608_000)]), []);
    }

    #[test]
    fn what_lasts_longer_than_is_kept_becomes_usual() {
        let found = alarms(&[(20, 33_000), (2 * MOST_KEPT, 1_608_000)]);
        assert_eq!(found.len(), 2);
        assert!(found[0].1.slow && !found[1].1.slow);
        assert_eq!(found[1].1.usual_us, 1_608_000);
    }

    #[test]
    fn a_time_that_no_clock_gives_overflows_nothing() {
        assert_eq!(alarms(&[(20, i64::MAX), (20, i64::MIN)]), []);
    }
}
