//! Whole runs over SSH by libssh2, against an sshd of our own; where either is missing they are skipped, and say so.

use std::process::Command;

use crate::ssh::{ECHO, QUICK, SLEEP, answered, check_echoes, check_log_ons, run_and_count};
use crate::support::sshd::Sshd;
use crate::support::{Place, eventually, number, send, stderr, workload};

const CLIENT: &str = ", client = \"libssh2\"";

pub fn is_here() -> bool {
    let places = ["/usr/lib", "/usr/lib64", "/lib", "/usr/local/lib"].map(std::path::PathBuf::from);
    let deeper = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let mut all = places.into_iter().chain(deeper.map(|entry| entry.path()));
    all.any(|place| place.join("libssh2.so.1").exists())
}

/// An sshd, unless it or libssh2 is missing here.
fn start(more: &str) -> Option<Sshd> {
    if is_here() {
        // The account's own start-up files are no affair of these tests.
        let empty = if more.contains("SetEnv") {
            ""
        } else {
            "SetEnv HOME=/nonexistent"
        };
        return Sshd::start(&format!("{more}\n{empty}"));
    }
    eprintln!("skipped: no libssh2 here (apt-get install libssh2-1)");
    None
}

fn line(sshd: &Sshd, more: &str) -> String {
    sshd.line(&format!("{CLIENT}{more}"))
}

#[test]
fn twenty_users_on_connections_of_their_own_and_ten_on_one() {
    let Some(sshd) = start("") else { return };
    for (users, options, connections) in [(20, "", 20), (12, "--ssh-sessions 10", 2)] {
        let place = Place::new(&workload(&format!("{}{ECHO}", line(&sshd, ""))));
        let words = format!("{QUICK} --steps {users} --window 3s {options}");
        assert_eq!(
            run_and_count(&sshd, &place, &words, users),
            connections,
            "{options}"
        );
        check_echoes(&place, users);
        assert!(place.events("line-lost").is_empty());
        check_log_ons(&place, users);
        let source = place.source();
        assert!(source["library"].as_str().unwrap().starts_with("libssh2 1."));
        let cost = &source["cost"];
        let share = |key: &str| cost[key].as_float().unwrap();
        let beside = share("window_processor_share") - share("window_busiest_share");
        assert!(beside < 0.001, "there is a process beside the emulator: {cost:?}");
        place.assert_clean();
        eventually("the sessions end", || sshd.connections().is_empty());
    }
}

#[test]
fn one_of_those_who_share_leaves_and_comes_back_and_the_others_go_on() {
    let Some(sshd) = start("") else { return };
    let place = Place::new(&workload(&format!(
        "{}{ECHO}",
        line(&sshd, ", sessions_per_connection = 10")
    )));
    let on = || place.events("logged-on").len();
    let mut run = place.follow(&format!("{QUICK} --steps 3 --window 1s"));
    run.when("all are logged on", || on() == 3);
    run.step("1");
    run.when("two have left", || true);
    run.step("3");
    run.when("they are back", || on() == 5 && answered(&place) == 3);
    let output = run.end();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    check_echoes(&place, 3);
    assert_eq!(place.events("logged-on").len(), 5);
    assert!(place.events("line-lost").is_empty());
}

#[test]
fn hosts_that_are_not_believed_and_keys_that_are_not_taken_are_refused_before_anything_starts() {
    let Some(sshd) = start("") else { return };
    let known = std::fs::read_to_string(sshd.path("known")).unwrap();
    let other = std::fs::read_to_string(sshd.path("key.pub")).unwrap();
    let (name, key) = known.split_once(' ').unwrap();
    let other_kind = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBA==";
    for (contents, accounts, word) in [
        (String::new(), true, "not in known_hosts"),
        (
            format!("# {known}*,!x {key}elsewhere {key}"),
            true,
            "not in known_hosts",
        ),
        (format!("{name} {other}"), true, "not the one in known_hosts"),
        (
            format!("{name} {other_kind}\n"),
            true,
            "not the one in known_hosts",
        ),
        (format!("{known}@revoked *.example {key}"), true, "@revoked"),
        (known.clone(), false, "authorized_keys"),
    ] {
        std::fs::write(sshd.path("known"), &contents).unwrap();
        std::fs::write(sshd.path("accounts"), if accounts { other.as_str() } else { "" }).unwrap();
        let place = Place::new(&workload(&format!("{}{ECHO}", line(&sshd, ""))));
        let output = place.run(&format!("{QUICK} --steps 1 --window 2s"));
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{contents}: {text}");
        assert!(
            text.contains(word) && text.contains("\nhint: "),
            "{contents}: {text}"
        );
        assert!(!place.path("r.satline").exists());
    }
}

#[test]
fn hashed_names_lines_of_no_use_and_the_hosts_other_keys_do_not_matter() {
    let keys = tempfile::tempdir().unwrap();
    let further = keys.path().join("further");
    let make = Command::new("ssh-keygen")
        .args(["-q", "-t", "ecdsa", "-N", "", "-f"])
        .arg(&further)
        .status();
    if !make.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: no key of ECDSA can be made here");
    }
    let Some(sshd) = start(&format!("HostKey {}", further.display())) else {
        return;
    };
    let hashed = Command::new("ssh-keygen")
        .args(["-q", "-H", "-f"])
        .arg(sshd.path("known"))
        .output()
        .unwrap();
    assert!(hashed.status.success());
    let text = std::fs::read_to_string(sshd.path("known")).unwrap();
    assert!(text.starts_with("|1|"), "{text}");
    let odd = "one\n|1|x|\nhost ssh-rsa\n@cert-authority * ssh-ed25519 AAAA\n\u{7f}\n";
    std::fs::write(sshd.path("known"), format!("{odd}{text}")).unwrap();
    let place = Place::new(&workload(&format!("{}{ECHO}", line(&sshd, ""))));
    // Nor is an `ssh` needed on this host.
    let mut command = place.command(&format!("{QUICK} --steps 1 --window 2s"));
    command.env("PATH", "/nonexistent");
    let output = place.until(command, || answered(&place) == 1);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    check_echoes(&place, 1);
}

#[test]
fn the_agents_keys_are_offered_one_after_the_other() {
    let Some(sshd) = start("") else { return };
    let socket = sshd.path("agent");
    let agent = Command::new("ssh-agent").arg("-D").arg("-a").arg(&socket).spawn();
    let Ok(mut agent) = agent else {
        return eprintln!("skipped: no ssh-agent here (OpenSSH)");
    };
    // The host's own key is one that the account does not take.
    for key in ["host", "key"] {
        // Its socket is there before it listens.
        eventually("the agent takes the key", || {
            let add = Command::new("ssh-add")
                .arg("-q")
                .arg(sshd.path(key))
                .env("SSH_AUTH_SOCK", &socket)
                .status();
            add.unwrap().success()
        });
    }
    let identity = format!("identity = {:?}, ", sshd.path("key"));
    let text = line(&sshd, "").replace(&identity, "");
    let place = Place::new(&workload(&format!("{text}{ECHO}")));
    let run = |place: &Place| {
        let mut command = place.command(&format!("{QUICK} --steps 2 --window 2s"));
        command.env("SSH_AUTH_SOCK", &socket);
        place.until(command, || answered(place) == 2)
    };
    let output = run(&place);
    let _ = agent.kill();
    let _ = agent.wait();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    check_echoes(&place, 2);
    // Without it there is none that is taken.
    std::fs::remove_dir_all(place.path("r.satline")).unwrap();
    let output = run(&place);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn a_connection_that_is_cut_takes_all_its_users_and_they_come_back() {
    let Some(sshd) = start("") else { return };
    for shared in [1, 10] {
        let keys = line(&sshd, &format!(", sessions_per_connection = {shared}"));
        let place = Place::new(&workload(&format!("{keys}{SLEEP}")));
        let child = place
            .command(&format!("{QUICK} --steps 3 --window 600s"))
            .spawn()
            .unwrap();
        let sleeping = || {
            let all = satline_terminal::processes::all(std::path::Path::new("/proc"));
            let below = |pid: &i32| satline_terminal::processes::descendants(&all, *pid);
            let name = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/comm"));
            let connections = sshd.connections();
            let processes = connections.iter().flat_map(below);
            let sleeps = processes.filter(|process| name(process.pid).is_ok_and(|name| name == "sleep\n"));
            (sleeps.count(), connections)
        };
        eventually("the commands run", || sleeping().0 == 3);
        let first = sleeping().1;
        for &pid in &first {
            satline_terminal::processes::send(pid, libc::SIGKILL);
        }
        eventually("the users are back", || {
            let (sleeps, connections) = sleeping();
            sleeps == 3 && connections.iter().all(|pid| !first.contains(pid))
        });
        send(&child, libc::SIGTERM);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(143), "{}", stderr(&output));
        let died: Vec<_> = place
            .commands()
            .into_iter()
            .filter(|row| row["class"] == "sleep" && row["outcome"] == "died")
            .collect();
        assert_eq!(died.len(), 3, "{:?}", place.commands());
        assert_eq!(place.events("line-lost").len(), 3);
        place.assert_clean();
    }
}

#[test]
fn long_answers_and_lines_longer_than_the_hosts_window_are_whole() {
    // New keys are agreed on again and again under way.
    let Some(sshd) = start("RekeyLimit 600K") else {
        return;
    };
    let scripts = r#"
[[script]]
name = "long"
[[script.command]]
class = "long"
input = "head -c 1000000 /dev/zero | tr '\\0' x; echo"
expect = '^xxx'
"#;
    let keys = line(&sshd, ", sessions_per_connection = 10");
    let place = Place::new(&workload(&format!("{keys}{scripts}")));
    let words = format!("{QUICK} --steps 2 --window 2s");
    let output = place.run_until(&words, || place.outcomes("long").len() > 2);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = place.outcomes("long");
    assert!(rows.len() > 2, "{rows:?}");
    for row in rows {
        assert_eq!(
            (row["outcome"].as_str(), row["exit_status"].as_str()),
            ("ok", "0")
        );
        assert_eq!(number(&row, "output_bytes"), 1_000_002, "{row:?}");
    }
    // The host gives room for 2 MiB, and its program does not read at first.
    let size = 2_500_000;
    let program = format!(
        "stty raw -echo; while printf 'ready> '; do sleep 0.1; n=$(head -c {size} | wc -c); printf '\\n%s\\n' $n; done"
    );
    let text = "y".repeat(size - 1);
    let scripts = format!(
        "shell = [\"sh\", \"-c\", {program:?}]\nprompt = {{ pattern = 'ready> $' }}\n[[script]]\nname = \"s\"\n\
         [[script.command]]\nclass = \"line\"\ninput = \"{text}\"\nexpect = '^{size}\\n$'\n"
    );
    let place = Place::new(&workload(&format!("{}{scripts}", line(&sshd, ""))));
    let words = format!("{QUICK} --steps 1 --window 1s --drain 60s");
    let output = place.run_until(&words, || !place.outcomes("line").is_empty());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = place.outcomes("line");
    assert!(!rows.is_empty());
    assert!(rows.iter().all(|row| row["outcome"] == "ok"), "{rows:?}");
}

#[test]
fn answers_that_take_too_long_are_interrupted_and_sessions_that_end_are_made_anew() {
    let Some(sshd) = start("") else { return };
    let text = format!("{}{SLEEP}", line(&sshd, ", sessions_per_connection = 10"));
    let text = workload(&text).replace("timeout_seconds = 180", "timeout_seconds = 1");
    let place = Place::new(&text);
    let words = format!("{QUICK} --steps 2 --window 2s");
    // More than there were sessions: on a busy machine set-up may take too long, too, and the user logs on again.
    let again = || {
        let late = place.outcomes("sleep").len();
        late > 2 && late > place.events("logged-on").len()
    };
    let output = place.run_until(&words, again);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let late = place.outcomes("sleep");
    assert!(
        again() && late.iter().all(|row| row["outcome"] == "timeout"),
        "{late:?}"
    );
    let ends = SLEEP.replace("sleep 600", "exit 3");
    let place = Place::new(&workload(&format!(
        "{}{ends}",
        line(&sshd, ", sessions_per_connection = 10")
    )));
    let output = place.run_until(&words, || place.outcomes("sleep").len() > 2);
    let rows = place.outcomes("sleep");
    assert!(
        rows.len() > 2 && rows.iter().all(|row| row["outcome"] == "died"),
        "{rows:?}"
    );
    let events = place.events("line-lost");
    assert!(
        events
            .iter()
            .any(|event| event["text"].contains("closed the session")),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_settings_of_sshd_that_bound_log_ons_are_named() {
    let Some(sshd) = start("MaxSessions 1") else {
        return;
    };
    let keys = line(&sshd, ", sessions_per_connection = 4, retries = 0");
    let place = Place::new(&workload(&format!("{keys}{ECHO}")));
    let output = place.run(&format!("{QUICK} --steps 4 --window 600s"));
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("MaxSessions"), "{}", stderr(&output));
    // Somebody else's log-on that is under way takes the only place.
    let Some(sshd) = start("MaxStartups 1:100:1") else {
        return;
    };
    let place = Place::new(&workload(&format!("{}{ECHO}", line(&sshd, ""))));
    let others = sshd.log_on_under_way();
    let output = place.run(&format!("{QUICK} --steps 1 --window 600s"));
    assert!(stderr(&output).contains("MaxStartups"), "{}", stderr(&output));
    drop(others);
}

#[test]
fn the_accounts_own_shell_may_share_a_connection() {
    let home = tempfile::tempdir().unwrap();
    let Some(sshd) = start(&format!("SetEnv HOME={} PS1=here>", home.path().display())) else {
        return;
    };
    let scripts = "shell = []\nprompt = { pattern = '[$#>] ?$' }\nsettle_seconds = 0.1\n\
        [[script]]\nname = \"s\"\n[[script.command]]\nclass = \"size\"\ninput = \"stty size\"\nexpect = '24 80'\n";
    let keys = line(&sshd, ", sessions_per_connection = 10");
    let place = Place::new(&workload(&format!("{keys}{scripts}")));
    let words = format!("{QUICK} --steps 2 --window 2s");
    let output = place.run_until(&words, || place.outcomes("size").len() > 3);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = place.outcomes("size");
    assert!(
        rows.len() > 3 && rows.iter().all(|row| row["outcome"] == "ok"),
        "{rows:?}"
    );
}

#[test]
fn what_cannot_be_is_told_before_anything_starts() {
    let script = "[[script]]\nname = \"s\"\n[[script.command]]\nclass = \"c\"\ninput = \"x\"\n";
    let to = |rest: &str| format!("line = {{ to = \"ssh:u@127.0.0.1:9\"{rest} }}\n");
    let tcp = "prompt = { pattern = 'x' }\nline = { to = \"tcp:127.0.0.1:9\", client = \"libssh2\" }\n";
    for (head, words, expected) in [
        (tcp.to_owned(), "", "line.client: belongs to ssh"),
        (
            tcp.replace(", client = \"libssh2\"", ""),
            "--ssh-client libssh2",
            "--ssh-…: the line is tcp",
        ),
        (to(", client = \"putty\""), "", "expected `ssh` or `libssh2`"),
        (
            to(", client = \"libssh2\", identity = \"none\""),
            "",
            "cannot read",
        ),
        (
            to(", config = \"config\""),
            "--ssh-client libssh2",
            "which libssh2 does not",
        ),
        (
            format!(
                "shell = []\nprompt = {{ pattern = 'x' }}\n{}",
                to(", client = \"libssh2\", sessions_per_connection = 2")
            ),
            "--ssh-client ssh",
            "need a shell",
        ),
    ] {
        let place = Place::new(&workload(&format!("{head}{script}")));
        std::fs::write(place.path("config"), "Host *\nProxyCommand nc %h %p\n").unwrap();
        let output = place.run(&format!("{QUICK} --steps 1 {words}"));
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains(expected) && said.contains("hint: "),
            "{expected}: {said}"
        );
    }
}
