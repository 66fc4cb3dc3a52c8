//! Whole runs with real shells on real terminals.

use std::collections::BTreeSet;

use crate::support::{Place, Row, number, stderr, workload};

const MIXED: &str = r#"
setup = ["cd \"$SATLINE_WORK\"", "echo {user} > me"]
[[script]]
name = "mixed"
[[script.command]]
class = "who"
input = "cat me"
expect = "^user-00[1-4]\n$"
[[script.command]]
class = "fails"
input = "false"
[[script.command]]
class = "silent"
input = "true"
[[script.command]]
class = "colour"
input = 'printf "\033[31mred\033[0m\n\n$ \nmore"'
expect = "^red\n\n\\$ \nmore$"
[[script.command]]
class = "late"
input = "sleep 0.1; echo x; sleep 0.1"
"#;

#[test]
fn a_run_in_steps_up_and_down_records_every_transaction() {
    let place = Place::new(&workload(MIXED));
    let words = "--steps 2,4 --ramp 300ms --warmup 300ms --window 1500ms --progress json --seed 5";
    let mut run = place.follow(words);
    run.when("all four are logged on", || place.events("logged-on").len() == 4);
    run.step("1");
    run.when("all has been typed", || {
        let outcomes = place.commands();
        let ended = outcomes.iter().filter(|row| row["outcome"] != "cut");
        let classes: BTreeSet<_> = ended.map(|row| row["class"].clone()).collect();
        outcomes.len() > 30 && classes.len() == 5
    });
    let output = run.end();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let commands = place.commands();
    assert!(commands.len() > 30, "{}", commands.len());
    let mut classes = BTreeSet::new();
    for row in &commands {
        classes.insert(row["class"].clone());
        assert_eq!(row["script"], "mixed");
        assert_eq!(number(row, "users"), [2, 4, 1][number(row, "step") as usize - 1]);
        assert!(
            ["ramp", "warmup", "window", "hold"].contains(&row["phase"].as_str()),
            "{row:?}"
        );
        if row["outcome"] == "cut" {
            continue;
        }
        assert_eq!(row["outcome"], "ok", "{row:?}");
        assert!(
            number(row, "reaction_us") <= number(row, "response_us"),
            "{row:?}"
        );
        let status = if row["class"] == "fails" { 1 } else { 0 };
        assert_eq!(number(row, "exit_status"), status, "{row:?}");
        match row["class"].as_str() {
            "silent" | "fails" => assert_eq!(number(row, "output_bytes"), 0, "{row:?}"),
            "who" => assert_eq!(number(row, "output_bytes"), 10, "{row:?}"),
            "late" => {
                // No assertion on speed: sleep never takes less than asked.
                assert!(number(row, "reaction_us") >= 100_000, "{row:?}");
                assert!(number(row, "response_us") >= 200_000, "{row:?}");
            }
            _ => {}
        }
    }
    assert_eq!(classes.len(), 5, "{classes:?}");
    assert!(
        place
            .rows("transaction")
            .iter()
            .any(|row| row["phase"] == "logon" && row["class"] == "setup")
    );
    let kinds: Vec<_> = place
        .rows("event")
        .iter()
        .map(|row| row["event"].clone())
        .collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "step").count(), 3);
    assert_eq!(kinds.iter().filter(|kind| *kind == "window-end").count(), 3);
    assert_eq!(kinds.iter().filter(|kind| *kind == "logged-on").count(), 4);
    assert_eq!(kinds.last().unwrap(), "stopped");
    assert!(
        commands
            .iter()
            .filter(|row| row["step"] == "3" && row["phase"] == "window")
            .all(|row| row["user"] == "user-001")
    );
    let source = place.source();
    assert_eq!(source["end_reason"].as_str(), Some("complete"));
    assert!(source["late"].is_bool() && source["lateness"]["p99_us"].is_integer());
    let calibration = source["calibration"].as_table().unwrap();
    assert!(calibration["lines"].as_integer() == Some(40) && calibration["p99_us"].is_integer());
    assert_eq!(
        source["cost"]["transactions"].as_integer(),
        Some(commands.len() as i64)
    );
    let description = std::fs::read_to_string(place.path("r.satline/recording.toml")).unwrap();
    assert!(description.contains("end_reason = \"complete\""), "{description}");
    let listed = place.listed();
    assert_eq!(listed[0].1, "_satline");
    assert_eq!(listed.len(), 5);
    let progress = String::from_utf8(output.stdout).unwrap();
    let last: serde_json::Value = serde_json::from_str(progress.lines().last().unwrap()).unwrap();
    assert_eq!(
        (last["phase"].as_str(), last["steps"].as_u64()),
        (Some("done"), Some(3))
    );
    assert!(last["reactions"].as_u64().unwrap() > 20 && last["response_p50_ms"].is_f64());
    place.assert_clean();
}

#[test]
fn the_same_seed_types_the_same() {
    let lines = |seed: u32| {
        let place = Place::new(&workload(MIXED));
        let words = format!("--steps 1 --ramp 0s --warmup 0s --window 1s --seed {seed}");
        let output = place.run_until(&words, || place.commands().len() >= 4);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let rows = place.commands();
        rows.iter()
            .take(4)
            .map(|row| (row["class"].clone(), row["think_us"].clone()))
            .collect::<Vec<_>>()
    };
    let first = lines(11);
    assert_eq!(first, lines(11));
    assert_ne!(first, lines(12));
}

#[test]
fn a_shell_without_marks_is_read_by_its_prompt() {
    let text = r#"
shell = ["sh", "-i"]
prompt = { pattern = 'ready> ' }
[[script]]
name = "plain"
order = "sequence"
[[script.command]]
class = "echo"
input = "echo ready; echo 'ready> no'; sleep 0.1"
expect = "^ready\nready> no\n"
[[script.command]]
class = "silent"
input = "true"
"#;
    let place = Place::new(&workload(text));
    let mut command = place.command("--steps 2 --ramp 0s --warmup 0s --window 2s");
    command.args(["--env", "PS1=ready> "]);
    let output = place.until(command, || {
        ["echo", "silent"]
            .iter()
            .all(|class| place.outcomes(class).len() > 1)
    });
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let commands = place.commands();
    assert!(commands.len() >= 4, "{commands:?}");
    for row in commands.iter().filter(|row| row["outcome"] != "cut") {
        assert_eq!(row["outcome"], "ok", "{row:?}");
        assert!(!row.contains_key("exit_status"));
        let least = if row["class"] == "echo" { 100_000 } else { 0 };
        assert!(number(row, "response_us") >= least, "{row:?}");
    }
    place.assert_clean();
}

#[test]
fn a_program_with_a_prompt_of_its_own_runs_inside_the_shell() {
    let text = r#"
[[script]]
name = "calculator"
order = "sequence"
[[script.command]]
class = "start"
input = 'while printf "calc> " && read -r line && [ "$line" != quit ]; do echo "= $((line))"; done'
prompt = { pattern = "calc> " }
[[script.command]]
class = "add"
input = "40+2"
prompt = { pattern = "calc> " }
expect = "^= 42\n"
[[script.command]]
class = "leave"
input = "quit"
[[script.command]]
class = "missing"
input = "no-such-program"
prompt = { pattern = "calc> " }
"#;
    let place = Place::new(&workload(text));
    let output = place.run_until("--steps 1 --ramp 0s --warmup 0s --window 1s", || {
        !place.outcomes("missing").is_empty()
    });
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let commands = place.commands();
    for (class, outcome) in [
        ("start", "ok"),
        ("add", "ok"),
        ("leave", "ok"),
        ("missing", "unexpected"),
    ] {
        let row = commands.iter().find(|row| row["class"] == class).unwrap();
        assert_eq!(row["outcome"], outcome, "{row:?}");
        assert_eq!(
            row.contains_key("exit_status"),
            ["leave", "missing"].contains(&class),
            "{row:?}"
        );
    }
    place.assert_clean();
}

#[test]
fn a_command_that_takes_too_long_is_interrupted_and_the_user_goes_on() {
    let text = r#"
[[script]]
name = "slow"
order = "sequence"
[[script.command]]
class = "hang"
input = "echo begun; sleep 1000"
[[script.command]]
class = "after"
input = "echo after"
expect = "^after\n$"
"#;
    let place = Place::new(&workload(text).replace("timeout_seconds = 180", "timeout_seconds = 2"));
    // On a busy machine two seconds may be over before anything is printed, or `echo` has run.
    let begun = |row: &Row| row["class"] == "hang" && row.contains_key("reaction_us");
    let goes_on = || {
        let rows = place.commands();
        let mut pairs = rows.windows(2);
        pairs.any(|pair| begun(&pair[0]) && pair[1]["class"] == "after" && pair[1]["outcome"] == "ok")
    };
    let output = place.run_until("--steps 1 --ramp 0s --warmup 0s --window 2s", goes_on);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(goes_on());
    for row in place.outcomes("hang") {
        assert_eq!(row["outcome"], "timeout", "{row:?}");
        assert!(!row.contains_key("response_us"), "{row:?}");
    }
    place.assert_clean();
}

#[test]
fn a_user_whose_shell_dies_logs_on_again_three_times() {
    let text = r#"
[[script]]
name = "steady"
share = 3
[[script.command]]
class = "fine"
input = "true"
[[script]]
name = "mortal"
share = 1
[[script.command]]
class = "die"
input = "kill -9 $$"
"#;
    let place = Place::new(&workload(text));
    let output = place.run_until("--steps 4 --ramp 0s --warmup 0s --window 2s", || {
        !place.events("log-on-failed").is_empty()
    });
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(place.events("user-died").len(), 4);
    let failed = place.events("log-on-failed");
    assert_eq!(failed.len(), 1);
    assert!(failed[0]["text"].contains("signal 9"), "{failed:?}");
    let died: Vec<_> = place
        .commands()
        .into_iter()
        .filter(|row| row["class"] == "die")
        .collect();
    assert_eq!(died.len(), 4);
    assert!(
        died.iter()
            .all(|row| row["outcome"] == "died" && !row.contains_key("response_us"))
    );
    place.assert_clean();
}

#[test]
fn shells_join_the_control_group_and_keep_to_their_processors() {
    let text = r#"
[[script]]
name = "where"
[[script.command]]
class = "where"
input = 'grep -w Cpus_allowed_list /proc/self/status; echo "$EXTRA"; [ -d "$SATLINE_SHARE" ] && pwd'
expect = "^Cpus_allowed_list:\t0\nmore\n.*/users/user-001\n$"
"#;
    let place = Place::new(&workload(text));
    // An ordinary file stands for cgroup.procs: what matters is who writes what.
    std::fs::write(place.path("procs"), "").unwrap();
    let words = format!(
        "--steps 1 --ramp 0s --warmup 0s --window 1s --affinity 0 --env EXTRA=more --cgroup-procs {}",
        place.path("procs").display()
    );
    let output = place.run_until(&words, || !place.outcomes("where").is_empty());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(place.path("procs")).unwrap(), "0");
    let commands = place.commands();
    assert!(!commands.is_empty());
    assert!(
        commands
            .iter()
            .all(|row| row["outcome"] == "ok" || row["outcome"] == "cut"),
        "{commands:?}"
    );
    place.assert_clean();
}
