use super::*;

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn v1(root: &Path) -> Vec<Hierarchy> {
    ["cpu", "memory", "blkio", "pids"]
        .map(|name| Hierarchy {
            directory: root.join(name),
            controllers: vec![name.into()],
            version: 1,
        })
        .into()
}

fn v2(root: &Path) -> Vec<Hierarchy> {
    vec![Hierarchy {
        directory: root.into(),
        controllers: vec![],
        version: 2,
    }]
}

fn names(limited: &Limited) -> Vec<&str> {
    limited.groups().iter().map(|group| group.name.as_str()).collect()
}

#[test]
fn version_1_groups_with_a_limit_and_a_process_are_found() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    write(
        root,
        &[
            ("cpu/cpu.cfs_quota_us", "-1\n"),
            ("cpu/quota/cpu.cfs_quota_us", "50000\n"),
            ("cpu/quota/cgroup.procs", ""),
            ("cpu/quota/below/cpu.cfs_quota_us", "-1\n"),
            ("cpu/quota/below/cgroup.procs", "71\n"),
            ("cpu/empty/cpu.cfs_quota_us", "50000\n"),
            ("cpu/empty/cgroup.procs", ""),
            ("cpu/free/cpu.cfs_quota_us", "-1\n"),
            ("cpu/free/cgroup.procs", "70\n"),
            ("memory/limit/memory.limit_in_bytes", "67108864\n"),
            ("memory/limit/cgroup.procs", "72\n73\n"),
            ("memory/free/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/free/cgroup.procs", "70\n"),
            ("blkio/cap/blkio.throttle.write_bps_device", "254:0 1048576\n"),
            ("blkio/cap/cgroup.procs", "74\n"),
            ("blkio/named/blkio.throttle.read_iops_device", "254:0 9\n"),
            ("blkio/named/cgroup.procs", "75\n"),
            ("pids/many/pids.max", "7\n"),
            ("pids/many/cgroup.procs", "76\n"),
        ],
    );
    let mut limited = Limited::default();
    let named = [WatchedGroup::new("load", "/named")];
    assert_eq!(limited.search(&v1(root), &named), None);
    assert_eq!(names(&limited), ["/cap", "/limit", "/quota"]);

    let groups = [&named[..], limited.groups()].concat();
    let members = Membership::read(&groups, &v1(root));
    let group = |pid| members.name(members.group(pid)?);
    assert_eq!(
        [70, 71, 73, 75].map(group),
        [None, Some("/quota"), Some("/limit"), Some("load")]
    );
}

#[test]
fn version_2_groups_are_found_by_each_limit_and_the_root_of_a_container_too() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    write(
        root,
        &[
            ("cpu.max", "200000 100000\n"),
            ("cgroup.procs", "1\n"),
            ("a/cpu.max", "max 100000\n"),
            ("a/memory.max", "max\n"),
            ("a/memory.high", "max\n"),
            ("a/io.max", "254:0 rbps=max wbps=max riops=max wiops=max\n"),
            ("a/cgroup.procs", "2\n"),
            ("b/memory.high", "4096\n"),
            ("b/cgroup.procs", "3\n"),
            ("c/io.max", "254:0 rbps=max wbps=max riops=max wiops=5\n"),
            ("c/cgroup.procs", "4\n"),
            ("b/d/memory.max", "4096\n"),
            ("b/d/cgroup.procs", "5\n"),
        ],
    );
    let mut limited = Limited::default();
    limited.search(&v2(root), &[]);
    assert_eq!(names(&limited), ["/", "/b", "/c", "/b/d"]);
    let members = Membership::read(limited.groups(), &v2(root));
    let group = |pid| members.name(members.group(pid)?);
    let lowest = [Some("/"), Some("/"), Some("/b"), Some("/b/d")];
    assert_eq!([1, 2, 3, 5].map(group), lowest);
}

#[test]
fn groups_beyond_the_bound_are_said_once_and_those_recorded_stay() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let add = |name: &str| {
        let (limit, procs) = (format!("{name}/memory.max"), format!("{name}/cgroup.procs"));
        write(root, &[(&limit, "4096\n"), (&procs, "9\n")]);
    };
    (10..10 + GROUPS).for_each(|n| add(&format!("g{n}")));
    let mut limited = Limited::default();
    assert_eq!(limited.search(&v2(root), &[]), None);
    add("a-newcomer");
    let missing = limited.search(&v2(root), &[]).unwrap();
    assert!(
        missing.reason.starts_with("65 control groups"),
        "{}",
        missing.reason
    );
    assert_eq!(limited.search(&v2(root), &[]), None, "said once");
    assert_eq!(limited.groups().len(), GROUPS);
    assert_eq!(names(&limited)[0], "/g10");
    std::fs::remove_dir_all(root.join("g10")).unwrap();
    limited.search(&v2(root), &[]);
    assert_eq!(names(&limited).last(), Some(&"/a-newcomer"));
}

#[test]
fn a_search_that_cost_much_is_not_made_again_soon() {
    let mut limited = Limited::default();
    assert!(limited.is_due(0));
    limited.searched(0, 100);
    assert!(!limited.is_due(PERIOD_NS - 1) && limited.is_due(PERIOD_NS));
    limited.searched(0, 40_000);
    assert!(!limited.is_due(39_999_999_999) && limited.is_due(40_000_000_000));
}
