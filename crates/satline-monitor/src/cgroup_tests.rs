use super::*;

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn by_name(values: &[Option<i64>]) -> Vec<(&'static str, i64)> {
    COLUMNS
        .iter()
        .copied()
        .zip(values)
        .filter_map(|(c, v)| Some((c, (*v)?)))
        .collect()
}

#[test]
fn a_version_2_group_with_every_field() {
    let root = tempfile::tempdir().unwrap();
    write(
        root.path(),
        &[
            (
                "g/cpu.stat",
                "usage_usec 9\nuser_usec 5\nsystem_usec 4\nnr_periods 7\nnr_throttled 3\nthrottled_usec 88\n",
            ),
            ("g/cpu.max", "50000 100000\n"),
            ("g/memory.current", "4096\n"),
            ("g/memory.max", "8192\n"),
            ("g/memory.high", "8000\n"),
            ("g/memory.swap.current", "12\n"),
            (
                "g/memory.stat",
                "anon 1\nfile 2\npgmajfault 3\nworkingset_refault_anon 4\nworkingset_refault_file 5\n",
            ),
            ("g/memory.events", "low 0\nhigh 4\nmax 6\noom 0\n"),
            (
                "g/io.stat",
                "254:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0\n7:0 rbytes=1 wbytes=2 rios=3 wios=4\n",
            ),
            (
                "g/io.max",
                "254:0 rbps=max wbps=max riops=90 wiops=max\n7:0 rbps=500 riops=80 wbps=700 wiops=60\n",
            ),
            ("g/cpu.pressure", "some avg10=0 total=31\n"),
            (
                "g/memory.pressure",
                "some avg10=0 total=32\nfull avg10=0 total=33\n",
            ),
            ("g/io.pressure", "some avg10=0 total=34\nfull avg10=0 total=35\n"),
        ],
    );
    let v2 = [Hierarchy {
        directory: root.path().into(),
        controllers: vec![],
        version: 2,
    }];
    let values = WatchedGroup::new("load", "/g").read(&v2).unwrap();
    let expected = [
        9, 5, 4, 7, 3, 88, 500, 4096, 8000, 12, 1, 2, 10, 3, 9, 4, 11, 6, 22, 80, 500, 60, 700, 31, 32, 33,
        34, 35,
    ];
    assert_eq!(
        by_name(&values),
        COLUMNS.iter().copied().zip(expected).collect::<Vec<_>>()
    );
    assert_eq!(WatchedGroup::new("load", "absent").read(&v2), None);
}

#[test]
fn limits_that_are_not_set_are_null() {
    let root = tempfile::tempdir().unwrap();
    write(
        root.path(),
        &[
            ("g/cpu.cfs_quota_us", "-1\n"),
            ("g/cpu.cfs_period_us", "100000\n"),
            ("g/memory.limit_in_bytes", "9223372036854771712\n"),
            ("g/cpu.max", "max 100000\n"),
            ("g/memory.max", "max\n"),
            ("g/memory.high", "max\n"),
        ],
    );
    let v1 = ["cpu", "memory"].map(|c| Hierarchy {
        directory: root.path().into(),
        controllers: vec![c.into()],
        version: 1,
    });
    let v2 = [Hierarchy {
        directory: root.path().into(),
        controllers: vec![],
        version: 2,
    }];
    for hierarchies in [&v1[..], &v2[..]] {
        assert_eq!(
            by_name(&WatchedGroup::new("g", "g").read(hierarchies).unwrap()),
            []
        );
    }
}

#[test]
fn children_are_found_in_any_hierarchy() {
    let root = tempfile::tempdir().unwrap();
    write(
        root.path(),
        &[
            ("a/load/ann/x", ""),
            ("b/load/bob/x", ""),
            ("b/load/ann/x", ""),
            ("b/load/file", ""),
        ],
    );
    let hierarchies = ["a", "b"].map(|name| Hierarchy {
        directory: root.path().join(name),
        controllers: vec![name.into()],
        version: 1,
    });
    let children = WatchedGroup::new("load", "/load").children(&hierarchies);
    assert_eq!(
        children.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(),
        ["load/ann", "load/bob"]
    );
}
