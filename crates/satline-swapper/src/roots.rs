//! Where the kernel's files are; tests make false ones.

use std::fs;
use std::path::{Path, PathBuf};

use satline_program::parse;

/// The outside roots.
#[derive(Debug, Clone)]
pub struct Roots {
    pub proc: PathBuf,
    pub sys: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Roots {
            proc: "/proc".into(),
            sys: "/sys".into(),
        }
    }
}

impl Roots {
    /// A test's false /proc.
    #[cfg(test)]
    pub fn with_proc(proc: &Path) -> Self {
        Roots {
            proc: proc.into(),
            ..Roots::default()
        }
    }

    /// A file of a process.
    pub fn of_process(&self, pid: i32, name: &str) -> PathBuf {
        self.proc.join(pid.to_string()).join(name)
    }

    /// The mounted hierarchies of control groups: version 2 first, then those of version 1 that count or hold processes.
    pub fn hierarchies(&self) -> Vec<PathBuf> {
        let cgroup = self.sys.join("fs/cgroup");
        ["", "unified", "cpuacct", "cpu,cpuacct", "memory", "systemd"]
            .iter()
            .map(|name| {
                if name.is_empty() {
                    cgroup.clone()
                } else {
                    cgroup.join(name)
                }
            })
            .filter(|path| path.join("cgroup.procs").exists())
            .collect()
    }

    /// The directory of a group in the first hierarchy where it has `file`.
    pub fn group_with(&self, group: &str, file: &str) -> Option<PathBuf> {
        self.hierarchies()
            .into_iter()
            .map(|root| root.join(group.trim_start_matches('/')))
            .find(|path| path.join(file).exists())
    }
}

/// The value of `name` in text of lines `name value`; the name may end with a colon.
pub fn value_of(text: &str, name: &str) -> Option<u64> {
    u64::try_from(parse::value_of(text.as_bytes(), name)?).ok()
}

/// A file that holds one number; none for `max`.
pub fn number_in(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}
