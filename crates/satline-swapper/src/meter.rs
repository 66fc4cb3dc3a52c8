//! Whether a user works: processor time, as differences.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::policy::Activity;
use crate::population::Found;
use crate::roots::{Roots, value_of};
use crate::stat::{MAX_THREADS, threads};

#[derive(Debug)]
enum Kind {
    /// `cpuacct.usage`: ns.
    Usage,
    /// `cpu.stat`: a line `usage_usec`.
    GroupStat,
    /// `/proc/PID/task/TID/schedstat`: ns first.
    Schedstat,
}

#[derive(Debug)]
struct Counter {
    file: File,
    kind: Kind,
    last_us: Option<u64>,
}

impl Counter {
    fn open(path: &Path, kind: Kind) -> Option<Self> {
        Some(Counter {
            file: File::open(path).ok()?,
            kind,
            last_us: None,
        })
    }

    /// What was added since the last look, µs, 0 at the first; none when what it counted is gone.
    fn added_us(&mut self) -> Option<u64> {
        let mut buffer = [0; 512];
        let length = self.file.read_at(&mut buffer, 0).ok()?;
        let text = std::str::from_utf8(&buffer[..length]).unwrap_or("");
        let first = || text.split_whitespace().next()?.parse::<u64>().ok();
        let now_us = match self.kind {
            Kind::Usage | Kind::Schedstat => first().map(|ns| ns / 1000),
            Kind::GroupStat => value_of(text, "usage_usec"),
        };
        let now_us = now_us?;
        Some(now_us.saturating_sub(self.last_us.replace(now_us).unwrap_or(now_us)))
    }
}

/// The processor time of one user, against what an idle one may use.
#[derive(Debug, Default)]
pub struct Meter {
    counters: Vec<Counter>,
    /// What the counters are of, to see when they must be opened anew.
    of: Vec<(i32, i32)>,
    excess_us: f64,
    last_ns: Option<i64>,
    /// All that was seen, µs.
    pub cpu_us: u64,
}

impl Meter {
    /// Opens counters for the user's processes as they are now; those that stay keep their last reading.
    pub fn follow(&mut self, roots: &Roots, user: &Found) {
        if let Some(path) = &user.accounting {
            if self.counters.is_empty() {
                let kind = if path.ends_with("cpu.stat") {
                    Kind::GroupStat
                } else {
                    Kind::Usage
                };
                self.counters.extend(Counter::open(path, kind));
            }
            return;
        }
        let mut tasks = Vec::new();
        for (&pid, stat) in &user.processes {
            let known: Vec<(i32, i32)> = self.of.iter().copied().filter(|of| of.0 == pid).collect();
            // Listing threads is dear: it is done when their number has changed or one could not be read any more.
            if known.len() == MAX_THREADS.min(stat.threads as usize) {
                tasks.extend(known);
            } else {
                tasks.extend(threads(roots, pid).into_iter().map(|tid| (pid, tid)));
            }
        }
        let mut kept: Vec<((i32, i32), Counter)> = self.of.drain(..).zip(self.counters.drain(..)).collect();
        for task in tasks {
            let known = kept.iter().position(|(of, _)| *of == task);
            let counter = match known {
                Some(place) => Some(kept.swap_remove(place).1),
                None => {
                    let path = roots.of_process(task.0, &format!("task/{}/schedstat", task.1));
                    Counter::open(&path, Kind::Schedstat)
                }
            };
            if let Some(counter) = counter {
                self.of.push(task);
                self.counters.push(counter);
            }
        }
    }

    /// Whether the user worked since the last look: his processor time beyond the share of an idle user has gathered to more
    /// than the burst. A heartbeat below the share never does.
    pub fn worked(&mut self, now_ns: i64, activity: &Activity) -> bool {
        let mut added_us = 0;
        let mut place = 0;
        while let Some(counter) = self.counters.get_mut(place) {
            if let Some(us) = counter.added_us() {
                added_us += us;
                place += 1;
            } else {
                self.counters.swap_remove(place);
                if place < self.of.len() {
                    self.of.swap_remove(place);
                }
            }
        }
        self.cpu_us += added_us;
        let passed_us = (now_ns - self.last_ns.replace(now_ns).unwrap_or(now_ns)) as f64 / 1e3;
        self.excess_us = (self.excess_us + added_us as f64 - activity.cpu_share * passed_us).max(0.0);
        if self.excess_us > activity.cpu_burst_us as f64 {
            self.excess_us = 0.0;
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fs;

    const SECOND: i64 = 1_000_000_000;

    fn metered(text: &str, file: &str) -> (tempfile::TempDir, Meter) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(file), text).unwrap();
        let mut meter = Meter::default();
        let user = Found {
            name: "u".into(),
            interactive: false,
            watch: 0,
            accounting: Some(dir.path().join(file)),
            processes: BTreeMap::new(),
        };
        meter.follow(&Roots::default(), &user);
        (dir, meter)
    }

    #[test]
    fn a_heartbeat_is_no_work_and_a_burst_is() {
        let activity = Activity {
            cpu_share: 0.005,
            cpu_burst_us: 3000,
            ..Activity::default()
        };
        let (dir, mut meter) = metered("1000000000\n", "cpuacct.usage");
        let mut used_us = 1_000_000;
        let mut look = |meter: &mut Meter, second: i64, add_us: u64| {
            used_us += add_us;
            fs::write(dir.path().join("cpuacct.usage"), format!("{}\n", used_us * 1000)).unwrap();
            meter.worked(second * SECOND, &activity)
        };
        assert!(
            !look(&mut meter, 0, 500_000),
            "the first look knows no difference"
        );
        for second in 1..50 {
            assert!(!look(&mut meter, second, 4_900));
        }
        assert!(look(&mut meter, 50, 9_000));
        assert!(!look(&mut meter, 51, 0));
    }

    #[test]
    fn version_two_counts_in_microseconds() {
        let (dir, mut meter) = metered("usage_usec 500\nuser_usec 1\n", "cpu.stat");
        meter.worked(0, &Activity::default());
        fs::write(dir.path().join("cpu.stat"), "usage_usec 90500\nuser_usec 1\n").unwrap();
        assert!(meter.worked(SECOND, &Activity::default()));
        assert_eq!(meter.cpu_us, 90_000);
        fs::write(dir.path().join("cpu.stat"), "usage_usec 10\n").unwrap();
        assert!(
            !meter.worked(2 * SECOND, &Activity::default()),
            "a counter that went back"
        );
    }
}
