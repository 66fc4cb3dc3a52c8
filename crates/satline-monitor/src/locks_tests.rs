use super::*;
use proptest::prelude::*;

const SECOND: i64 = 1_000_000_000;

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A lock that process 50 holds and others wait for, as the kernel writes it.
fn contended(file: &str, waiters: &[i32]) -> String {
    let mut text = format!("1: FLOCK  ADVISORY  WRITE 50 {file} 0 EOF\n");
    for pid in waiters {
        text += &format!("1: -> FLOCK  ADVISORY  WRITE {pid} {file} 0 EOF\n");
    }
    text
}

fn rows(sample: &LockSample) -> Vec<(&str, i64, i64)> {
    let rows = sample.rows.iter();
    rows.map(|row| (row.name.as_str(), row.wait_us, row.hold_us))
        .collect()
}

#[test]
fn the_list_of_the_kernel_is_read_whole() {
    let text = b"1: POSIX  ADVISORY  READ  61 08:01:77 128 191\n2: POSIX  ADVISORY  READ  62 08:01:77 0 EOF\n\
        2: -> POSIX  ADVISORY  WRITE 63 08:01:77 0 EOF\n2:  -> POSIX  ADVISORY  WRITE 64 08:01:77 0 EOF\n\
        3: LEASE  ACTIVE    READ  65 08:01:78 0 EOF\n4: OFDLCK ADVISORY  WRITE -1 00:2d:9 0 0\n5: FLOCK\n6: FLOCK  A W x 1:2:3\n";
    let of = |kind, file: &str, holders: &[i32], waiters: &[i32]| Listed {
        key: Key {
            kind,
            file: file.into(),
        },
        holders: holders.into(),
        waiters: waiters.into(),
    };
    let expected = [
        of("posix", "08:01:77", &[61, 62], &[63, 64]),
        of("ofd", "00:2d:9", &[-1], &[]),
    ];
    assert_eq!(list(text), expected);
}

#[test]
fn waits_and_holds_are_added_up_by_the_time_between_samples() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut locks = Locks::new(root);
    let mut sample = |text: &str, second| {
        put(root, "locks", text);
        locks.sample(second * SECOND)
    };
    let first = sample(&contended("08:01:9", &[]), 10);
    assert_eq!(
        (first.wait_us, first.waiting, first.rows),
        (Some(0), Some(vec![]), vec![])
    );
    let base = sample(&contended("08:01:9", &[51, 52]), 11);
    assert_eq!(base.wait_us, Some(2_000_000));
    assert_eq!(
        rows(&base),
        [("flock 08:01:9", 0, 0)],
        "nobody had waited for it before"
    );
    let next = sample(&contended("08:01:9", &[52]), 13);
    assert_eq!(rows(&next), [("flock 08:01:9", 2_000_000, 2_000_000)]);
    assert_eq!((next.wait_us, next.waiting), (Some(4_000_000), Some(vec![52])));
    let held = sample(&contended("08:01:9", &[]), 14);
    assert_eq!(rows(&held), [("flock 08:01:9", 2_000_000, 3_000_000)]);
    let free = sample("", 15);
    assert_eq!(
        rows(&free),
        [("flock 08:01:9", 2_000_000, 3_000_000)],
        "it keeps its row"
    );
}

#[test]
fn a_lock_is_named_by_its_file_whoever_has_it_open() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(root, "the.lock", "");
    let lock = root.join("the.lock");
    let found = std::fs::metadata(&lock).unwrap();
    // The holder's number is that of a process that has ended; one that waits has the file open.
    std::fs::create_dir_all(root.join("51/fd")).unwrap();
    std::os::unix::fs::symlink(&lock, root.join("51/fd/9")).unwrap();
    let name = format!("flock {}", lock.display());
    let file = format!("{}:{}", device_text(found.dev()), found.ino());
    put(root, "locks", &contended(&file, &[51]));
    assert_eq!(rows(&Locks::new(root).sample(0)), [(name.as_str(), 0, 0)]);
    // Another device number: the descriptor's own words tell.
    let other = format!("ff:ff:{}", found.ino());
    put(root, "locks", &contended(&other, &[51]));
    let unnamed = format!("flock {other}");
    assert_eq!(rows(&Locks::new(root).sample(0)), [(unnamed.as_str(), 0, 0)]);
    put(
        root,
        "51/fdinfo/9",
        &format!("pos:\t0\nlock:\t1: FLOCK  ADVISORY  WRITE 51 {other} 0 EOF\n"),
    );
    assert_eq!(rows(&Locks::new(root).sample(0)), [(name.as_str(), 0, 0)]);
}

#[test]
fn a_list_that_is_enormous_or_absent_is_said_once_and_gives_nothing() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut locks = Locks::new(root);
    let none = locks.sample(0);
    assert_eq!((none.wait_us, none.waiting, none.rows), (None, None, vec![]));
    assert_eq!(locks.take_missing()[0].signal, "lock_wait_us");
    put(root, "locks", &contended("08:01:9", &[51]).repeat(20_000));
    assert_eq!(locks.sample(RETRY_NS).wait_us, None);
    assert_eq!(locks.take_missing(), []);
    put(root, "locks", &contended("08:01:9", &[51]));
    assert_eq!(
        locks.sample(RETRY_NS + SECOND).wait_us,
        None,
        "not tried again at once"
    );
    assert_eq!(locks.sample(2 * RETRY_NS).wait_us, Some(0));
}

#[test]
fn locks_beyond_the_bound_are_said_and_quiet_ones_give_way() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut locks = Locks::new(root);
    let many: String = (0..=LOCKS)
        .map(|n| contended(&format!("08:01:{n}"), &[51]))
        .collect();
    put(root, "locks", &many);
    assert_eq!(locks.sample(0).rows.len(), LOCKS);
    assert_eq!(locks.take_missing()[0].signal, "lock: further locks");
    let last = format!("08:01:{LOCKS}");
    put(root, "locks", &contended(&last, &[51]));
    assert_eq!(
        locks.sample(QUIET_NS).rows.last().unwrap().name,
        format!("flock {last}")
    );
    assert_eq!(locks.known.len(), LOCKS);
}

#[test]
fn long_names_are_cut_at_their_beginning() {
    let long = format!("/{}/x.lock", "é".repeat(300));
    let name = end_of(&long);
    assert!(name.starts_with('…') && name.ends_with("é/x.lock") && name.len() < NAME_BYTES + 4);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(text in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = list(&text);
    }
}
