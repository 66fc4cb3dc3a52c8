//! Runs that end early, and input that is wrong.

use std::process::{Output, Stdio};

use crate::support::following::Following;
use crate::support::{Place, eventually, number, send, stderr, workload};

const SLEEPER: &str = r#"
[[script]]
name = "sleeper"
[[script.command]]
class = "sleep"
input = "setsid sleep 1000 & nohup sleep 1000 > /dev/null & sleep 1000"
"#;

/// These end by themselves.
const QUICK: &str = "--steps 2 --ramp 0s --warmup 0s --window 600s";

fn sleeper() -> String {
    workload(SLEEPER)
}

/// Exit status 2, a message that holds all of these, and a hint.
fn assert_refused(output: &Output, parts: &[&str]) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    for part in parts.iter().chain([&"\nhint: "]) {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

/// Processes that descend from nobody alive but hold the place's path in their environment.
fn strays(place: &Place) -> Vec<i32> {
    let mark = place.path("users").display().to_string();
    let holds = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&mark)
    };
    let all = satline_terminal::processes::all(std::path::Path::new("/proc"));
    all.iter()
        .filter(|process| !process.zombie)
        .map(|process| process.pid)
        .filter(holds)
        .collect()
}

/// Those of them that are `sleep`.
fn sleeping(place: &Place) -> Vec<i32> {
    let sleeps =
        |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n");
    strays(place).into_iter().filter(sleeps).collect()
}

#[test]
fn a_signal_logs_everybody_off_and_leaves_no_process() {
    for (signal, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143)] {
        let place = Place::new(&sleeper());
        let child = place
            .command("--steps 2 --ramp 0s --warmup 0s --window 600s")
            .spawn()
            .unwrap();
        // Both users' shells and three sleeps each.
        eventually("the sleepers sleep", || strays(&place).len() >= 8);
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(
            strays(&place).is_empty(),
            "not even those with a session of their own are left"
        );
        place.assert_clean();
        assert_eq!(place.source()["end_reason"].as_str(), Some("interrupted"));
        let commands = place.commands();
        assert_eq!(commands.len(), 2);
        assert!(
            commands
                .iter()
                .all(|row| row["outcome"] == "cut" && !row.contains_key("response_us"))
        );
        assert_eq!(place.events("stopped").len(), 1);
    }
}

#[test]
fn the_end_of_standard_input_stops_a_run_that_watches_it() {
    let place = Place::new(&sleeper());
    let mut command = place.command("--steps 1 --ramp 0s --warmup 0s --window 600s --watch-stdin");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    eventually("the sleepers sleep", || strays(&place).len() >= 4);
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", stderr(&output));
    place.assert_clean();
}

/// A run whose further steps come on standard input, of three users at most.
fn following(place: &Place) -> Following<'_> {
    let plan = "--steps 1 --ramp 0s --warmup 100ms --window 500ms";
    Following::of(place, place.command(plan), 3)
}

#[test]
fn steps_that_come_on_standard_input_follow_each_other() {
    let place = Place::new(&sleeper());
    let mut run = following(&place);
    run.step("3");
    // The second is over then, and its users go on until the third comes.
    run.when("the second step is over", || true);
    run.step("2 window=700ms");
    let output = run.end();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lengths: Vec<f64> = place
        .events("step")
        .iter()
        .map(|row| row["value"].parse().unwrap())
        .collect();
    assert_eq!(lengths, [0.6, 0.6, 0.8]);
    let users: Vec<i64> = place
        .events("step")
        .iter()
        .map(|row| number(row, "users"))
        .collect();
    assert_eq!(users, [1, 3, 2]);
    assert_eq!(place.events("window-end").len(), 3);
    let held = place.events("hold");
    assert!(held.iter().any(|row| number(row, "users") == 3), "{held:?}");
    place.assert_clean();
}

#[test]
fn a_line_that_is_no_step_ends_the_run_with_its_remedy() {
    let place = Place::new(&sleeper());
    let mut run = following(&place);
    run.step("4");
    let output = run.over();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("4 users; a step has 1 to 3"),
        "{}",
        stderr(&output)
    );
    place.assert_clean();
}

#[test]
fn shells_do_not_outlive_an_emulator_that_is_killed() {
    let text =
        workload("[[script]]\nname = \"s\"\n[[script.command]]\nclass = \"sleep\"\ninput = \"sleep 1000\"\n");
    let place = Place::new(&text);
    let mut child = place
        .command("--steps 2 --ramp 0s --warmup 0s --window 600s")
        .spawn()
        .unwrap();
    // Not before: a process between fork and exec is not yet in the foreground, where the hang-up goes.
    eventually("the sleepers sleep", || sleeping(&place).len() == 2);
    send(&child, libc::SIGKILL);
    child.wait().unwrap();
    eventually("the shells end", || strays(&place).is_empty());
}

#[test]
fn answers_that_are_outstanding_at_the_end_are_cut() {
    let text = "[[script]]\nname = \"s\"\n[[script.command]]\nclass = \"long\"\ninput = \"sleep 1000\"\n";
    let place = Place::new(&workload(text));
    let mut run = place.follow("--steps 1 --ramp 0s --warmup 0s --window 1s --drain 100ms");
    run.when("the command runs", || sleeping(&place).len() == 1);
    let output = run.end();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let commands = place.commands();
    assert_eq!(commands.len(), 1);
    assert_eq!(commands[0]["outcome"], "cut");
    place.assert_clean();
    let place = Place::new(&workload(text));
    let mut run = place.follow("--steps 1 --ramp 0s --warmup 0s --window 1s --drain 600s --progress json");
    run.when("the command runs", || sleeping(&place).len() == 1);
    run.tell("end");
    run.once_shown("\"drain\"");
    for pid in sleeping(&place) {
        satline_terminal::processes::send(pid, libc::SIGTERM);
    }
    let output = run.over();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(place.commands()[0]["outcome"], "ok", "the drain waits for it");
}

#[test]
fn who_is_to_leave_and_still_waits_hangs_up_before_the_window() {
    let text = "[[script]]\nname = \"s\"\n[[script.command]]\nclass = \"long\"\ninput = \"sleep 1000\"\n";
    let place = Place::new(&workload(text));
    let mut run = place.follow("--steps 3 --ramp 0s --warmup 1s --window 1s --drain 0s");
    run.when("all three wait", || sleeping(&place).len() == 3);
    run.step("1");
    run.when("the second step is over", || true);
    let output = run.end();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let commands = place.commands();
    assert_eq!(commands.len(), 3, "each has typed one line: {commands:?}");
    assert!(commands.iter().all(|row| row["outcome"] == "cut"), "{commands:?}");
    // At the end all hang up in the order of their numbers: the first is the last one only if the others had left before.
    let order: Vec<_> = commands.iter().map(|row| row["user"].as_str()).collect();
    assert_eq!(order.last(), order.iter().min(), "{order:?}");
    place.assert_clean();
}

#[test]
fn a_shell_that_dies_at_once_is_named() {
    let shell = "shell = [\"sh\", \"-c\", \"echo no licence; exit 3\"]\nprompt = { pattern = \"x\" }\n";
    let place = Place::new(&workload(&format!("{shell}{SLEEPER}")));
    let output = place.run(QUICK);
    assert_refused(&output, &["workload.toml", "sh -c", "status 3", "no licence"]);
    assert_eq!(place.source()["end_reason"].as_str(), Some("failed"));
    assert!(!place.events("log-on-failed").is_empty());
    place.assert_clean();
}

#[test]
fn a_shell_that_never_prompts_is_named() {
    let shell = "shell = [\"sleep\", \"1000\"]\nprompt = { pattern = \"x\" }\n";
    let place = Place::new(&workload(&format!("{shell}{SLEEPER}")));
    let output = place.run(&format!("{QUICK} --logon-timeout 300ms"));
    assert_refused(
        &output,
        &["workload.toml", "`sleep 1000`", "no prompt within 0.3 s"],
    );
    place.assert_clean();
    // The run is over before the time for the first prompt is.
    let place = Place::new(&workload(&format!("{shell}{SLEEPER}")));
    let output = place.run("--steps 2 --ramp 0s --warmup 0s --window 300ms");
    assert_refused(
        &output,
        &["workload.toml", "`sleep 1000`", "before the run was over"],
    );
    place.assert_clean();
}

#[test]
fn a_set_up_that_fails_is_named() {
    let place = Place::new(&workload(&format!(
        "setup = [\"true\", \"cd /no/such/place\"]\n{SLEEPER}"
    )));
    assert_refused(&place.run(QUICK), &["workload.toml", "setup line 2", "status 1"]);
    place.assert_clean();
}

#[test]
fn wrong_input_is_refused_before_anything_starts() {
    let missing = Place::new(&workload(&format!(
        "requires = [\"sh\", \"no-such-program\"]\n{SLEEPER}"
    )));
    assert_refused(
        &missing.run(QUICK),
        &["workload.toml", "requires", "no-such-program"],
    );
    let unknown = Place::new(&workload(&format!("colour = 1\n{SLEEPER}")));
    assert_refused(&unknown.run(QUICK), &["workload.toml", "colour"]);
    let no_shell = Place::new(&workload(&format!("shell = [\"/no/bash\"]\n{SLEEPER}")));
    assert_refused(&no_shell.run(QUICK), &["workload.toml", "shell", "/no/bash"]);
    let place = Place::new(&sleeper());
    for (words, part) in [
        ("--steps 0", "--steps"),
        ("--steps 5 --max-users 4", "--max-users"),
        ("--steps 1 --window 0s", "--window"),
        ("--steps 1 --window 3d", "3d"),
        ("--steps 1 --affinity x", "affinity"),
        ("--steps 1 --processor 1000", "--processor"),
        (
            "--steps 1 --cgroup-procs /no/such/group/cgroup.procs",
            "/no/such/group",
        ),
        ("--steps 1 --env nothing", "nothing"),
        ("--steps 1 --frobnicate", "frobnicate"),
    ] {
        let output = place.run(words);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{words}: {}", stderr(&output));
    }
    for place in [&missing, &unknown, &no_shell, &place] {
        assert!(!place.path("r.satline").exists() && !place.path("users").exists());
    }
}

#[test]
fn a_directory_that_holds_something_is_left_alone() {
    let place = Place::new(&sleeper());
    let precious = place.path("users/user-002/precious");
    std::fs::create_dir_all(precious.parent().unwrap()).unwrap();
    std::fs::write(&precious, "").unwrap();
    assert_refused(&place.run(QUICK), &["--directory", "user-002"]);
    assert!(precious.exists());
}

#[test]
fn check_validates_and_does_nothing_else() {
    let run = |text: &str| {
        let place = Place::new(text);
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_satline-terminal"));
        command
            .arg("check")
            .arg(place.path("workload.toml"))
            .output()
            .unwrap()
    };
    let good = run(&sleeper());
    assert_eq!(good.status.code(), Some(0), "{}", stderr(&good));
    assert_refused(
        &run(&sleeper().replace("class", "klass")),
        &["workload.toml", "klass", "line"],
    );
    let hostile = run("name = \"\u{1b}[31m\"\n");
    assert!(!stderr(&hostile).contains('\u{1b}'));
}
