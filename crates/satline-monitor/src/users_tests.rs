use super::*;
use proptest::prelude::*;
use std::io::Write;

fn users(definition: UserDefinition, root: &Path) -> Users {
    let passwd = root.join("passwd");
    std::fs::write(
        &passwd,
        "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/:/bin/sh\nalias:x:1000:1::/:\n",
    )
    .unwrap();
    let roots = Roots {
        proc: root.into(),
        sys: root.into(),
    };
    Users::new(definition, roots, &passwd, 500)
}

fn process(pid: i32, parent: Option<UserId>) -> Facts {
    Facts {
        pid,
        session: pid,
        kernel_thread: false,
        uid: None,
        parent,
    }
}

fn name_of(users: &mut Users, facts: Facts) -> String {
    let id = users.of(facts);
    users.names()[id].clone()
}

#[test]
fn definitions_are_read() {
    assert_eq!(
        "emulated:/tmp/u".parse(),
        Ok(UserDefinition::Emulated("/tmp/u".into()))
    );
    assert_eq!("cgroup".parse(), Ok(UserDefinition::Cgroup));
    for wrong in ["", "emulated", "emulated:", "uid:1", "pid"] {
        assert!(wrong.parse::<UserDefinition>().is_err(), "{wrong}");
    }
}

#[test]
fn uids_have_their_first_name_or_their_number() {
    let root = tempfile::tempdir().unwrap();
    let mut users = users(UserDefinition::Uid, root.path());
    let ended = |uid| Facts {
        uid: Some(uid),
        ..process(9, None)
    };
    assert_eq!(name_of(&mut users, ended(1000)), "ann");
    assert_eq!(name_of(&mut users, ended(77)), "77");
    assert_eq!(
        name_of(
            &mut users,
            Facts {
                kernel_thread: true,
                ..process(2, None)
            }
        ),
        "_kernel"
    );
    assert_eq!(name_of(&mut users, process(500, None)), "_satline");
    assert_eq!(name_of(&mut users, process(501, Some(SATLINE))), "_satline");
    let starter = Facts {
        uid: Some(1000),
        ..process(499, None)
    };
    assert_eq!(name_of(&mut users, starter), "ann");
    users.companion(Some(499));
    assert_eq!(name_of(&mut users, starter), "_satline");
}

#[test]
fn a_login_session_is_a_user_and_none_is_the_host() {
    let root = tempfile::tempdir().unwrap();
    for (pid, uid, session) in [(10, "1000", "7"), (11, "4294967295", "4294967295")] {
        let directory = root.path().join(pid.to_string());
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("loginuid"), uid).unwrap();
        std::fs::write(directory.join("sessionid"), session).unwrap();
    }
    let mut users = users(UserDefinition::Session, root.path());
    assert_eq!(name_of(&mut users, process(10, None)), "ann#7");
    assert_eq!(name_of(&mut users, process(11, None)), "_host");
    let ann = users.of(process(10, None));
    assert_eq!(
        users.of(process(99, Some(ann))),
        ann,
        "one that ended unseen is its parent's"
    );
}

#[test]
fn a_terminal_is_a_user_and_none_is_the_host() {
    let root = tempfile::tempdir().unwrap();
    // Minor numbers above 255 stand in two parts.
    for (pid, session, device) in [(10, 10, 34819), (11, 10, 34819), (12, 12, 0), (13, 13, 1_083_393)] {
        let directory = root.path().join(pid.to_string());
        std::fs::create_dir(&directory).unwrap();
        let stat = format!("{pid} (a) b) S 1 {session} {session} {device} 10 4194304 0 0\n");
        std::fs::write(directory.join("stat"), stat).unwrap();
    }
    assert_eq!(terminal_of(b"7 (x) S 1 7 7 34819 7"), Some((7, Some(3))));
    assert_eq!(terminal_of(b"7 (x) S 1 7 7 1083393 7"), Some((7, Some(257))));
    assert_eq!(terminal_of(b"7 (x) S 1 7 7 1025 7"), Some((7, None)));
    assert_eq!(terminal_of(b"7 (x"), None);
    let mut users = users(UserDefinition::Terminal, root.path());
    assert!(name_of(&mut users, process(10, None)).ends_with("#pts/3"));
    let own = users.of(process(10, None));
    assert_eq!(users.of(process(11, None)), own);
    assert_eq!(name_of(&mut users, process(12, None)), "_host");
    assert_eq!(users.of(process(99, Some(own))), own, "its parent's");
    let after = users.at_terminal(1000, "pts/4").unwrap();
    assert_eq!(users.names()[after], "ann#pts/4");
}

#[test]
fn control_groups_that_people_have() {
    for (text, expected) in [
        (
            "0::/user.slice/user-1000.slice/session-3.scope\n",
            Some("user-1000.slice"),
        ),
        (
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.service\n",
            Some("user-1000.slice"),
        ),
        (
            "0::/system.slice/jupyter-ann.service\n",
            Some("jupyter-ann.service"),
        ),
        (
            "0::/system.slice/docker-0123abcd.scope/init\n",
            Some("docker-0123abcd.scope"),
        ),
        (
            "0::/system.slice/slurmstepd.scope/job_12/step_0\n",
            Some("job_12"),
        ),
        ("4:memory:/x\n1:name=systemd:/load/ann\n0::/\n", Some("load/ann")),
        ("4:memory:/x/y\n0::/\n", Some("x/y")),
        ("4:memory:/\n0::/\n", None),
        ("", None),
    ] {
        assert_eq!(cgroup_user(text.as_bytes()).as_deref(), expected, "{text}");
    }
}

#[test]
fn emulated_users_own_their_session_and_descendants() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("list");
    let mut file = File::create(&path).unwrap();
    write!(file, "40\t_satline\n50\tuser-1\n60\tus").unwrap();
    let mut users = users(UserDefinition::Emulated(path), root.path());
    users.refresh();
    let one = users.of(process(50, Some(SATLINE)));
    assert_eq!(users.names()[one], "user-1");
    assert_eq!(users.of(process(40, None)), SATLINE);
    assert_eq!(
        users.of(Facts {
            session: 50,
            ..process(51, Some(HOST))
        }),
        one,
        "by session"
    );
    assert_eq!(users.of(process(52, Some(one))), one, "by parent");
    assert_eq!(
        users.of(process(60, None)),
        HOST,
        "a line that is not finished is not read"
    );
    let generation = users.generation();
    writeln!(file, "er-2").unwrap();
    users.refresh();
    assert!(users.generation() > generation);
    assert_eq!(name_of(&mut users, process(60, None)), "user-2");
}

/// A process in a false /proc.
fn put(root: &Path, pid: i32, cgroup: &str, files: &[(&str, &str)]) {
    let directory = root.join(pid.to_string());
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("cgroup"), cgroup).unwrap();
    std::fs::write(directory.join("comm"), "python3\n").unwrap();
    for (name, text) in files {
        std::fs::write(directory.join(name), text).unwrap();
    }
}

#[test]
fn the_shipped_rules_on_hosts_of_every_kind() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/user-rules/users.toml"
    );
    let id = "0123456789abcdef".repeat(4);
    let pod = "0a1b2c3d-0a1b-2c3d-4e5f-0a1b2c3d4e5f";
    let none = &[("loginuid", "4294967295"), ("sessionid", "4294967295")][..];
    let ann = &[("loginuid", "1000"), ("sessionid", "7")][..];
    let hub = &[("environ", "A=b\0JUPYTERHUB_USER=bob\0")][..];
    for (pid, cgroup, files) in [
        (
            10,
            "9:cpuset:/slurm/uid_1000/job_12/step_0/task_0\n0::/system.slice/slurmd.service\n",
            none,
        ),
        (
            11,
            "0::/system.slice/slurmstepd.scope/job_12/step_0/slurm\n",
            none,
        ),
        (12, "0::/system.slice/jupyter-cid-singleuser.service\n", none),
        (13, &format!("0::/system.slice/docker-{id}.scope\n"), hub),
        (
            14,
            &format!("0::/kubepods.slice/kubepods-pod{pod}.slice/cri-containerd-{id}.scope\n"),
            none,
        ),
        (15, &format!("4:memory:/docker/{id}\n0::/\n"), none),
        (
            16,
            &format!("0::/machine.slice/libpod-{id}.scope/container\n"),
            none,
        ),
        (17, &format!("0::/machine.slice/libpod-conmon-{id}.scope\n"), ann),
        (18, "0::/user.slice/user-1000.slice/session-7.scope\n", ann),
        (19, "0::/system.slice/docker.service\n", none),
    ] {
        put(root, pid, cgroup, files);
    }
    let definition: UserDefinition = format!("rules:{path}").parse().unwrap();
    assert_eq!(definition.word(), "rules");
    assert!(definition.rules().unwrap().contains("[[rule]]"));
    let mut users = users(definition, root);
    // Whoever runs this test owns the files: where that is told apart, uids are given.
    let of = |users: &mut Users, pid, uid| {
        name_of(
            users,
            Facts {
                uid: Some(uid),
                ..process(pid, None)
            },
        )
    };
    for (pid, uid, expected) in [
        (10, 0, "ann/12"),
        (11, 0, "_host"),
        (12, 0, "cid"),
        (13, 0, "bob"),
        (14, 0, "pod 0a1b2c3d-0a1b-2c3d-4e5f-0a1b2c3d4e5f"),
        (15, 0, "docker 0123456789ab"),
        (16, 1000, "podman 0123456789ab"),
        (17, 1000, "_host"),
        (18, 0, "ann"),
        (19, 0, "_host"),
    ] {
        assert_eq!(of(&mut users, pid, uid), expected, "{pid}");
    }
    let child = Facts {
        uid: Some(1000),
        ..process(99, Some(SATLINE))
    };
    assert_eq!(name_of(&mut users, child), "_satline");
    let ann = users.of(process(18, None));
    assert_eq!(
        users.of(process(98, Some(ann))),
        ann,
        "one that has ended unseen is its parent's"
    );
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(text in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = (cgroup_user(&text), passwd_names(&text));
    }
}
