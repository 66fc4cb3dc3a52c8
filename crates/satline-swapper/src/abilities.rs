//! What this kernel has of what the swapper needs; what it lacks is said at the start.

use std::{fs, io};

use satline_program::Error;
use serde::Serialize;

use crate::calls::{self, Advice, FaultCounter, Faults};
use crate::pages::Method;
use crate::policy::Policy;
use crate::pressure;
use crate::roots::{Roots, number_in, value_of};

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
    pub fn look(roots: &Roots, policy: &Policy) -> Result<Self, Error> {
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
                Error::system(
                    "process_madvise(MADV_WILLNEED)",
                    &error,
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
                "CAP_PERFMON and a kernel with CONFIG_PERF_EVENTS (Debian's: kernel.perf_event_paranoid=2 besides)",
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
        for (what, instead, would_need) in pressure_lacking(roots, policy)
            .into_iter()
            .chain(holding_lacking(roots, policy))
            .chain(writeback_lacking(roots, policy))
        {
            lack(&what, instead, would_need);
        }
        Ok(Abilities {
            method,
            page_bytes,
            wakes,
            lacking,
        })
    }
}

/// What is lacking, what is done instead, and what it would need.
type Lack = (String, &'static str, &'static str);

/// What `[admission]` asks for and does not get.
fn holding_lacking(roots: &Roots, policy: &Policy) -> Option<Lack> {
    let scope = number_in(&roots.proc.join("sys/kernel/yama/ptrace_scope")).unwrap_or(0);
    let forbidden = scope > 2 || !has_capability(roots, CAP_SYS_PTRACE);
    (policy.admission.hold_seconds > 0.0 && forbidden).then(|| {
        (
            "holding who comes back: ptrace is forbidden".into(),
            "whoever comes back is let in at once",
            "CAP_SYS_PTRACE, and kernel.yama.ptrace_scope below 3 since the host was started",
        )
    })
}

/// Devices of `[tiers]` whose coldest pages cannot be written back.
fn writeback_lacking<'a>(roots: &'a Roots, policy: &'a Policy) -> impl Iterator<Item = Lack> + 'a {
    const INSTEAD: &str = "its coldest pages stay in compressed storage";
    policy.tiers.zram.iter().filter_map(|name| {
        let file = roots.sys.join("block").join(name).join("writeback");
        let error = fs::OpenOptions::new().write(true).open(file).err()?;
        Some(if error.kind() == io::ErrorKind::NotFound {
            let would_need =
                "a kernel with CONFIG_ZRAM_WRITEBACK, and a backing device set before the disk size";
            (format!("writeback of {name}"), INSTEAD, would_need)
        } else {
            let would_need = "the file to be writable (a unit without ProtectKernelTunables)";
            (format!("writeback of {name}: {error}"), INSTEAD, would_need)
        })
    })
}

/// What `storage.pressure_share` asks for and does not get: a trigger is tried, since one may be refused where the file is there.
fn pressure_lacking(roots: &Roots, policy: &Policy) -> Option<Lack> {
    let share = policy.storage.pressure_share?;
    let file = pressure::file(roots, policy);
    let of_host = file.starts_with(&roots.proc);
    let group = policy.storage.cgroup.as_ref().filter(|_| of_host);
    match (pressure::trigger(roots, policy, share), group) {
        (Ok(_), None) => None,
        (Ok(_), Some(group)) => Some((
            format!("pressure information of {group}"),
            "that of the whole host counts",
            "control groups of version 2, and the group",
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
/// Number of the right to trace processes of others.
const CAP_SYS_PTRACE: u32 = 19;

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
    fn where_nobody_can_be_held_it_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::with_proc(dir.path());
        let yama = dir.path().join("sys/kernel/yama");
        fs::create_dir_all(&yama).unwrap();
        fs::create_dir(dir.path().join("self")).unwrap();
        let policy = |hold: &str| -> Policy {
            toml::from_str(&format!(
                "[[watch]]\npid = 9\n[admission]\nhold_seconds = {hold}\n"
            ))
            .unwrap()
        };
        for (scope, rights, lacks) in [("2", "80000", false), ("3", "80000", true), ("0", "0", true)] {
            fs::write(yama.join("ptrace_scope"), format!("{scope}\n")).unwrap();
            fs::write(dir.path().join("self/status"), format!("CapEff:\t{rights}\n")).unwrap();
            assert_eq!(
                holding_lacking(&roots, &policy("5.0")).is_some(),
                lacks,
                "{scope} {rights}"
            );
            assert_eq!(holding_lacking(&roots, &policy("0.0")), None);
        }
    }

    #[test]
    fn where_a_device_cannot_be_written_back_it_is_said_why() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots {
            proc: dir.path().join("proc"),
            sys: dir.path().join("sys"),
        };
        for (name, is_directory) in [("zram0", false), ("zram1", true)] {
            let file = roots.sys.join("block").join(name).join("writeback");
            // A directory cannot be written, whoever asks.
            fs::create_dir_all(if is_directory {
                &file
            } else {
                file.parent().unwrap()
            })
            .unwrap();
            if !is_directory {
                fs::write(file, "").unwrap();
            }
        }
        let policy: Policy =
            toml::from_str("[[watch]]\npid = 9\n[tiers]\nzram = [\"zram0\", \"zram1\", \"zram2\"]\n")
                .unwrap();
        let told: Vec<Lack> = writeback_lacking(&roots, &policy).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].0.contains("zram1: ") && told[0].2.contains("ProtectKernelTunables"));
        assert!(told[1].0.ends_with("zram2") && told[1].2.contains("CONFIG_ZRAM_WRITEBACK"));
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
