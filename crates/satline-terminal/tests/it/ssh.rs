//! Whole runs over SSH, against an sshd of our own; where there is none they are skipped, and say so.

use std::collections::BTreeSet;

use crate::support::sshd::Sshd;
use crate::support::{Place, eventually, number, send, stderr, workload};

pub const QUICK: &str = "--ramp 0s --warmup 0s --logon-timeout 180s";

pub const SLEEP: &str = r#"
[[script]]
name = "sleep"
[[script.command]]
class = "sleep"
input = "sleep 600"
"#;

pub const ECHO: &str = r#"
[[script]]
name = "echo"
[[script.command]]
class = "echo"
input = "echo a {user} $SATLINE_USER"
expect = '^a user-0\d\d user-0\d\d\n$'
"#;

/// How many users have been answered.
pub fn answered(place: &Place) -> usize {
    let rows = place.outcomes("echo");
    let users: BTreeSet<_> = rows.iter().map(|row| row["user"].as_str()).collect();
    users.len()
}

/// Users of the run who answered, and all rows of commands.
pub fn check_echoes(place: &Place, users: usize) {
    let rows: Vec<_> = place
        .commands()
        .into_iter()
        .filter(|row| row["class"] == "echo")
        .collect();
    let mut named: Vec<_> = rows
        .iter()
        .filter(|row| row["outcome"] == "ok")
        .map(|row| &row["user"])
        .collect();
    named.sort();
    named.dedup();
    assert_eq!(named.len(), users, "{rows:?}");
    for row in rows.iter().filter(|row| row["outcome"] != "cut") {
        assert_eq!(row["outcome"], "ok", "{row:?}");
        assert_eq!(
            (row["exit_status"].as_str(), number(row, "output_bytes")),
            ("0", 21),
            "{row:?}"
        );
        assert!(number(row, "reaction_us") <= number(row, "response_us"));
    }
}

/// Runs it until so many users have been answered; gives the most connections that there were at one time.
pub fn run_and_count(sshd: &Sshd, place: &Place, words: &str, users: usize) -> usize {
    let mut run = place.follow(words);
    let mut most = 0;
    run.once("all are answered", || {
        most = most.max(sshd.connections().len());
        place.events("window-end").len() == 1 && answered(place) == users
    });
    let output = run.end();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    most
}

/// Each of so many users has logged on once, before the window.
pub fn check_log_ons(place: &Place, users: usize) {
    let rows = place.rows("transaction");
    let log_ons: Vec<_> = rows.iter().filter(|row| row["class"] == "logon").collect();
    assert_eq!(log_ons.len(), users);
    assert!(
        log_ons
            .iter()
            .all(|row| row["outcome"] == "ok" && row["phase"] == "logon")
    );
}

#[test]
fn shells_with_marks_on_connections_of_their_own_and_on_shared_ones() {
    let Some(sshd) = Sshd::start("") else { return };
    for (options, connections) in [("", 3), ("--ssh-sessions 2", 2)] {
        let place = Place::new(&workload(&format!("{}{ECHO}", sshd.line(""))));
        let words = format!("{QUICK} --steps 3 --window 4s {options}");
        assert_eq!(run_and_count(&sshd, &place, &words, 3), connections, "{options}");
        check_echoes(&place, 3);
        check_log_ons(&place, 3);
        let cost = &place.source()["cost"];
        let (all, busiest) = (&cost["window_processor_share"], &cost["window_busiest_share"]);
        assert!(
            all.as_float() > busiest.as_float(),
            "the clients' time is not counted: {cost:?}"
        );
        place.assert_clean();
        eventually("the sessions end", || sshd.connections().is_empty());
    }
}

#[test]
fn another_programs_prompt_is_a_pattern_and_the_users_directory_goes() {
    let Some(sshd) = Sshd::start("") else { return };
    let scripts = r#"
shell = ["sh", "-c", "echo at $PWD; while printf 'ready> '; read -r line; do echo \"= $line\"; done"]
prompt = { pattern = 'ready> $' }
[[script]]
name = "ask"
[[script.command]]
class = "ask"
input = "it's {number} \"$HOME\""
expect = '^= it.s 1 "\$HOME"\n$'
"#;
    let place = Place::new(&workload(&format!("{}{scripts}", sshd.line(""))));
    let words = format!("{QUICK} --steps 1 --window 2s");
    let output = place.run_until(&words, || place.outcomes("ask").len() > 3);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let asks: Vec<_> = place
        .commands()
        .into_iter()
        .filter(|row| row["class"] == "ask")
        .collect();
    assert!(
        asks.iter().filter(|row| row["outcome"] == "ok").count() > 3,
        "{asks:?}"
    );
    assert!(
        asks.iter()
            .all(|row| row["outcome"] == "ok" || row["outcome"] == "cut"),
        "{asks:?}"
    );
}

#[test]
fn hosts_that_are_not_known_and_keys_that_are_not_taken_are_refused_before_anything_starts() {
    let Some(sshd) = Sshd::start("") else { return };
    let known = std::fs::read_to_string(sshd.path("known")).unwrap();
    let other = std::fs::read_to_string(sshd.path("key.pub")).unwrap();
    let place_of_key = known.split_whitespace().next().unwrap();
    for (contents, accounts, word) in [
        ("", true, "not in known_hosts"),
        (
            format!("{place_of_key} {other}").as_str(),
            true,
            "not the one in known_hosts",
        ),
        (known.as_str(), false, "authorized_keys"),
    ] {
        std::fs::write(sshd.path("known"), contents).unwrap();
        std::fs::write(sshd.path("accounts"), if accounts { other.as_str() } else { "" }).unwrap();
        let place = Place::new(&workload(&format!("{}{ECHO}", sshd.line(""))));
        let output = place.run(&format!("{QUICK} --steps 1 --window 2s"));
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(word) && text.contains("\nhint: "), "{text}");
        assert!(!place.path("r.satline").exists());
    }
}

#[test]
fn a_connection_that_is_cut_in_mid_answer_is_a_death_and_the_user_comes_back() {
    let Some(sshd) = Sshd::start("") else { return };
    let place = Place::new(&workload(&format!("{}{SLEEP}", sshd.line(""))));
    let child = place
        .command(&format!("{QUICK} --steps 1 --window 600s"))
        .spawn()
        .unwrap();
    let all = || satline_terminal::processes::all(std::path::Path::new("/proc"));
    let below = |pid: i32| satline_terminal::processes::descendants(&all(), pid);
    let sleeps =
        |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n");
    let runs = || {
        sshd.connections()
            .into_iter()
            .find(|&pid| below(pid).iter().any(|process| sleeps(process.pid)))
    };
    // Twice: the number of a process that ended between two looks may be another's, which sleeps.
    let mut first = 0;
    eventually("the command runs", || {
        let before = std::mem::replace(&mut first, runs().unwrap_or(0));
        first > 0 && first == before
    });
    satline_terminal::processes::send(first, libc::SIGKILL);
    eventually("the user is back", || runs().is_some_and(|pid| pid != first));
    send(&child, libc::SIGTERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", stderr(&output));
    let outcomes: Vec<_> = place
        .commands()
        .into_iter()
        .map(|row| (row["class"].clone(), row["outcome"].clone()))
        .collect();
    assert!(
        outcomes.contains(&("sleep".into(), "died".into())),
        "{outcomes:?}"
    );
    assert_eq!(place.events("line-lost").len(), 1);
    place.assert_clean();
}

#[test]
fn answers_that_take_too_long_are_interrupted() {
    let Some(sshd) = Sshd::start("") else { return };
    let text = workload(&format!("{}{SLEEP}", sshd.line("")))
        .replace("timeout_seconds = 180", "timeout_seconds = 1");
    let place = Place::new(&text);
    let late = || {
        let rows = place.outcomes("sleep");
        rows.iter().filter(|row| row["outcome"] == "timeout").count()
    };
    let output = place.run_until(&format!("{QUICK} --steps 1 --window 2s"), || {
        // On a busy machine set-up may take too long, too: then the user logs on again.
        late() > 1 && late() > place.events("logged-on").len()
    });
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let late: Vec<_> = place
        .commands()
        .into_iter()
        .filter(|row| row["outcome"] == "timeout")
        .collect();
    assert!(
        late.len() > place.events("logged-on").len(),
        "one and the same session goes on: {late:?}"
    );
}

#[test]
fn the_settings_of_sshd_that_bound_log_ons_are_named() {
    let Some(sshd) = Sshd::start("MaxSessions 1") else {
        return;
    };
    // More sessions on a connection than there may be.
    let keys = sshd.line(", sessions_per_connection = 4, retries = 0");
    let place = Place::new(&workload(&format!("{keys}{ECHO}")));
    let output = place.run(&format!("{QUICK} --steps 4 --window 600s"));
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("MaxSessions"), "{}", stderr(&output));
    // Somebody else's log-on that is under way takes the only place.
    let Some(sshd) = Sshd::start("MaxStartups 1:100:1") else {
        return;
    };
    let place = Place::new(&workload(&format!("{}{ECHO}", sshd.line(""))));
    let others = sshd.log_on_under_way();
    let output = place.run(&format!("{QUICK} --steps 1 --window 600s"));
    assert!(stderr(&output).contains("MaxStartups"), "{}", stderr(&output));
    drop(others);
    // One at a time they all come in.
    let keys = sshd.line(", log_ons_at_once = 1, retries = 20");
    let place = Place::new(&workload(&format!("{keys}{ECHO}")));
    eventually("the place is free", || {
        let _ = std::fs::remove_dir_all(place.path("r.satline"));
        let words = format!("{QUICK} --steps 3 --window 1s");
        let output = place.run_until(&words, || answered(&place) == 3);
        output.status.success()
    });
    check_echoes(&place, 3);
}

/// An address of this host that is not loopback's; asking for the way there sends nothing.
fn address() -> Option<String> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then(|| address.to_string())
}

#[test]
fn another_host_is_driven_only_as_its_file_allows_and_only_as_long() {
    let Some(address) = address() else {
        eprintln!("skipped: this host has no address but loopback's");
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let set = format!("SetEnv HOME={}", home.path().display());
    let Some(sshd) = Sshd::on(&address, &set) else {
        return;
    };
    if std::path::Path::new("/etc/satline/allow-load").exists() {
        eprintln!("skipped: this host has an /etc/satline/allow-load of its own");
        return;
    }
    let libssh2 = crate::ssh2::is_here().then_some(", client = \"libssh2\"");
    for client in std::iter::once("").chain(libssh2) {
        let place = Place::new(&workload(&format!("{}{ECHO}", sshd.line(client))));
        let refused = |options: &str, word: &str| {
            let output = place.run(&format!(
                "{QUICK} --steps 2 --window 2s --drain 0s --max-rate 50 {options}"
            ));
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{text}");
            assert!(text.contains(word) && text.contains("\nhint: "), "{text}");
        };
        refused("", "no list");
        let list = place.path("hosts.toml");
        std::fs::write(
            &list,
            format!("[[target]]\nhost = \"{address}\"\nport = {}\n", sshd.port),
        )
        .unwrap();
        let allow = format!("--allow {}", list.display());
        refused(&allow, "gives no leave");
        let file = home.path().join(".config/satline/allow-load");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let bounds = "max_users = 2\nmax_rate = 50\nmax_seconds = 600\nuntil = 2199-01-01\n";
        std::fs::write(&file, bounds.replace("= 2\n", "= 1\n")).unwrap();
        refused(&allow, "2 users, at most 1");
        std::fs::write(&file, bounds).unwrap();
        let command = format!("{QUICK} --steps 2 --window 500s --drain 0s --max-rate 50 {allow}");
        let child = place.command(&command).spawn().unwrap();
        eventually("both are logged on", || {
            place.path("r.satline").exists() && sshd.connections().len() == 3
        });
        std::fs::remove_file(&file).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("no longer allows it"),
            "{}",
            stderr(&output)
        );
        place.assert_clean();
    }
}

#[test]
fn users_of_shared_connections_log_on_in_order_and_none_is_lost() {
    let home = tempfile::tempdir().unwrap();
    let Some(sshd) = Sshd::start(&format!("SetEnv HOME={}", home.path().display())) else {
        return;
    };
    let (users, at_once) = (9, 2);
    let keys = sshd.line(&format!(
        ", sessions_per_connection = 3, log_ons_at_once = {at_once}, retries = 0"
    ));
    let place = Place::new(&workload(&format!("{keys}{ECHO}")));
    let words = format!("{QUICK} --steps {users} --window 2s");
    let output = place.run_until(&words, || place.events("logged-on").len() == users);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(place.events("line-lost").is_empty());
    let rows = place.rows("transaction");
    let mut log_ons: Vec<_> = rows
        .iter()
        .filter(|row| row["class"] == "logon")
        .map(|row| {
            (
                number(row, "monotonic_ns"),
                number(row, "response_us") * 1000,
                &row["user"],
            )
        })
        .collect();
    log_ons.sort();
    let order: Vec<_> = log_ons.iter().map(|log_on| log_on.2.as_str()).collect();
    let expected: Vec<_> = (1..=users).map(|user| format!("user-{user:03}")).collect();
    assert_eq!(order, expected);
    for (index, log_on) in log_ons.iter().enumerate() {
        let under_way = log_ons[..index]
            .iter()
            .filter(|before| before.0 + before.1 > log_on.0);
        assert!(under_way.count() < at_once, "{log_ons:?}");
    }
}
