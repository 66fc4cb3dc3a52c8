//! What this kernel has of what the swapper needs; what it lacks is said at the start.

use std::{fs, io};

use serde::Serialize;

use crate::calls::{self, Advice, FaultCounter, Faults};
use crate::error::SwapperError;
use crate::pages::Method;
use crate::policy::Policy;
use crate::roots::{Roots, value_of};
use crate::storage::{pressure_file, pressure_trigger};

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
        if let Some((what, instead, would_need)) = pressure_lacking(roots, policy) {
            lack(&what, instead, would_need);
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

/// What `storage.pressure_share` asks for and does not get: a trigger is tried, since one may be refused where the file is there.
fn pressure_lacking(roots: &Roots, policy: &Policy) -> Option<(String, &'static str, &'static str)> {
    let share = policy.storage.pressure_share?;
    let file = pressure_file(roots, policy);
    let of_host = file.starts_with(&roots.proc);
    let group = policy.storage.cgroup.as_ref().filter(|_| of_host);
    match (pressure_trigger(roots, policy, share), group) {
        (Ok(_), None) => None,
        (Ok(_), Some(group)) => Some((
            format!("pressure information of {group}"),
            "that of the whole host counts",
            "control groups of version 2, with the group there when the swapper starts",
        )),
        (Err(error), _) => {
            let remedy = if error.kind() == io::ErrorKind::NotFound {
                "a kernel with CONFIG_PSI, started with psi=1"
            } else {
                "the file to be writable (a unit without ProtectControlGroups), or CAP_SYS_RESOURCE"
            };
            Some((
                format!("a pressure trigger on {}: {error}", file.display()),
                "only free storage tells when it is short",
                remedy,
            ))
        }
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

    #[test]
    fn a_pressure_trigger_is_there_or_it_is_said_why_not() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots {
            proc: dir.path().join("proc"),
            sys: dir.path().join("sys"),
        };
        let policy =
            |storage: &str| -> Policy { toml::from_str(&format!("[[watch]]\npid = 9\n{storage}")).unwrap() };
        let share = policy("[storage]\npressure_share = 0.1\n");
        let of_group = policy("[storage]\npressure_share = 0.1\ncgroup = \"/load\"\n");
        let lacking = |policy: &Policy| pressure_lacking(&roots, policy);
        assert_eq!(lacking(&policy("")), None);
        let (what, _, would_need) = lacking(&share).unwrap();
        assert!(what.contains("proc/pressure/memory"), "{what}");
        assert!(would_need.contains("CONFIG_PSI"));

        fs::create_dir_all(roots.proc.join("pressure")).unwrap();
        fs::write(roots.proc.join("pressure/memory"), "").unwrap();
        assert_eq!(lacking(&share), None);
        let (what, instead, _) = lacking(&of_group).unwrap();
        assert_eq!(
            (what.as_str(), instead),
            ("pressure information of /load", "that of the whole host counts")
        );

        // A directory cannot be written: the file is there, and the trigger is refused.
        fs::create_dir_all(roots.sys.join("fs/cgroup/load/memory.pressure")).unwrap();
        fs::write(roots.sys.join("fs/cgroup/cgroup.procs"), "").unwrap();
        let (what, instead, would_need) = lacking(&of_group).unwrap();
        assert!(what.contains("load/memory.pressure"), "{what}");
        assert_eq!(instead, "only free storage tells when it is short");
        assert!(would_need.contains("ProtectControlGroups"));
    }
}
