//! The program `satline-machine`: what it prints, what it records, how it ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

fn shipped(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn machine() -> PathBuf {
    shipped("machines/155-II-1mb.toml")
}

fn workload() -> PathBuf {
    shipped("workloads/simulated/interactive.toml")
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_satline-machine"));
    command.args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    let (machine, workload) = (machine(), workload());
    let files = ["run", machine.to_str().unwrap(), workload.to_str().unwrap()];
    command(&[&files[..], arguments].concat()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Wrong input: exit code 2, and what is wrong with its remedy.
fn refused(output: &Output, named: &str) {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("error: ") && error.contains("\nhint: "), "{error}");
    assert!(error.contains(named), "{named}: {error}");
}

const SHORT: [&str; 6] = [
    "--step-seconds",
    "60",
    "--warmup-seconds",
    "20",
    "--sample-seconds",
    "5",
];

#[test]
fn a_step_for_each_number_of_users_and_a_value_for_each_period() {
    let result = json(&run(&[&SHORT[..], &["--users", "2,5", "--json"]].concat()));
    let steps = result["steps"].as_array().unwrap();
    let users: Vec<_> = steps.iter().map(|step| step["users"].as_u64().unwrap()).collect();
    assert_eq!(users, [2, 5]);
    assert_eq!(
        (steps[1]["window_from_s"].as_f64(), steps[1]["to_s"].as_f64()),
        (Some(80.0), Some(120.0))
    );
    let series = result["series"].as_object().unwrap();
    assert_eq!(series["time_s"].as_array().unwrap().len(), 24);
    assert_eq!(series["step"][12], 2);
    let measures = steps[0]["measures"].as_object().unwrap();
    for name in measures.keys() {
        assert_eq!(series[name].as_array().unwrap().len(), 24, "{name}");
    }
    assert!(result["events"].as_u64().unwrap() > 100);
    assert_eq!(result["simulated_s"], 120.0);
}

#[test]
fn the_parts_of_a_step_make_its_whole() {
    let result = json(&run(&[&SHORT[..], &["--users", "8", "--json"]].concat()));
    let measures = &result["steps"][0]["measures"];
    let sum = |names: &[&str]| -> f64 { names.iter().map(|name| measures[*name].as_f64().unwrap()).sum() };
    let fractions =
        ["problem", "supervisor", "idle", "page_wait", "io_wait"].map(|name| format!("{name}_fraction"));
    assert!((sum(&fractions.each_ref().map(String::as_str)) - 1.0).abs() < 1e-9);
    let shares = [
        "share_run",
        "share_cpu_wait",
        "share_page_wait",
        "share_io_wait",
        "share_eligible",
    ];
    assert!((sum(&shares) - 1.0).abs() < 1e-9);
    assert!((sum(&["q1", "q2"]) - sum(&["mpl"])).abs() < 1e-12);
    assert!((sum(&["mpl", "eligible"]) - sum(&["in_transaction"])).abs() < 1e-9);
    assert!(sum(&["expansion"]) >= 1.0);
    // The mean over the window's periods is that of the window.
    let series = result["series"]["mpl"].as_array().unwrap();
    let mean = series[4..]
        .iter()
        .map(|value| value.as_f64().unwrap())
        .sum::<f64>()
        / 8.0;
    assert!((mean - sum(&["mpl"])).abs() < 1e-9);
}

#[test]
fn the_same_seed_gives_the_same_and_another_does_not() {
    let of = |seed: &str| {
        let mut result = json(&run(
            &[&SHORT[..], &["--users", "4", "--json", "--seed", seed]].concat()
        ));
        result["cpu_s"] = Value::Null;
        result
    };
    assert_eq!(of("7"), of("7"));
    assert_ne!(of("7")["steps"], of("8")["steps"]);
}

#[test]
fn recording_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (dir.path().join("one.satline"), dir.path().join("two.satline"));
    let of = |more: &[&str]| json(&run(&[&SHORT[..], &["--users", "4", "--json"], more].concat()));
    let plain = of(&[]);
    let recorded = of(&["--record", one.to_str().unwrap()]);
    of(&["--record", two.to_str().unwrap()]);
    assert_eq!(plain["series"], recorded["series"]);
    for table in ["system", "user", "transaction", "transition", "event"] {
        let bytes = |dir: &Path| fs::read(dir.join(format!("segments/{table}/machine-1-0.seg"))).unwrap();
        assert_eq!(bytes(&one), bytes(&two), "{table}");
    }
    refused(
        &run(&["--users", "1", "--record", one.to_str().unwrap()]),
        "one.satline",
    );
}

#[test]
fn a_schedule_follows_the_workload() {
    let week = shipped("workloads/simulated/case-study-week.toml");
    let machine = machine();
    let files = ["run", machine.to_str().unwrap(), week.to_str().unwrap()];
    let schedule = [
        "--schedule",
        "--seconds",
        "7200",
        "--sample-seconds",
        "600",
        "--json",
    ];
    let result = json(&command(&[&files[..], &schedule].concat()).output().unwrap());
    assert_eq!(result["simulated_s"], 7200.0);
    assert_eq!(result["series"]["time_s"].as_array().unwrap().len(), 12);
    refused(&command(&files).output().unwrap(), "--schedule");
}

#[test]
fn figures_can_be_changed_for_a_run() {
    let faster = |speed: &str| {
        let set = format!("processors.speed={speed}");
        let result = json(&run(
            &[&SHORT[..], &["--users", "6", "--json", "--set", &set]].concat()
        ));
        result["steps"][0]["measures"]["problem_fraction"]
            .as_f64()
            .unwrap()
    };
    assert!(faster("4") < 0.6 * faster("1"));
    refused(
        &run(&["--users", "1", "--set", "storage.pageabel_frames=10"]),
        "pageable_frames",
    );
}

#[test]
fn several_processors_say_what_is_left_out_of_them() {
    let of = |count: &str| {
        let set = format!("processors.count={count}");
        let output = run(&[&SHORT[..], &["--users", "4", "--json", "--set", &set]].concat());
        (json(&output), text(&output.stderr))
    };
    let (one, silent) = of("1");
    assert_eq!((&one["not_modelled"], silent.as_str()), (&Value::Null, ""));
    let (two, note) = of("2");
    let missing = two["not_modelled"].as_array().unwrap();
    assert!(!missing.is_empty() && note.starts_with("note: "), "{note}");
    for what in missing {
        assert!(note.contains(what.as_str().unwrap()), "{note}");
    }
    let machine = shipped("machines/3081D.toml");
    let explained = text(
        &command(&["explain", machine.to_str().unwrap()])
            .output()
            .unwrap()
            .stdout,
    );
    assert!(explained.contains("not modelled\n"), "{explained}");
}

#[test]
fn wrong_input_is_refused_with_a_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let broken = dir.path().join("broken.toml");
    fs::write(&broken, "name = \"x\"\n\u{1b}[31m").unwrap();
    let (machine, workload, broken) = (machine(), workload(), broken.to_str().unwrap().to_owned());
    let (machine, workload) = (machine.to_str().unwrap(), workload.to_str().unwrap());
    refused(
        &command(&["run", &broken, workload]).output().unwrap(),
        "broken.toml",
    );
    refused(
        &command(&["check", machine, "/nowhere/w.toml"]).output().unwrap(),
        "/nowhere/w.toml",
    );
    refused(
        &run(&["--users", "1", "--set", "policies.replacement=mru"]),
        "mru",
    );
    refused(&run(&["--users", "1", "--step-seconds", "5"]), "step 1");
    let error = text(&command(&["run", &broken, workload]).output().unwrap().stderr);
    assert!(!error.contains('\u{1b}'), "{error:?}");
}

#[test]
fn a_signal_ends_the_recording_validly() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let dir = tempfile::tempdir().unwrap();
        let recording = dir.path().join("long.satline");
        let (machine, workload) = (machine(), workload());
        let mut child = command(&["run", machine.to_str().unwrap(), workload.to_str().unwrap()])
            .args([
                "--users",
                "3",
                "--step-seconds",
                "1e9",
                "--record",
                recording.to_str().unwrap(),
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while !recording.join("segments/system").exists() && begun.elapsed() < Duration::from_secs(180) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let id = child.id().to_string();
        assert!(
            Command::new("kill")
                .args([&format!("-{signal}"), &id])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(child.wait().unwrap().code(), Some(code));
        let description = fs::read_to_string(recording.join("recording.toml")).unwrap();
        assert!(
            description.contains("end_reason = \"interrupted\""),
            "{description}"
        );
    }
}

#[test]
fn paging_areas_too_small_for_the_users_end_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let recording = dir.path().join("full.satline");
    let small = [
        "--set",
        "paging_area.0.cylinders=20",
        "--set",
        "paging_area.1.cylinders=1",
    ];
    let more = ["--users", "30", "--record", recording.to_str().unwrap()];
    refused(
        &run(&[&small[..], &more].concat()),
        "with 30 users, the paging areas are full",
    );
    let description = fs::read_to_string(recording.join("recording.toml")).unwrap();
    assert!(description.contains("end_reason = \"failed\""), "{description}");
}

#[test]
fn full_paging_areas_are_wrong_input() {
    let small = ["paging_area.0.cylinders=5", "paging_area.1.cylinders=1"];
    let small = ["--set", small[0], "--set", small[1], "--users", "30"];
    refused(&run(&[&SHORT[..], &small].concat()), "the paging areas are full");
}

#[test]
fn progress_is_told_as_json_lines() {
    let output = run(&[&SHORT[..], &["--users", "3", "--progress"]].concat());
    let lines: Vec<Value> = text(&output.stderr)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.last().unwrap()["done"], 1.0);
    assert_eq!(lines.last().unwrap()["time_s"], 60.0);
    let table = text(&output.stdout);
    assert!(
        table.contains("users") && table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
}

#[test]
fn machines_and_policies_are_explained() {
    let (machine, workload) = (machine(), workload());
    let (machine, workload) = (machine.to_str().unwrap(), workload.to_str().unwrap());
    let of = |arguments: &[&str]| {
        let output = command(arguments).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(of(&["explain", machine, workload]).contains("core-table-scan"));
    assert!(of(&["check", machine, workload]).contains("155-II-1mb"));
    let policies = of(&["policies"]);
    for name in [
        "policies.replacement",
        "core-table-scan",
        "policies.dispatch",
        "zig-zag",
    ] {
        assert!(policies.contains(name), "{name}: {policies}");
    }
    assert!(
        policies.lines().all(|line| line.chars().count() <= 80),
        "{policies}"
    );
}
