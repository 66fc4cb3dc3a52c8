//! Lines → transactions: classes, outcomes, times; who hands on, by a false `/proc`.

use super::*;
use std::os::unix::fs::symlink;

fn line() -> Line {
    Line {
        before_ns: Some(1_000_000_000),
        key_ns: Some(3_000_000_000),
        line_ns: 4_500_000_000,
        first_ns: Some(4_510_000_000),
        last_ns: Some(4_900_000_000),
        asleep_ns: Some(4_800_000_000),
        terminal: 3,
        leader: 100,
        reader: 100,
        uid: 1000,
        shell: true,
        ..Line::default()
    }
}

#[test]
fn a_line_has_its_times_in_microseconds() {
    let row = transaction(&line(), Relay::No).unwrap();
    assert_eq!(row.terminal, "pts/3");
    assert_eq!((row.think_us, row.typing_us), (Some(2_000_000), Some(1_500_000)));
    assert_eq!((row.reaction_us, row.response_us), (Some(10_000), Some(300_000)));
    assert_eq!((row.class.as_str(), row.outcome), ("shell", "ok"));
    assert_eq!((row.uid, row.typed_ahead), (Some(1000), 0));
}

#[test]
fn what_was_not_seen_is_absent() {
    let seen = Line {
        before_ns: None,
        key_ns: None,
        first_ns: None,
        asleep_ns: None,
        reader: 0,
        ..line()
    };
    let row = transaction(&seen, Relay::No).unwrap();
    assert_eq!((row.think_us, row.typing_us), (None, None));
    assert_eq!((row.reaction_us, row.response_us), (None, None));
    assert_eq!((row.outcome, row.uid), ("cut", None));
}

#[test]
fn a_class_is_a_kind_or_where_asked_for_a_name() {
    let class = |command, shell, name: &[u8], relay| {
        let line = Line {
            command,
            shell,
            name: name.to_vec(),
            ..line()
        };
        transaction(&line, relay).unwrap().class
    };
    assert_eq!(class(true, true, b"", Relay::No), "command");
    assert_eq!(class(false, true, b"", Relay::No), "shell");
    assert_eq!(class(false, false, b"", Relay::No), "program");
    assert_eq!(class(false, true, b"", Relay::Remote), "remote");
    assert_eq!(class(true, true, b"make", Relay::No), "make");
}

#[test]
fn interrupted_lines_and_those_that_were_typed_ahead_are_marked() {
    let marked = Line {
        interrupted: true,
        typed_ahead: 2,
        ..line()
    };
    let row = transaction(&marked, Relay::No).unwrap();
    assert_eq!((row.outcome, row.typed_ahead), ("interrupted", 2));
}

#[test]
fn a_line_that_is_handed_on_here_is_left_out_and_a_remote_one_ends_with_its_last_output() {
    assert_eq!(transaction(&line(), Relay::Nested), None);
    let row = transaction(&line(), Relay::Remote).unwrap();
    assert_eq!(row.response_us, Some(400_000));
}

const HEAD: &str =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

fn process(links: &[&str], tcp: &str, udp: &str) -> Relay {
    let directory = tempfile::tempdir().unwrap();
    for part in ["fd", "net"] {
        std::fs::create_dir(directory.path().join(part)).unwrap();
    }
    for (number, link) in links.iter().enumerate() {
        symlink(link, directory.path().join("fd").join(number.to_string())).unwrap();
    }
    std::fs::write(directory.path().join("net/tcp"), format!("{HEAD}{tcp}")).unwrap();
    std::fs::write(directory.path().join("net/udp"), format!("{HEAD}{udp}")).unwrap();
    relay_of(directory.path())
}

fn connection(own: &str, other: &str, state: &str, inode: u64) -> String {
    format!(
        "   0: {own}:C350 {other}:0016 {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1\n"
    )
}

#[test]
fn who_hands_on_is_known_by_what_it_holds_open() {
    let here = connection("0100007F", "0100007F", "01", 55);
    let own_address = connection("0500A8C0", "0500A8C0", "01", 55);
    let away = connection("0500A8C0", "0900A8C0", "01", 55);
    let listens = connection("00000000", "00000000", "0A", 55);
    let socket = &["/dev/pts/3", "socket:[55]"][..];
    assert_eq!(process(&["/dev/pts/3", "/etc/motd"], "", ""), Relay::No);
    assert_eq!(process(&["/dev/pts/3", "/dev/pts/ptmx"], "", ""), Relay::Nested);
    assert_eq!(process(socket, &here, ""), Relay::Nested);
    assert_eq!(process(socket, &own_address, ""), Relay::Nested);
    assert_eq!(process(socket, &away, ""), Relay::Remote);
    assert_eq!(process(socket, "", &away), Relay::Remote);
    assert_eq!(process(socket, &listens, ""), Relay::Nested);
    // A UNIX socket.
    assert_eq!(process(socket, "", ""), Relay::Nested);
    assert_eq!(relay_of(Path::new("/nonexistent")), Relay::Nested);
}

#[test]
fn loopback_addresses_are_of_this_host() {
    assert!(is_loopback(b"0100007F"));
    assert!(is_loopback(b"00000000000000000000000001000000"));
    assert!(is_loopback(b"0000000000000000FFFF00000100007F"));
    assert!(!is_loopback(b"0900A8C0"));
    assert!(!is_loopback(b""));
    assert!(!is_loopback(b"zz"));
}
