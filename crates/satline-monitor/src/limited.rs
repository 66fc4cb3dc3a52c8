//! Control groups that have a limit in force, found without being asked for, and who is in them.
//!
//! Every mounted hierarchy that has a processor quota, a memory limit or an I/O cap to give is gone through, breadth first, and a group
//! that has one and at least one process in it or below is recorded by its path. A search costs a few file reads for each
//! directory, so that the next one waits a thousand times as long as the last took. Groups are bounded in number, and
//! those recorded already stay, lest their curves break off.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use satline_program::parse;

use crate::by_pid::ByPid;
use crate::cgroup::{Hierarchy, WatchedGroup};
use crate::files;
use crate::missing::Missing;

/// So many groups are recorded without being asked for.
const GROUPS: usize = 64;
/// So many directories of all hierarchies together are looked at in one search.
const DIRECTORIES: usize = 4096;
/// The shortest time between two searches, and how many times as long as the last one took.
const PERIOD_NS: i64 = 5_000_000_000;
const SPARING: i64 = 1000;

/// The search and what it found.
#[derive(Debug, Default)]
pub struct Limited {
    groups: Vec<WatchedGroup>,
    due_ns: Option<i64>,
    /// How many groups, or directories, were left out.
    is_cut: bool,
}

impl Limited {
    /// The groups that the last search found.
    pub fn groups(&self) -> &[WatchedGroup] {
        &self.groups
    }

    /// Whether it is time for a search.
    pub fn is_due(&self, now_ns: i64) -> bool {
        self.due_ns.is_none_or(|due| now_ns >= due)
    }

    /// Says when the next search is due, after one that took so much processor time.
    pub fn searched(&mut self, now_ns: i64, cost_us: i64) {
        let wait = cost_us
            .saturating_mul(1000)
            .saturating_mul(SPARING)
            .max(PERIOD_NS);
        self.due_ns = Some(now_ns.saturating_add(wait));
    }

    /// Looks for groups with a limit in force, other than those of `named`, which are recorded anyway. Returns what
    /// is left out, the first time that something is.
    pub fn search(&mut self, hierarchies: &[Hierarchy], named: &[WatchedGroup]) -> Option<Missing> {
        let (mut found, mut left) = (Vec::new(), DIRECTORIES);
        for hierarchy in hierarchies {
            search_hierarchy(hierarchy, &mut found, &mut left);
        }
        found.retain(|path| named.iter().all(|group| group.path() != path));
        // A group stands in several hierarchies. Those nearest to the root hold the others.
        found.sort_by(|a, b| (a.components().count(), a).cmp(&(b.components().count(), b)));
        found.dedup();
        let (known, new): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|path| self.groups.iter().any(|group| group.path() == path));
        let count = known.len() + new.len();
        self.groups = known
            .into_iter()
            .chain(new)
            .take(GROUPS)
            .map(|path| {
                let name = format!("/{}", path.display());
                WatchedGroup::new(name, &path.to_string_lossy())
            })
            .collect();
        let reason = if count > GROUPS {
            format!("{count} control groups have a limit in force; {GROUPS} are recorded")
        } else if left == 0 {
            format!("there are more control groups than the {DIRECTORIES} that were looked at")
        } else {
            return None;
        };
        let need = "--cgroup /PATH for each group of interest";
        (!std::mem::replace(&mut self.is_cut, true))
            .then(|| Missing::new("cgroup: further groups", reason, need))
    }
}

fn search_hierarchy(hierarchy: &Hierarchy, found: &mut Vec<PathBuf>, left: &mut usize) {
    let gives = |name: &str| hierarchy.version == 2 || hierarchy.controllers.iter().any(|c| c == name);
    let controllers = ["cpu", "memory", "blkio"].map(gives);
    if controllers == [false; 3] {
        return;
    }
    let mut queue = VecDeque::from([PathBuf::new()]);
    while let Some(path) = queue.pop_front() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let directory = hierarchy.directory.join(&path);
        if is_limited(&directory, hierarchy.version, controllers) && !members(&directory, true).is_empty() {
            found.push(path.clone());
        }
        queue.extend(children(&directory).into_iter().map(|name| path.join(name)));
    }
}

fn children(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let directories = entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir()));
    let mut names: Vec<PathBuf> = directories.map(|e| e.file_name().into()).collect();
    names.sort_unstable();
    names
}

fn is_limited(directory: &Path, version: u8, [cpu, memory, blkio]: [bool; 3]) -> bool {
    let text = |file: &str| files::read(&directory.join(file)).unwrap_or_default();
    let has_number = |file: &str, separator: fn(&u8) -> bool| {
        let text = text(file);
        text.split(separator)
            .any(|field| parse::unsigned(field).is_some())
    };
    let blank: fn(&u8) -> bool = |b| b.is_ascii_whitespace();
    if version == 2 {
        return parse::fields(&text("cpu.max"))
            .next()
            .is_some_and(|quota| parse::unsigned(quota).is_some())
            || has_number("memory.max", blank)
            || has_number("memory.high", blank)
            || has_number("io.max", |b| b.is_ascii_whitespace() || *b == b'=');
    }
    let number = |file: &str| files::read_number(&directory.join(file));
    let caps = ["read_iops", "write_iops", "read_bps", "write_bps"];
    cpu && number("cpu.cfs_quota_us").is_some_and(|quota| quota > 0)
        || memory && number("memory.limit_in_bytes").is_some_and(crate::cgroup::is_limit_v1)
        || blkio
            && caps
                .iter()
                .any(|cap| has_number(&format!("blkio.throttle.{cap}_device"), blank))
}

/// The processes in a group and in those below it; with `one_is_enough` it stops at the first.
fn members(directory: &Path, one_is_enough: bool) -> Vec<i32> {
    let mut pids = Vec::new();
    let mut queue = VecDeque::from([directory.to_owned()]);
    let mut left = DIRECTORIES;
    while let (Some(directory), true) = (queue.pop_front(), left > 0) {
        left -= 1;
        let text = files::read(&directory.join("cgroup.procs")).unwrap_or_default();
        pids.extend(parse::lines(&text).filter_map(|line| i32::try_from(parse::unsigned(line)?).ok()));
        if one_is_enough && !pids.is_empty() {
            break;
        }
        queue.extend(children(&directory).into_iter().map(|name| directory.join(name)));
    }
    pids
}

/// Which recorded group a process was in when groups were last searched for; the lowest, where groups lie in each other.
#[derive(Debug, Default)]
pub struct Membership {
    names: Vec<String>,
    of: ByPid<usize>,
}

impl Membership {
    /// Reads who is in the groups.
    pub fn read(groups: &[WatchedGroup], hierarchies: &[Hierarchy]) -> Self {
        let mut groups: Vec<&WatchedGroup> = groups.iter().collect();
        groups.sort_by_key(|group| group.path().components().count());
        let mut of = ByPid::default();
        for (place, group) in groups.iter().enumerate() {
            for directory in group.directories(hierarchies) {
                of.extend(members(&directory, false).into_iter().map(|pid| (pid, place)));
            }
        }
        let names = groups.iter().map(|group| group.name.clone()).collect();
        Self { names, of }
    }

    /// The group of a process, as a place in the names.
    pub fn group(&self, pid: i32) -> Option<usize> {
        self.of.get(&pid).copied()
    }

    /// The name of a group.
    pub fn name(&self, group: usize) -> Option<&str> {
        self.names.get(group).map(String::as_str)
    }

    /// How many groups there are.
    pub fn count(&self) -> usize {
        self.names.len()
    }
}

#[cfg(test)]
#[path = "limited_tests.rs"]
mod tests;
