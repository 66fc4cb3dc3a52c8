//! What this kernel has of what the swapper needs; what it lacks is said at the start.

use std::fs;

use serde::Serialize;

use crate::calls::{self, Advice, FaultCounter, Faults};
use crate::error::SwapperError;
use crate::pages::Method;
use crate::policy::Policy;
use crate::roots::{Roots, value_of};

/// Something that is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lacking {
    pub what: String,
    pub instead: String,
    pub would_need: String,
}

/// What there is.
#[derive(Debug, Clone)]
pub struct Abilities {
    pub method: Method,
    pub page_bytes: u64,
    /// Whether faults of a task can wake the swapper.
    pub wakes: bool,
    pub lacking: Vec<Lacking>,
}

impl Abilities {
    /// Looks.
    ///
    /// # Errors
    /// `System` if advice on other processes' pages cannot be given at all.
    pub fn look(roots: &Roots, policy: &Policy) -> Result<Self, SwapperError> {
        let page_bytes = calls::page_bytes();
        let mut lacking = Vec::new();
        let mut lack = |what: &str, instead: &str, would_need: &str| {
            lacking.push(Lacking {
                what: what.into(),
                instead: instead.into(),
                would_need: would_need.into(),
            });
        };
        let own_pid = i32::try_from(std::process::id()).unwrap_or(0);
        calls::pidfd_open(own_pid)
            .and_then(|own| calls::process_madvise(&own, &[], Advice::WillNeed, page_bytes))
            .map_err(|error| {
                SwapperError::system(
                    "process_madvise(MADV_WILLNEED)",
                    error,
                    "the swapper needs Linux 5.15 or newer, CAP_SYS_NICE and CAP_SYS_PTRACE",
                )
            })?;
        let method = Method::of_this_kernel(page_bytes);
        if method == Method::Read {
            lack(
                "PAGEMAP_SCAN",
                "/proc/PID/pagemap is read, eight bytes for each page",
                "Linux 6.7",
            );
        }
        let wakes = FaultCounter::open(own_pid, Faults::All, page_bytes).is_ok();
        if !wakes {
            lack(
                "perf events of page faults",
                "resumes are seen at the next tick, from major faults in /proc/PID/stat",
                "CAP_PERFMON and a kernel with CONFIG_PERF_EVENTS",
            );
        }
        let meminfo = fs::read_to_string(roots.proc.join("meminfo")).unwrap_or_default();
        if value_of(&meminfo, "SwapTotal").unwrap_or(0) == 0 {
            lack(
                "swap space",
                "nothing is written out until some is there",
                "swapon",
            );
        }
        if policy.storage.pressure_share.is_some() && !roots.proc.join("pressure/memory").exists() {
            lack(
                "pressure information",
                "only free storage tells when it is short",
                "a kernel with CONFIG_PSI, started with psi=1",
            );
        }
        for name in &policy.tiers.zram {
            if !roots.sys.join("block").join(name).join("writeback").exists() {
                lack(
                    &format!("writeback of {name}"),
                    "its coldest pages stay in compressed storage",
                    "a kernel with CONFIG_ZRAM_WRITEBACK, and a backing device set before the disk size",
                );
            }
        }
        Ok(Abilities {
            method,
            page_bytes,
            wakes,
            lacking,
        })
    }
}
