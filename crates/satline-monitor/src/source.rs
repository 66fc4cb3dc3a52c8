//! `sources/monitor.toml`: what the monitor says of itself.

use satline_program::{clock, scheduling::Scheduling};
use serde::Serialize;

use crate::accounting::ExitMethod;
use crate::clockwork::Lateness;
use crate::missing::Missing;
use crate::options::Options;
use crate::plausible::Implausible;

/// The whole file.
#[derive(Debug, Serialize)]
pub struct Source<'a> {
    pub writer: &'static str,
    pub version: &'static str,
    pub end_reason: Option<&'a str>,
    pub error: Option<String>,
    pub sampling: Sampling,
    pub users: UsersHead<'a>,
    pub thermometers: Option<Probes<'a>>,
    pub methods: Methods,
    /// What was tried first and could not be had, although nothing is missing for it.
    #[serde(skip_serializing_if = "<[Fallback]>::is_empty")]
    pub fallbacks: &'a [Fallback],
    pub cost: Cost,
    #[serde(skip_serializing_if = "<[Missing]>::is_empty")]
    pub missing: &'a [Missing],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub implausible: Vec<&'a Implausible>,
}

/// `[sampling]`
#[derive(Debug, Serialize)]
pub struct Sampling {
    pub interval_ms: i64,
    pub samples: i64,
    pub samples_lost: i64,
    pub lateness_us: LatenessSummary,
}

/// `lateness_us`
#[derive(Debug, Serialize)]
pub struct LatenessSummary {
    pub p50: i64,
    pub p99: i64,
    pub max: i64,
}

impl From<&Lateness> for LatenessSummary {
    fn from(lateness: &Lateness) -> Self {
        Self {
            p50: lateness.quantile(0.5),
            p99: lateness.quantile(0.99),
            max: lateness.max(),
        }
    }
}

/// `[users]`
#[derive(Debug, Serialize)]
pub struct UsersHead<'a> {
    pub definition: &'a str,
    /// The whole file of rules, where rules say it.
    pub rules: Option<&'a str>,
}

/// `[thermometers]`: which probes ran, and where.
#[derive(Debug, Serialize)]
pub struct Probes<'a> {
    pub names: Vec<&'a str>,
    /// The group that they were put into; absent: that of the monitor.
    pub cgroup: Option<&'a str>,
    /// They ran in the group that is the whole load, and felt its limits.
    pub in_load_cgroup: bool,
}

impl<'a> Probes<'a> {
    /// Those that are asked for; `None`: none is.
    pub fn planned(options: &'a Options) -> Option<Self> {
        let cgroup = options.thermometer_cgroup.as_deref();
        (!options.thermometer.is_empty()).then(|| Self {
            names: options
                .thermometer
                .iter()
                .map(|plan| plan.name.as_str())
                .collect(),
            cgroup,
            in_load_cgroup: cgroup.is_some() && cgroup == options.load_cgroup.as_deref(),
        })
    }
}

/// `[[fallbacks]]`: a method in whose place another is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fallback {
    pub method: &'static str,
    pub reason: String,
    pub would_need: String,
}

/// `[methods]`
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Methods {
    /// Where processes are read.
    pub tasks: &'static str,
    pub exits: &'static str,
    pub io_delay: &'static str,
    pub run_delay: &'static str,
    pub user_cpu: &'static str,
    pub scheduling: &'static str,
}

impl Methods {
    /// Says in words what was found possible.
    pub fn new(
        iterator: bool,
        exits: ExitMethod,
        delays: bool,
        schedstat: bool,
        scheduling: Scheduling,
    ) -> Self {
        Self {
            tasks: if iterator { "ebpf" } else { "proc" },
            exits: match exits {
                ExitMethod::TaskStats => "taskstats",
                ExitMethod::WaitedChildren => "waited-children",
            },
            io_delay: if delays {
                "delay-accounting"
            } else {
                "sampled-states"
            },
            run_delay: if schedstat { "schedstat" } else { "none" },
            user_cpu: if schedstat { "schedstat" } else { "ticks" },
            scheduling: scheduling.word(),
        }
    }
}

/// `[cost]`
#[derive(Debug, Serialize)]
pub struct Cost {
    pub cpu_us: i64,
    /// Of one processor, by its programs in the kernel, as last measured; absent: there is no budget, or it may not be known.
    pub programs_percent: Option<f64>,
    pub written_bytes: i64,
    pub peak_rss_bytes: Option<i64>,
}

impl Cost {
    /// What the monitor has cost so far. `status` is the text of /proc/self/status: rusage will not do, because its peak
    /// is inherited from the process that started the monitor.
    pub fn now(written_bytes: u64, status: Option<&[u8]>, programs_percent: Option<f64>) -> Self {
        Self {
            cpu_us: clock::own_cpu_us(),
            programs_percent,
            written_bytes: i64::try_from(written_bytes).unwrap_or(i64::MAX),
            peak_rss_bytes: status.and_then(peak_rss_bytes),
        }
    }
}

/// The line VmHWM of /proc/self/status, in bytes.
fn peak_rss_bytes(status: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::peak_rss_bytes;

    #[test]
    fn the_peak_is_read_and_damage_is_no_number() {
        let status = b"Name:\tsatline-monitor\nVmHWM:\t    9216 kB\nVmRSS:\t    9000 kB\n";
        assert_eq!(peak_rss_bytes(status), Some(9216 * 1024));
        assert_eq!(peak_rss_bytes(b"VmHWM:\t    9216 pages\n"), None);
        assert_eq!(peak_rss_bytes(b"VmHWM:\t 9223372036854775807 kB\n"), None);
        assert_eq!(peak_rss_bytes(b"VmRSS:\t    9000 kB\n"), None);
    }
}
