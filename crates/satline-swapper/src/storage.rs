//! How much storage is free: of a control group with a limit, or of the host.

use std::fs;
use std::path::PathBuf;

use crate::decision::StorageSeen;
use crate::policy::{Policy, Storage as StoragePolicy};
use crate::roots::{Roots, number_in, value_of};

/// Looks at storage.
#[derive(Debug)]
pub struct Storage {
    roots: Roots,
    policy: Policy,
    group: Option<PathBuf>,
    /// Written out, and perhaps still held by the kernel until it needs the frames.
    written_bytes: u64,
}

/// A reading before the policy is applied, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Reading {
    total: u64,
    free: u64,
    unmapped: u64,
}

impl Storage {
    /// Of the group or host that the policy names.
    pub fn new(roots: &Roots, policy: &Policy) -> Self {
        Storage {
            group: group_of(roots, policy),
            roots: roots.clone(),
            policy: policy.clone(),
            written_bytes: 0,
        }
    }

    /// A page-out freed so many bytes.
    pub fn wrote(&mut self, bytes: u64) {
        self.written_bytes = self.written_bytes.saturating_add(bytes);
    }

    /// What is free now; none if it cannot be read, as of a group that is not there yet.
    pub fn look(&mut self, pressed: bool) -> Option<StorageSeen> {
        let meminfo = fs::read_to_string(self.roots.proc.join("meminfo")).ok()?;
        let of = |name| value_of(&meminfo, name).map(|kib| kib * 1024);
        let host = Reading {
            total: of("MemTotal")?,
            free: of("MemAvailable")?,
            unmapped: unmapped_anonymous([
                of("Active(anon)"),
                of("Inactive(anon)"),
                of("AnonPages"),
                of("Shmem"),
            ]),
        };
        let reading = if self.policy.storage.cgroup.is_none() {
            host
        } else {
            if self.group.as_ref().is_none_or(|path| !path.exists()) {
                self.group = group_of(&self.roots, &self.policy);
            }
            self.group_reading(host)?
        };
        // What was written out counts as used while it is in the swap cache, but costs nothing to take. So is what was read back
        // in and is used: only what nobody maps is free.
        self.written_bytes = self.written_bytes.min(reading.unmapped);
        let swap_total = of("SwapTotal").unwrap_or(0);
        let StoragePolicy { low, high, .. } = self.policy.storage;
        Some(StorageSeen {
            total_bytes: reading.total,
            free_bytes: reading.free + self.written_bytes,
            low_bytes: low.bytes(reading.total),
            high_bytes: high.bytes(reading.total).max(low.bytes(reading.total)),
            pressed,
            swap_free_bytes: of("SwapFree").unwrap_or(0),
            swap_reserve_bytes: self.policy.safety.swap_reserve.bytes(swap_total),
        })
    }

    fn group_reading(&self, host: Reading) -> Option<Reading> {
        let group = self.group.as_ref()?;
        let version_1 = number_in(&group.join("memory.limit_in_bytes"));
        let (limit, usage) = match version_1 {
            Some(limit) => (Some(limit), number_in(&group.join("memory.usage_in_bytes"))?),
            None => {
                let limits = ["memory.max", "memory.high"].map(|file| number_in(&group.join(file)));
                (
                    limits.into_iter().flatten().min(),
                    number_in(&group.join("memory.current"))?,
                )
            }
        };
        let limit = limit.unwrap_or(u64::MAX).min(host.total);
        let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let of = |name: &str| {
            let total = format!("total_{name}");
            value_of(&stat, &total).or_else(|| value_of(&stat, name))
        };
        let files = of("inactive_file").unwrap_or(0);
        Some(Reading {
            total: limit,
            free: limit.saturating_sub(usage.saturating_sub(files)).min(host.free),
            unmapped: unmapped_anonymous([
                of("active_anon"),
                of("inactive_anon"),
                of("anon").or_else(|| of("rss")),
                of("shmem"),
            ]),
        })
    }
}

/// Anonymous storage on the kernel's lists that no process maps: listed (active, inactive) − mapped − shared memory. 0 where one
/// of them is not told.
fn unmapped_anonymous(told: [Option<u64>; 4]) -> u64 {
    let [Some(active), Some(inactive), Some(mapped), Some(shared)] = told else {
        return 0;
    };
    (active + inactive).saturating_sub(mapped).saturating_sub(shared)
}

fn group_of(roots: &Roots, policy: &Policy) -> Option<PathBuf> {
    let group = policy.storage.cgroup.as_ref()?;
    roots
        .group_with(group, "memory.limit_in_bytes")
        .or_else(|| roots.group_with(group, "memory.max"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(dir: &std::path::Path, path: &str, text: &str) {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    const MEMINFO: &str = "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 300 kB\nSwapCached: 90 kB\nActive(anon): 200 kB\n\
        Inactive(anon): 100 kB\nAnonPages: 250 kB\nShmem: 10 kB\nSwapTotal: 2000 kB\nSwapFree: 1500 kB\n";

    fn storage(dir: &std::path::Path, policy: &str) -> Storage {
        put(dir, "proc/meminfo", MEMINFO);
        let roots = Roots {
            proc: dir.join("proc"),
            sys: dir.join("sys"),
        };
        let policy = toml::from_str(&format!("[[watch]]\npid = 9\n{policy}")).unwrap();
        Storage::new(&roots, &policy)
    }

    #[test]
    fn of_the_host() {
        let dir = tempfile::tempdir().unwrap();
        let mut storage = storage(dir.path(), "[storage]\nlow = 0.1\nhigh = \"200 KiB\"\n");
        storage.wrote(100 << 10);
        let seen = storage.look(true).unwrap();
        let expected = StorageSeen {
            total_bytes: 1000 << 10,
            free_bytes: (300 + 40) << 10,
            low_bytes: 100 << 10,
            high_bytes: 200 << 10,
            pressed: true,
            swap_free_bytes: 1500 << 10,
            swap_reserve_bytes: 100 << 10,
        };
        assert_eq!(
            seen, expected,
            "what was written out is free only as far as nobody maps it"
        );
    }

    #[test]
    fn of_a_group_of_version_1() {
        let dir = tempfile::tempdir().unwrap();
        let group = "sys/fs/cgroup/memory/load";
        let mut storage = storage(
            dir.path(),
            "[storage]\ncgroup = \"/load\"\nlow = 0.5\nhigh = 0.5\n",
        );
        assert_eq!(storage.look(false), None, "the group is not there yet");
        put(dir.path(), "sys/fs/cgroup/memory/cgroup.procs", "");
        put(dir.path(), &format!("{group}/memory.limit_in_bytes"), "512000\n");
        put(dir.path(), &format!("{group}/memory.usage_in_bytes"), "500000\n");
        put(
            dir.path(),
            &format!("{group}/memory.stat"),
            "inactive_file 7\nrss 9\ntotal_inactive_file 100000\ntotal_rss 300000\ntotal_active_anon 200000\n\
             total_inactive_anon 110000\ntotal_shmem 2000\n",
        );
        storage.wrote(1 << 20);
        let seen = storage.look(false).unwrap();
        assert_eq!((seen.free_bytes, seen.low_bytes), (112_000 + 8000, 256_000));
    }

    #[test]
    fn of_a_group_of_version_2() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "sys/fs/cgroup/cgroup.procs", "");
        for (file, text) in [
            ("memory.max", "max\n"),
            ("memory.high", "400000\n"),
            ("memory.current", "300000\n"),
            (
                "memory.stat",
                "anon 100000\nshmem 0\nactive_anon 4096\ninactive_anon 100000\ninactive_file 50000\nswapcached 40960\n",
            ),
        ] {
            put(dir.path(), &format!("sys/fs/cgroup/load/{file}"), text);
        }
        let mut storage = storage(dir.path(), "[storage]\ncgroup = \"load\"\n");
        storage.wrote(1 << 20);
        assert_eq!(storage.look(false).unwrap().free_bytes, 150_000 + 4096);
    }
}
