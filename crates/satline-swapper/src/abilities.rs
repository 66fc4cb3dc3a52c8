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
        if !has_capability(roots, CAP_SYS_ADMIN) {
            lack(
                "places of pages in swap",
                "sets are read in order of address",
                "CAP_SYS_ADMIN",
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

/// Number of the right that `/proc/PID/pagemap` asks for before it shows places.
const CAP_SYS_ADMIN: u32 = 21;

/// Whether this process has the right; true where that cannot be told.
fn has_capability(roots: &Roots, number: u32) -> bool {
    let status = fs::read_to_string(roots.proc.join("self/status")).unwrap_or_default();
    status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok())
        .is_none_or(|effective| effective >> number & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_those_in_force() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::with_proc(dir.path());
        assert!(has_capability(&roots, CAP_SYS_ADMIN), "it cannot be told");
        fs::create_dir(dir.path().join("self")).unwrap();
        for (mask, has) in [("000001ffffffffff", true), ("0000000000800000", false)] {
            fs::write(
                dir.path().join("self/status"),
                format!("CapPrm:\t000001ffffffffff\nCapEff:\t{mask}\n"),
            )
            .unwrap();
            assert_eq!(has_capability(&roots, CAP_SYS_ADMIN), has);
        }
    }
}
