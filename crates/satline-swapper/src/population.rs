//! Who the users are: the policy's `[[watch]]` applied to the processes that run now.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::policy::{Policy, Watch};
use crate::roots::Roots;
use crate::stat::Stat;

/// A user and his processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub name: String,
    pub interactive: bool,
    /// Which `[[watch]]` names him, the first one.
    pub watch: usize,
    /// The file that counts the processor time of his control group, where that is all his.
    pub accounting: Option<PathBuf>,
    /// In order of number.
    pub processes: BTreeMap<i32, Stat>,
}

/// All processes, by number.
struct Processes {
    all: BTreeMap<i32, (String, Stat)>,
    children: HashMap<i32, Vec<i32>>,
}

impl Processes {
    fn read(roots: &Roots) -> std::io::Result<Self> {
        let mut all = BTreeMap::new();
        let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
        for entry in fs::read_dir(&roots.proc)?.flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if let Some(found) = Stat::read(roots, pid) {
                children.entry(found.1.parent).or_default().push(pid);
                all.insert(pid, found);
            }
        }
        Ok(Processes { all, children })
    }

    /// A process and its descendants.
    fn tree(&self, root: i32) -> BTreeSet<i32> {
        let (mut tree, mut ahead) = (BTreeSet::new(), vec![root]);
        while let Some(pid) = ahead.pop() {
            if self.all.contains_key(&pid) && tree.insert(pid) {
                ahead.extend(self.children.get(&pid).into_iter().flatten());
            }
        }
        tree
    }

    /// A process as a name that a later process of its number does not share.
    fn name(&self, pid: i32) -> String {
        self.all
            .get(&pid)
            .map_or_else(|| pid.to_string(), |(name, _)| format!("{name}-{pid}"))
    }
}

/// The users there are now. A process belongs to the first user that claims it.
///
/// # Errors
/// /proc cannot be listed.
pub fn find(roots: &Roots, policy: &Policy, own_pid: i32) -> std::io::Result<Vec<Found>> {
    let processes = Processes::read(roots)?;
    let mut taken: HashSet<i32> = HashSet::from([1, own_pid]);
    let mut users: Vec<Found> = Vec::new();
    for (index, watch) in policy.watch.iter().enumerate() {
        for (name, accounting, pids) in claims(roots, watch, &processes) {
            let mut found = BTreeMap::new();
            for pid in pids {
                let Some((_, stat)) = processes.all.get(&pid) else {
                    continue;
                };
                let swappable = !stat.kernel_thread && !stat.zombie;
                if swappable && is_allowed(roots, policy, pid) && taken.insert(pid) {
                    found.insert(pid, *stat);
                }
            }
            if found.is_empty() {
                continue;
            }
            let interactive = watch
                .interactive
                .unwrap_or_else(|| found.values().any(|stat| stat.terminal != 0));
            match users.iter_mut().find(|user| user.name == name) {
                Some(user) => {
                    user.processes.append(&mut found);
                    user.accounting = None;
                }
                None => users.push(Found {
                    name,
                    interactive,
                    watch: index,
                    accounting,
                    processes: found,
                }),
            }
        }
    }
    Ok(users)
}

type Claim = (String, Option<PathBuf>, BTreeSet<i32>);

fn claims(roots: &Roots, watch: &Watch, processes: &Processes) -> Vec<Claim> {
    let named = |pid: &i32| (processes.name(*pid), None, processes.tree(*pid));
    if let Some(pattern) = &watch.cgroup {
        return groups(roots, pattern);
    }
    if let Some(path) = &watch.pid_file {
        return fs::read_to_string(path)
            .unwrap_or_default()
            .lines()
            .filter_map(|line| {
                let (pid, user) = line.split_once('\t').unwrap_or((line, ""));
                // The tree of process 1 would be everybody.
                let pid: i32 = pid.trim().parse().ok().filter(|&pid| pid > 1)?;
                let name = if user.is_empty() {
                    processes.name(pid)
                } else {
                    user.to_owned()
                };
                Some((name, None, processes.tree(pid)))
            })
            .collect();
    }
    if let Some(parent) = watch.parent_pid {
        return processes
            .children
            .get(&parent)
            .into_iter()
            .flatten()
            .map(named)
            .collect();
    }
    if let Some(pid) = watch.pid {
        return vec![named(&pid)];
    }
    let Some(command) = &watch.command else {
        return Vec::new();
    };
    processes
        .all
        .iter()
        .filter(|(_, (name, _))| name == command)
        .map(|(pid, _)| *pid)
        .filter(|&pid| watch.uid.is_none_or(|uid| uid_of(roots, pid) == Some(uid)))
        .map(|pid| named(&pid))
        .collect()
}

/// The groups that a pattern names, each with all the processes below it.
fn groups(roots: &Roots, pattern: &str) -> Vec<Claim> {
    for hierarchy in roots.hierarchies() {
        let mut matching = vec![hierarchy.clone()];
        for part in pattern.split('/').filter(|part| !part.is_empty()) {
            matching = matching.iter().flat_map(|dir| below(dir, part)).collect();
        }
        let claims: Vec<Claim> = matching
            .iter()
            .map(|dir| {
                let name = dir.strip_prefix(&hierarchy).unwrap_or(dir);
                let accounting = ["cpu.stat", "cpuacct.usage"]
                    .iter()
                    .map(|file| dir.join(file))
                    .find(|path| path.exists());
                (format!("/{}", name.display()), accounting, members(dir))
            })
            .filter(|(_, _, pids)| !pids.is_empty())
            .collect();
        if !claims.is_empty() {
            return claims;
        }
    }
    Vec::new()
}

fn below(dir: &Path, part: &str) -> Vec<PathBuf> {
    if !part.contains('*') {
        let path = dir.join(part);
        return if path.is_dir() { vec![path] } else { Vec::new() };
    }
    let mut found: Vec<PathBuf> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| matches(part, &entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// Whether a name is as a pattern says, in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len())
                .filter(|&at| rest.is_char_boundary(at))
                .any(|at| matches(after, &rest[at..]))
        }),
    }
}

fn members(dir: &Path) -> BTreeSet<i32> {
    let (mut pids, mut ahead) = (BTreeSet::new(), vec![dir.to_owned()]);
    while let Some(dir) = ahead.pop() {
        let text = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
        pids.extend(text.lines().filter_map(|line| line.trim().parse::<i32>().ok()));
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                ahead.push(entry.path());
            }
        }
    }
    pids
}

fn is_allowed(roots: &Roots, policy: &Policy, pid: i32) -> bool {
    match &policy.allow.uids {
        None => true,
        Some(uids) => uid_of(roots, pid).is_some_and(|uid| uids.contains(&uid)),
    }
}

/// Effective user id of a process.
fn uid_of(roots: &Roots, pid: i32) -> Option<u32> {
    let status = fs::read_to_string(roots.of_process(pid, "status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Made(tempfile::TempDir);

    impl Made {
        fn new() -> Self {
            Made(tempfile::tempdir().unwrap())
        }

        fn roots(&self) -> Roots {
            Roots {
                proc: self.0.path().join("proc"),
                sys: self.0.path().join("sys"),
            }
        }

        fn put(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn process(&self, pid: i32, parent: i32, name: &str, flags: u64, uid: u32) {
            let stat = format!(
                "{pid} ({name}) S {parent} {pid} {pid} 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 77 0 9 0 1 2 3 0 0 0 0 0 0 \
                 0 0 0 17 0 0 0 0 0 0 0 0 0 5 0 0 0 0"
            );
            self.put(&format!("proc/{pid}/stat"), &stat);
            self.put(
                &format!("proc/{pid}/status"),
                &format!("Name:\t{name}\nUid:\t9\t{uid}\t9\t9\n"),
            );
        }
    }

    fn users(made: &Made, policy: &str, own: i32) -> Vec<(String, Vec<i32>)> {
        let policy: Policy = toml::from_str(policy).unwrap();
        find(&made.roots(), &policy, own)
            .unwrap()
            .into_iter()
            .map(|user| (user.name, user.processes.into_keys().collect()))
            .collect()
    }

    fn of(name: &str, pids: &[i32]) -> (String, Vec<i32>) {
        (name.to_owned(), pids.to_vec())
    }

    fn a_tree() -> Made {
        let made = Made::new();
        made.process(1, 0, "init", 0, 0);
        made.process(2, 0, "kthreadd", KERNEL, 0);
        made.process(10, 1, "hub", 0, 100);
        made.process(11, 10, "python3", 0, 1000);
        made.process(12, 11, "sh", 0, 1000);
        made.process(13, 10, "python3", 0, 1001);
        made
    }

    const KERNEL: u64 = 0x0020_0000;

    #[test]
    fn children_of_a_parent_are_users_with_their_descendants() {
        let made = a_tree();
        let found = users(&made, "[[watch]]\nparent_pid = 10\n", 99);
        assert_eq!(found, [of("python3-11", &[11, 12]), of("python3-13", &[13])]);
    }

    #[test]
    fn process_one_kernel_threads_and_the_swapper_itself_never_are() {
        let made = a_tree();
        let found = users(&made, "[[watch]]\nparent_pid = 0\n", 13);
        assert_eq!(found, [of("init-1", &[10, 11, 12])]);
    }

    #[test]
    fn only_allowed_users_ids_are() {
        let made = a_tree();
        let policy = "[[watch]]\ncommand = \"python3\"\n[allow]\nuids = [1001]\n";
        assert_eq!(users(&made, policy, 99), [of("python3-13", &[13])]);
        let policy = "[[watch]]\ncommand = \"python3\"\nuid = 1000\n";
        assert_eq!(users(&made, policy, 99), [of("python3-11", &[11, 12])]);
    }

    #[test]
    fn a_pid_file_names_them_and_is_hostile() {
        let made = a_tree();
        made.put("pids", "11\tmary\nnonsense\n13\n-4\n1\n99999\tgone\n");
        let path = made.0.path().join("pids");
        let policy = format!("[[watch]]\npid_file = {path:?}\n");
        assert_eq!(
            users(&made, &policy, 99),
            [of("mary", &[11, 12]), of("python3-13", &[13])]
        );
    }

    #[test]
    fn groups_match_by_pattern_in_the_first_hierarchy_that_has_some() {
        let made = a_tree();
        for (group, pids) in [
            ("unified", ""),
            ("cpuacct", "1\n2\n"),
            ("cpuacct/user.slice/user-1000.slice", ""),
            ("cpuacct/user.slice/user-1000.slice/session-1.scope", "11\n12\n"),
            ("cpuacct/user.slice/user-1001.slice", "13\n"),
            ("cpuacct/user.slice/other", "10\n"),
        ] {
            made.put(&format!("sys/fs/cgroup/{group}/cgroup.procs"), pids);
            made.put(&format!("sys/fs/cgroup/{group}/cpuacct.usage"), "0\n");
        }
        let found = users(&made, "[[watch]]\ncgroup = \"/user.slice/user-*.slice\"\n", 99);
        assert_eq!(
            found,
            [
                of("/user.slice/user-1000.slice", &[11, 12]),
                of("/user.slice/user-1001.slice", &[13])
            ]
        );
    }

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abb", false),
            ("*b*b", "bab", true),
            ("é*", "éa", true),
            ("a", "ab", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
