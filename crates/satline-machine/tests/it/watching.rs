//! `satline-machine watch`: its lines add up, and it does what it is told.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn shipped(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(path).to_str().unwrap().to_owned()
}

fn watch(machine: &str, workload: &str, arguments: &[&str], commands: Option<&str>) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_satline-machine"))
        .args(["watch", machine, workload])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    // It may have refused its files already.
    let _ = input.write_all(commands.unwrap_or_default().as_bytes());
    drop(input);
    child.wait_with_output().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn small(arguments: &[&str], commands: Option<&str>) -> Output {
    let machine = shipped("machines/155-II-1mb.toml");
    let workload = shipped("workloads/simulated/cms.toml");
    watch(&machine, &workload, arguments, commands)
}

fn frames(lines: &[Value]) -> impl Iterator<Item = &Value> {
    lines.iter().filter(|line| line["kind"] == "frame")
}

fn number(line: &Value, key: &str) -> u64 {
    line[key]
        .as_u64()
        .unwrap_or_else(|| panic!("{key}: {}", line[key]))
}

/// Letters of a text that are among these.
fn count(text: &Value, letters: &str) -> u64 {
    let of = |letter: &char| letters.contains(*letter);
    text.as_str().unwrap().chars().filter(of).count() as u64
}

fn adds_up(lines: &[Value]) {
    let head = &lines[0];
    assert_eq!(
        (head["kind"].as_str(), &head["format"]),
        (Some("machine"), &1.into())
    );
    let programs = head["class_of"].as_array().unwrap().len();
    let background = programs - number(head, "users") as usize;
    let mut before: Option<&Value> = None;
    for frame in frames(lines) {
        assert_eq!(
            frame["map"].as_str().unwrap().len() as u64,
            number(head, "frames")
        );
        assert_eq!(
            count(&frame["map"], "qwoQWOdstDST.fk<>"),
            number(head, "frames"),
            "{}",
            frame["map"]
        );
        let states = frame["users"].as_str().unwrap();
        assert_eq!(states.len(), programs);
        let users = Value::from(&states[..programs - background]);
        assert_eq!(count(&users, "rcpi"), number(frame, "q1"), "{states}");
        assert_eq!(count(&users, "RCPI"), number(frame, "q2"), "{states}");
        assert_eq!(count(&users, "e"), number(frame, "q1_candidates"));
        assert_eq!(count(&users, "E"), number(frame, "q2_candidates"));
        assert_eq!(count(&users, "rcpiRCPIeEd"), number(frame, "logged_on"));
        // Pages in page tables: users' own, in queue and out of it.
        let resident: u64 = frame["resident_pages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pages| pages.as_u64().unwrap())
            .sum();
        assert_eq!(count(&frame["map"], "qwodQWOD"), resident);
        for key in ["projected_pages", "resident_pages"] {
            assert_eq!(frame[key].as_array().unwrap().len(), programs);
        }
        if let Some(before) = before {
            let seconds = frame["time_s"].as_f64().unwrap() - before["time_s"].as_f64().unwrap();
            let times = [
                "problem_ns",
                "supervisor_ns",
                "idle_ns",
                "page_wait_ns",
                "io_wait_ns",
            ];
            let spent: u64 = times
                .iter()
                .map(|key| number(frame, key) - number(before, key))
                .sum();
            let all = seconds * 1e9 * number(head, "processors") as f64;
            assert!((spent as f64 - all).abs() < 1.0, "{spent} ns of {all}");
            for key in ["transactions", "page_reads", "page_writes", "steals", "events"] {
                assert!(number(frame, key) >= number(before, key), "{key}");
            }
        }
        before = Some(frame);
    }
}

#[test]
fn the_lines_add_up_and_are_those_of_a_run() {
    let load = ["--users", "3,20", "--step-seconds", "60"];
    let found = lines(&small(&[&load[..], &["--interval", "7"]].concat(), None));
    adds_up(&found);
    assert_eq!(found.last().unwrap()["kind"], "end");
    assert_eq!(frames(&found).count(), 1 + 18, "the last interval is shorter");
    let last = frames(&found).last().unwrap();
    assert_eq!(
        (last["time_s"].as_f64(), number(last, "users_wanted")),
        (Some(120.0), 20)
    );
    // Who looks on changes nothing.
    let machine = shipped("machines/155-II-1mb.toml");
    let workload = shipped("workloads/simulated/cms.toml");
    let run = Command::new(env!("CARGO_BIN_EXE_satline-machine"))
        .args(["run", &machine, &workload, "--warmup-seconds", "0", "--json"])
        .args(load)
        .output()
        .unwrap();
    let run: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(number(&run, "events"), number(last, "events"));
}

#[test]
fn a_machine_that_swaps_adds_up_too() {
    let machine = shipped("machines/3081D-swapping.toml");
    let workload = shipped("workloads/simulated/tso310.toml");
    let load = ["--users", "120", "--step-seconds", "12", "--interval", "3"];
    // So little storage that sets go out.
    let set = ["--set", "storage.pageable_frames=900"];
    let found = lines(&watch(&machine, &workload, &[&load[..], &set].concat(), None));
    adds_up(&found);
    assert!(frames(&found).any(|frame| count(&frame["map"], "k") > 0));
}

#[test]
fn background_programs_are_among_the_users_one_by_one() {
    let machine = shipped("machines/155-II-1mb.toml");
    let workload = shipped("workloads/simulated/compute-background.toml");
    let load = ["--users", "2", "--step-seconds", "20", "--interval", "2"];
    let found = lines(&watch(&machine, &workload, &load, None));
    adds_up(&found);
    assert!(found[0]["class_of"].as_array().unwrap().len() > 2);
}

#[test]
fn it_does_what_it_is_told() {
    let load = [
        "--users",
        "2",
        "--step-seconds",
        "100",
        "--commands",
        "--room",
        "3",
    ];
    let told = "go 1\nusers 5\ngo 0.25\nusers 0\ngo 60\nquit\ngo 1\n";
    let found = lines(&small(&load, Some(told)));
    adds_up(&found);
    let seen: Vec<_> = frames(&found)
        .map(|frame| {
            (
                frame["time_s"].as_f64().unwrap(),
                number(frame, "users_wanted"),
                number(frame, "logged_on"),
            )
        })
        .collect();
    assert_eq!(seen, [(0.0, 0, 0), (1.0, 2, 2), (1.25, 5, 5), (61.25, 0, 0)]);
    // The end of the commands is an end too, and that of the run.
    assert_eq!(lines(&small(&load, Some("go 5"))).len(), 3);
    let whole = lines(&small(&load, Some("go 1000\ngo 1\n")));
    assert_eq!(frames(&whole).last().unwrap()["time_s"], 100.0);
    assert_eq!(whole.last().unwrap()["kind"], "end");
}

#[test]
fn what_is_wrong_is_refused_with_a_remedy() {
    let load = ["--users", "2", "--commands", "--room", "1"];
    for (told, named) in [
        ("go 1\nfaster\n", "line 2: \"faster\" is no command"),
        ("users 4\n", "from 0 to 3"),
        ("go 0\n", "too short"),
        ("go 1\u{1b}[31m\n", "line 1"),
    ] {
        let output = small(&load, Some(told));
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(named) && error.contains("hint: "), "{error}");
        assert!(!error.contains('\u{1b}'), "{error:?}");
    }
}

#[test]
fn names_are_harmless() {
    let dir = tempfile::tempdir().unwrap();
    let workload: PathBuf = dir.path().join("w.toml");
    let text = fs::read_to_string(shipped("workloads/simulated/cms.toml")).unwrap();
    let text = text.replace("name = \"cms\"", "name = \"c\\u009b31m\\u001b[31m\"");
    fs::write(&workload, text).unwrap();
    let load = ["--users", "1", "--step-seconds", "2"];
    let machine = shipped("machines/155-II-1mb.toml");
    let output = watch(&machine, workload.to_str().unwrap(), &load, None);
    let shown = std::str::from_utf8(&output.stdout).unwrap();
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
}
