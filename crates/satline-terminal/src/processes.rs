//! Which processes descend from the emulator, so that none is left behind.
//!
//! The emulator is the subreaper of its descendants: whatever a user started and orphaned becomes its child, so that
//! the tree of parents finds it even if it began a session of its own.

use std::collections::HashMap;
use std::path::Path;

use satline_program::parse;

/// A process as `/proc/PID/stat` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    pub session: i32,
    /// It has ended and waits to be reaped.
    pub zombie: bool,
}

/// All processes under a proc root; those that vanish meanwhile are left out.
pub fn all(proc_root: &Path) -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir(proc_root) else {
        return Vec::new();
    };
    let stat = |entry: std::fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = parse::stat(&std::fs::read(entry.path().join("stat")).ok()?)?;
        Some(Process {
            pid,
            parent: stat.parent,
            session: stat.session,
            zombie: matches!(stat.state, b'Z' | b'X'),
        })
    };
    entries.flatten().filter_map(stat).collect()
}

/// Those that descend from `ancestor`, zombies excepted.
pub fn descendants(processes: &[Process], ancestor: i32) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<&Process>> = HashMap::new();
    for process in processes {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut ancestors = vec![ancestor];
    while let Some(parent) = ancestors.pop() {
        for process in children.remove(&parent).unwrap_or_default() {
            ancestors.push(process.pid);
            if !process.zombie {
                found.push(*process);
            }
        }
    }
    found
}

/// Sends a signal to a process, or, with a negative number, to a process group.
pub fn send(pid: i32, signal: libc::c_int) {
    if !(-1..=0).contains(&pid) {
        // SAFETY: kill takes plain numbers; 0 and -1, which mean many processes, are kept out.
        unsafe { libc::kill(pid, signal) };
    }
}

/// An ended child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reaped {
    pub pid: i32,
    /// Wait status.
    pub status: libc::c_int,
    /// Processor time that it used.
    pub cpu_us: i64,
}

/// Reaps one ended child, if there is one.
pub fn reap() -> Option<Reaped> {
    wait(-1, libc::WNOHANG)
}

/// Reaps this child when it has ended.
pub fn reap_one(pid: i32) -> Option<Reaped> {
    wait(pid, 0)
}

fn wait(which: i32, options: libc::c_int) -> Option<Reaped> {
    let mut status = 0;
    // SAFETY: all-zero is a valid rusage; both pointers are valid.
    let (pid, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(which, &mut status, options, &mut usage), usage)
    };
    let us = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    (pid > 0).then(|| Reaped {
        pid,
        status,
        cpu_us: us(usage.ru_utime) + us(usage.ru_stime),
    })
}

/// A wait status in words.
pub fn ending(status: libc::c_int) -> String {
    if libc::WIFSIGNALED(status) {
        format!("was killed by signal {}", libc::WTERMSIG(status))
    } else {
        format!("ended with status {}", libc::WEXITSTATUS(status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_under_a_made_up_root() {
        let root = tempfile::tempdir().unwrap();
        for (pid, parent, state) in [
            (1, 0, "S"),
            (10, 1, "S"),
            (11, 10, "Z"),
            (12, 11, "R"),
            (20, 1, "S"),
        ] {
            let directory = root.path().join(pid.to_string());
            std::fs::create_dir(&directory).unwrap();
            std::fs::write(
                directory.join("stat"),
                format!("{pid} (p) {state} {parent} {pid} {pid}{}\n", " 0".repeat(18)),
            )
            .unwrap();
        }
        std::fs::create_dir(root.path().join("self")).unwrap();
        std::fs::create_dir(root.path().join("99")).unwrap();
        let mut pids: Vec<_> = descendants(&all(root.path()), 10)
            .iter()
            .map(|process| process.pid)
            .collect();
        pids.sort_unstable();
        assert_eq!(pids, [12]);
        assert_eq!(descendants(&all(root.path()), 1).len(), 3);
        assert!(all(Path::new("/nowhere")).is_empty());
    }
}
