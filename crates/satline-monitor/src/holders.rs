//! What is waited for by user and control group, and who ends the waits of whom.
//!
//! The kernel's programs tell of processes; here they become users and groups. Who ends a wait for a lock held it, as far as the
//! kernel can see; who ends one for another process answered.

use std::collections::BTreeMap;
use std::os::fd::RawFd;

use satline_recording::row;

use crate::by_pid::Processes;
use crate::counters::Totals;
use crate::ebpf::waits::{Disk, DiskWait, HeldCause, Pair, Party};
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

row! {
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
}

row! {
    /// One row of table `disk_wait`.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct DiskReading {
        pub user: String,
        pub cgroup: Option<String>,
        /// `None`: it cannot be told.
        pub device: Option<String>,
        pub wait_us: i64,
        pub waits: i64,
    }
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
    disks: BTreeMap<(Place, Option<Disk>), Sum>,
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

    /// Who a process belongs to.
    fn place_of(&mut self, party: Party, processes: &mut Processes, users: &mut Users, scan: Scan) -> Place {
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
    }

    /// Takes what a process has waited for a disk.
    pub fn disk_wait(&mut self, wait: &DiskWait, processes: &mut Processes, users: &mut Users, scan: Scan) {
        let key = (self.place_of(wait.waiter, processes, users, scan), wait.disk);
        if self.disks.len() >= MOST && !self.disks.contains_key(&key) {
            self.lost += wait.count;
            return;
        }
        let sum = self.disks.entry(key).or_default();
        sum.ns = sum.ns.saturating_add(wait.waited_ns);
        sum.count = sum.count.saturating_add(wait.count);
        sum.changed = true;
    }

    /// Rows of waits for disks that have changed since the last time; `name` gives a disk's.
    pub fn disk_rows(&mut self, users: &Users, mut name: impl FnMut(Disk) -> String) -> Vec<DiskReading> {
        let groups = &self.groups;
        let changed = self.disks.iter_mut().filter(|(_, sum)| sum.changed);
        let rows = changed.map(|((place, disk), sum)| {
            sum.changed = false;
            DiskReading {
                user: users.names()[place.user].clone(),
                cgroup: place.group.map(|group| groups[group as usize].clone()),
                device: disk.map(&mut name),
                wait_us: i64::try_from(sum.ns / 1000).unwrap_or(i64::MAX),
                waits: i64::try_from(sum.count).unwrap_or(i64::MAX),
            }
        });
        rows.collect()
    }

    /// Takes who ended the waits of whom.
    pub fn pair(&mut self, pair: &Pair, processes: &mut Processes, users: &mut Users, scan: Scan) {
        let waiter = self.place_of(pair.waiter, processes, users, scan);
        let holder = self.place_of(pair.holder, processes, users, scan);
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

    /// The control group of a process, by its path; `None`: it ended before that could be read.
    pub fn group_of(&mut self, process: &mut Process, scan: Scan) -> Option<String> {
        let group = self.group(process, scan)?;
        self.groups.get(group as usize).cloned()
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::counters::Name;
    use crate::files::Roots;
    use crate::users::UserDefinition;

    const NOWHERE: Scan = Scan {
        directory: -1,
        number: 1,
    };

    fn users() -> Users {
        let roots = Roots {
            proc: "/nowhere".into(),
            sys: "/nowhere".into(),
        };
        Users::new(UserDefinition::Uid, roots, Path::new("/nowhere"), 0)
    }

    fn pair(waiter: u32, holder: u32, waited_ns: u64) -> Pair {
        let party = |uid: u32| Party {
            pid: i32::try_from(uid).unwrap(),
            uid,
        };
        Pair {
            waiter: party(waiter),
            holder: party(holder),
            cause: HeldCause::FileLock,
            waited_ns,
            count: 1,
            name: Name::new(b"books"),
        }
    }

    #[test]
    fn waits_of_processes_that_have_ended_are_their_users() {
        let (mut holders, mut users) = (Holders::default(), users());
        let mut processes = Processes::default();
        for waited_ns in [3_000_000, 4_000_000] {
            holders.pair(&pair(1001, 1002, waited_ns), &mut processes, &mut users, NOWHERE);
        }
        let (_, rows) = holders.rows(&users);
        let expected = HolderReading {
            user: "1001".into(),
            cgroup: None,
            cause: "file_lock",
            holder: "1002".into(),
            holder_cgroup: None,
            holder_name: "books".into(),
            wait_us: 7000,
            waits: 2,
        };
        assert_eq!(rows, [expected]);
        assert!(processes.get(1001).is_none(), "nothing is made of who waits");
        assert_eq!(holders.rows(&users).1, [], "nothing has changed");
    }

    #[test]
    fn waits_for_disks_are_told_by_disk() {
        let (mut holders, mut users) = (Holders::default(), users());
        let mut processes = Processes::default();
        for (disk, waited_ns) in [(Some((8, 0)), 2_000_000), (None, 5000), (Some((8, 0)), 1_000_000)] {
            let wait = DiskWait {
                waiter: Party { pid: 1001, uid: 1001 },
                disk,
                waited_ns,
                count: 1,
            };
            holders.disk_wait(&wait, &mut processes, &mut users, NOWHERE);
        }
        let name = |(major, minor): Disk| format!("{major}:{minor}");
        let rows = holders.disk_rows(&users, name);
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.device.as_deref(), row.wait_us, row.waits))
            .collect();
        assert_eq!(told, [(None, 5, 1), (Some("8:0"), 3000, 2)]);
        assert_eq!(rows[0].user, "1001");
        assert_eq!(holders.disk_rows(&users, name), [], "nothing has changed");
    }

    #[test]
    fn what_there_is_no_room_for_is_counted() {
        let (mut holders, mut users) = (Holders::default(), users());
        let mut processes = Processes::default();
        let many = u32::try_from(MOST).unwrap();
        for uid in 0..many + 5 {
            holders.pair(&pair(1 + uid, 1, 1000), &mut processes, &mut users, NOWHERE);
        }
        assert_eq!((holders.take_lost(), holders.take_lost()), (5, 0));
        assert_eq!(holders.rows(&users).1.len(), MOST);
    }

    #[test]
    fn who_only_idles_has_no_row() {
        let (mut holders, users) = (Holders::default(), users());
        let mut process = Process::new(7);
        process.step.waited.idle_ns = 5_000_000;
        holders.take(&mut process, 2, NOWHERE);
        assert_eq!(holders.rows(&users).0, []);
        process.step.waited.local_ns = 1;
        holders.take(&mut process, 2, NOWHERE);
        let (rows, _) = holders.rows(&users);
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (rows[0].user.as_str(), rows[0].totals.waited.idle_ns),
            ("_host", 5_000_000)
        );
    }
}
