//! What is waited for by user and control group, and who ends the waits of whom.
//!
//! The kernel's programs tell of processes; here they become users and groups. Who ends a wait for a lock held it, as far as the
//! kernel can see; who ends one for another process answered.

use std::collections::BTreeMap;
use std::os::fd::RawFd;

use crate::by_pid::Processes;
use crate::counters::Totals;
use crate::ebpf::waits::{HeldCause, Pair, Party};
use crate::files::{self, RelativePath};
use crate::placement::Placement;
use crate::process::Process;
use crate::users::{Facts, UserId, Users};

/// So many combinations have sums. What further ones wait is counted as lost.
const MOST: usize = 4096;
/// Scans after which the group of a process is read anew.
const GROUP_CHECK_SCANS: u64 = 32;

/// Number of a group: its place in a list of names.
type GroupId = u32;

/// A user's processes in one control group; `None`: they ended before it could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    user: UserId,
    group: Option<GroupId>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    waiter: Place,
    cause: HeldCause,
    holder: Place,
    name: String,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    ns: u64,
    count: u64,
    changed: bool,
}

/// One row of table `wait`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitReading {
    pub user: String,
    pub cgroup: Option<String>,
    pub totals: Totals,
}

/// One row of table `holder`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HolderReading {
    pub user: String,
    pub cgroup: Option<String>,
    pub cause: &'static str,
    pub holder: String,
    pub holder_cgroup: Option<String>,
    pub holder_name: String,
    pub wait_us: i64,
    pub waits: i64,
}

/// The control group that a process was last seen in.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownGroup {
    group: Option<GroupId>,
    /// The scan from which on it is read anew.
    due: u64,
}

/// The sums since the run began.
#[derive(Debug, Default)]
pub struct Holders {
    groups: Vec<String>,
    waits: BTreeMap<Place, (Totals, bool)>,
    pairs: BTreeMap<Key, Sum>,
    /// What could not be kept for want of room: combinations, each time.
    lost: u64,
}

/// Where the groups of processes are read, and when.
#[derive(Debug, Clone, Copy)]
pub struct Scan {
    pub directory: RawFd,
    pub number: u64,
}

impl Holders {
    /// Takes what a process has used and waited for since the last scan.
    pub fn take(&mut self, process: &mut Process, user: UserId, scan: Scan) {
        let step = process.step;
        if step.waited.is_idle() && step.cpu_ns == 0 && step.run_delay_ns == 0 {
            return;
        }
        let group = self.group(process, scan);
        let room = self.waits.len() < MOST;
        match self.waits.entry(Place { user, group }) {
            std::collections::btree_map::Entry::Vacant(_) if !room => self.lost += 1,
            entry => {
                let (totals, changed) = entry.or_default();
                totals.add(step);
                *changed = true;
            }
        }
    }

    /// Takes who ended the waits of whom.
    pub fn pair(&mut self, pair: &Pair, processes: &mut Processes, users: &mut Users, scan: Scan) {
        let mut place = |party: Party| {
            let known = processes.get_mut(party.pid);
            let user = known.as_ref().and_then(|process| process.user);
            let group = known.and_then(|process| self.group(process, scan));
            let facts = Facts {
                pid: party.pid,
                session: 0,
                kernel_thread: false,
                uid: Some(party.uid),
                parent: None,
            };
            Place {
                user: user.unwrap_or_else(|| users.of(facts)),
                group,
            }
        };
        let (waiter, holder) = (place(pair.waiter), place(pair.holder));
        let known = processes.get(pair.holder.pid).filter(|process| process.seen != 0);
        let name = known.map(|process| process.threads[0].name);
        let key = Key {
            waiter,
            cause: pair.cause,
            holder,
            name: name.unwrap_or(pair.name).text().into_owned(),
        };
        if self.pairs.len() >= MOST && !self.pairs.contains_key(&key) {
            self.lost += pair.count;
            return;
        }
        let sum = self.pairs.entry(key).or_default();
        sum.ns = sum.ns.saturating_add(pair.waited_ns);
        sum.count = sum.count.saturating_add(pair.count);
        sum.changed = true;
    }

    /// What could not be kept since the last time.
    pub fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    /// Rows of what has changed since the last time.
    pub fn rows(&mut self, users: &Users) -> (Vec<WaitReading>, Vec<HolderReading>) {
        let name = |place: Place| users.names()[place.user].clone();
        let groups = &self.groups;
        let group = |place: Place| place.group.map(|group| groups[group as usize].clone());
        let waits = self.waits.iter_mut().filter(|(_, (_, changed))| *changed);
        let waits = waits.map(|(&place, (totals, changed))| {
            *changed = false;
            WaitReading {
                user: name(place),
                cgroup: group(place),
                totals: *totals,
            }
        });
        let pairs = self.pairs.iter_mut().filter(|(_, sum)| sum.changed);
        let pairs = pairs.map(|(key, sum)| {
            sum.changed = false;
            HolderReading {
                user: name(key.waiter),
                cgroup: group(key.waiter),
                cause: key.cause.word(),
                holder: name(key.holder),
                holder_cgroup: group(key.holder),
                holder_name: key.name.clone(),
                wait_us: i64::try_from(sum.ns / 1000).unwrap_or(i64::MAX),
                waits: i64::try_from(sum.count).unwrap_or(i64::MAX),
            }
        });
        (waits.collect(), pairs.collect())
    }

    /// The group of a process: as the list of its groups has it, version 2 before systemd's own hierarchy before any other; the
    /// root where it is in no other.
    fn group(&mut self, process: &mut Process, scan: Scan) -> Option<GroupId> {
        if process.cgroup.due > scan.number {
            return process.cgroup.group;
        }
        let spread = u64::from(process.pid.unsigned_abs()) % GROUP_CHECK_SCANS;
        process.cgroup.due = scan.number + GROUP_CHECK_SCANS + spread;
        let mut buffer = [0; 4096];
        let path = RelativePath::of_process(process.pid, "cgroup");
        // One that has ended was where it was.
        if let Ok(text) = files::read_below(scan.directory, &path, &mut buffer) {
            let path = Placement::read(text).paths.into_iter().next();
            process.cgroup.group = self.number(path.unwrap_or_else(|| "/".to_owned()));
        }
        process.cgroup.group
    }

    fn number(&mut self, path: String) -> Option<GroupId> {
        let known = self.groups.iter().position(|group| *group == path);
        if known.is_none() && self.groups.len() >= MOST {
            return None;
        }
        let place = known.unwrap_or_else(|| {
            self.groups.push(path);
            self.groups.len() - 1
        });
        GroupId::try_from(place).ok()
    }
}
