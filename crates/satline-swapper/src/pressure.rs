//! Pressure: the kernel's own word that tasks wait for storage.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::policy::Policy;
use crate::roots::Roots;

/// The trigger that is set, where the policy asks for one.
#[derive(Debug, Default)]
pub struct Pressure {
    set: Option<(PathBuf, File)>,
}

impl Pressure {
    /// Sets it where the pressure that counts is told now: a group may be taken away, and be there again.
    pub fn follow(&mut self, roots: &Roots, policy: &Policy) {
        let Some(share) = policy.storage.pressure_share else {
            return;
        };
        let file = file(roots, policy);
        if self.place() != Some(&file) {
            self.set = trigger(roots, policy, share).ok().map(|set| (file, set));
        }
    }

    /// The kernel took it away.
    pub fn lost(&mut self) {
        self.set = None;
    }

    /// What becomes urgent; none: there is no trigger.
    pub fn descriptor(&self) -> Option<RawFd> {
        self.set.as_ref().map(|(_, file)| file.as_raw_fd())
    }

    fn place(&self) -> Option<&Path> {
        self.set.as_ref().map(|(path, _)| path.as_path())
    }
}

/// The pressure information that counts: of the policy's group, where there is some, else of the whole host.
pub fn file(roots: &Roots, policy: &Policy) -> PathBuf {
    let group = policy.storage.cgroup.as_ref();
    group
        .and_then(|group| roots.group_with(group, "memory.pressure"))
        .map_or_else(
            || roots.proc.join("pressure/memory"),
            |group| group.join("memory.pressure"),
        )
}

/// A trigger of `/proc/pressure/memory` or a group's `memory.pressure`: its descriptor becomes urgent when tasks waited for
/// storage longer than the share of two seconds. Shorter windows need a privilege.
///
/// # Errors
/// The kernel has no pressure information, or does not allow triggers.
pub fn trigger(roots: &Roots, policy: &Policy, share: f64) -> std::io::Result<File> {
    const WINDOW_US: u64 = 2_000_000;
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(file(roots, policy))?;
    let stall_us = ((share * WINDOW_US as f64) as u64).clamp(1000, WINDOW_US - 1);
    file.write_all(format!("some {stall_us} {WINDOW_US}\0").as_bytes())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_trigger_follows_its_group() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots {
            proc: dir.path().join("proc"),
            sys: dir.path().join("sys"),
        };
        let host = roots.proc.join("pressure/memory");
        let group = roots.sys.join("fs/cgroup/load/memory.pressure");
        for path in [&host, &group] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        fs::write(roots.sys.join("fs/cgroup/cgroup.procs"), "").unwrap();
        fs::write(&host, "").unwrap();
        let policy = |share: &str| -> Policy {
            toml::from_str(&format!(
                "[[watch]]\npid = 9\n[storage]\ncgroup = \"/load\"\n{share}"
            ))
            .unwrap()
        };
        let (asked, not_asked) = (policy("pressure_share = 0.1\n"), policy(""));
        let mut pressure = Pressure::default();
        pressure.follow(&roots, &not_asked);
        assert_eq!(pressure.descriptor(), None);
        pressure.follow(&roots, &asked);
        assert_eq!(
            pressure.place(),
            Some(host.as_path()),
            "the group is not there yet"
        );
        fs::write(&group, "").unwrap();
        pressure.follow(&roots, &asked);
        assert_eq!(pressure.place(), Some(group.as_path()));
        assert_eq!(fs::read_to_string(&group).unwrap(), "some 200000 2000000\0");
        let kept = pressure.descriptor();
        pressure.follow(&roots, &asked);
        assert_eq!(pressure.descriptor(), kept, "what is set stays");
        pressure.lost();
        assert_eq!(pressure.descriptor(), None);
        pressure.follow(&roots, &asked);
        assert_eq!(pressure.place(), Some(group.as_path()));
    }
}
