//! The monitor on the kernel it runs on.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::rows;

const MONITOR: &str = env!("CARGO_BIN_EXE_satline-monitor");

struct Running(Child);

impl Running {
    fn start(recording: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(MONITOR);
        command
            .arg("--recording")
            .arg(recording)
            .args(arguments)
            .stderr(Stdio::piped());
        let running = Self(command.spawn().unwrap());
        // Its own description is written with the first sample.
        wait_for(|| recording.join("sources/monitor.toml").exists());
        running
    }

    /// Waits until what has happened by now is in a sample.
    fn sampled(&self, recording: &Path) {
        // What is written next may hold only samples that had begun before.
        for _ in 0..2 {
            let before = samples(recording);
            wait_for(|| samples(recording) > before);
        }
    }

    fn end(mut self, signal: i32) -> std::process::Output {
        // SAFETY: takes no pointers; the child was not waited for, so that its number is its own.
        unsafe { libc::kill(self.0.id() as i32, signal) };
        let status = self.0.wait().unwrap();
        let mut stderr = Vec::new();
        std::io::Read::read_to_end(self.0.stderr.as_mut().unwrap(), &mut stderr).unwrap();
        std::process::Output {
            status,
            stdout: Vec::new(),
            stderr,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_for(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(
            start.elapsed() < Duration::from_secs(180),
            "waited three minutes in vain"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Samples that are written so far; the last one may be half written.
fn samples(recording: &Path) -> usize {
    let entries = fs::read_dir(recording.join("segments/system"));
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    paths
        .filter_map(|path| satline_recording::read_segment(&path).ok())
        .flat_map(|segment| segment.batches)
        .map(|batch| batch.num_rows())
        .sum()
}

fn source(recording: &Path) -> toml::Table {
    fs::read_to_string(recording.join("sources/monitor.toml"))
        .unwrap()
        .parse()
        .unwrap()
}

/// Runs a command as the session leader of an emulated user and returns its processor time, children included, µs.
#[allow(clippy::zombie_processes)] // wait4 below waits for it, and tells its processor time.
///
/// It begins to work when it is listed, and `lingers` until its work is in a sample.
fn run_as(
    running: &Running,
    recording: &Path,
    list: &Path,
    user: &str,
    command: &mut Command,
    lingers: bool,
) -> i64 {
    // The leader waits for a line on its input, so that it is listed before it does anything.
    // SAFETY: between fork and exec only `setsid` is called, which is safe there.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            Ok(())
        });
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    writeln!(
        fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(list)
            .unwrap(),
        "{}\t{user}",
        child.id()
    )
    .unwrap();
    running.sampled(recording);
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"go\n").unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.is_ok_and(|line| line == "done")), "{user}");
    if lingers {
        running.sampled(recording);
    }
    drop(input);
    let mut status = 0;
    // SAFETY: zeros are a valid `rusage`; both places are valid for the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert!(libc::wait4(child.id() as i32, &mut status, 0, &mut usage) > 0);
        usage
    };
    assert_eq!(status, 0, "{user}");
    let us = |t: libc::timeval| t.tv_sec * 1_000_000 + t.tv_usec;
    us(usage.ru_utime) + us(usage.ru_stime)
}

fn last_of(recording: &Path, user: &str, column: &str) -> i64 {
    let rows = rows(recording, "user");
    let values: Vec<i64> = rows
        .iter()
        .filter(|r| r.text("user") == Some(user))
        .filter_map(|r| r.int(column))
        .collect();
    assert!(values.is_sorted(), "{user}'s {column} fell: {values:?}");
    *values.last().unwrap_or_else(|| panic!("no {column} of {user}"))
}

const SHORT_LIVED: &str = "read line; i=0; while [ $i -lt 60 ]; do i=$((i+1)); \
    sh -c 'j=0; while [ $j -lt 4000 ]; do j=$((j+1)); done; (:; :)'; done; echo done; read line; :";

fn near(told: i64, used: i64, share: f64, what: &str) {
    let error = (told - used) as f64 / used as f64;
    assert!(
        error.abs() < share,
        "{what}: the monitor says {told} µs, the kernel {used} µs ({:+.1} %)",
        error * 100.0
    );
}

#[test]
fn time_of_processes_that_no_scan_saw_is_their_users() {
    let directory = tempfile::tempdir().unwrap();
    let (recording, list) = (directory.path().join("r.satline"), directory.path().join("users"));
    let users = format!("emulated:{}", list.display());
    let running = Running::start(&recording, &["--interval", "1s", "--users", &users]);
    let is_told = source(&recording)["methods"]["exits"].as_str() == Some("taskstats");
    let run = |user: &str, command: &mut Command| run_as(&running, &recording, &list, user, command, false);
    let short = run("short", Command::new("sh").args(["-c", SHORT_LIVED]));
    let exe = std::env::current_exe().unwrap();
    let threads = run(
        "threads",
        Command::new(exe)
            .args(["--exact", "--nocapture", "helper_that_burns_in_threads"])
            .env("SATLINE_TEST_BURN", "1"),
    );
    running.sampled(&recording);
    assert!(running.end(libc::SIGTERM).status.success());
    // The kernel tells a process's time before it takes its memory down: wait4's count holds that too, up to
    // half a millisecond of each of these 120 processes of some milliseconds. Waited-for children are counted in ticks.
    let share = if is_told { 0.12 } else { 0.35 };
    near(
        last_of(&recording, "short", "cpu_us"),
        short,
        share,
        "short-lived processes",
    );
    near(
        last_of(&recording, "threads", "cpu_us"),
        threads,
        share,
        "threads",
    );
    assert!(last_of(&recording, "short", "minor_faults") > 0);
    if is_told {
        assert!(
            last_of(&recording, "short", "exits") >= 61,
            "60 children and the shell"
        );
        assert!(last_of(&recording, "threads", "exits") >= 5);
    } else {
        eprintln!("not as root: counted by waited-for children");
    }
}

#[test]
fn without_taskstats_waited_for_children_stand_in() {
    let directory = tempfile::tempdir().unwrap();
    let (recording, list) = (directory.path().join("r.satline"), directory.path().join("users"));
    let users = format!("emulated:{}", list.display());
    let running = Running::start(
        &recording,
        &["--interval", "200ms", "--users", &users, "--no-taskstats"],
    );
    // What a leader waited for after the last sample before its own end is lost to this method: so it lingers.
    let command = &mut Command::new("sh");
    let short = run_as(
        &running,
        &recording,
        &list,
        "short",
        command.args(["-c", SHORT_LIVED]),
        true,
    );
    running.sampled(&recording);
    assert!(running.end(libc::SIGTERM).status.success());
    assert_eq!(
        source(&recording)["methods"]["exits"].as_str(),
        Some("waited-children")
    );
    near(
        last_of(&recording, "short", "cpu_us"),
        short,
        0.35,
        "short-lived processes",
    );
}

/// Not a test of anything: the process that the test above watches. Threads end before, with and after one another.
#[test]
fn helper_that_burns_in_threads() {
    if std::env::var_os("SATLINE_TEST_BURN").is_none() {
        return;
    }
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let burn = |ms: u64| {
        move || {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(ms) {
                std::hint::black_box((0..1000u64).sum::<u64>());
            }
        }
    };
    let threads: Vec<_> = [50, 300, 700, 1400].map(|ms| std::thread::spawn(burn(ms))).into();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    println!("done");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn signals_end_it_as_documented() {
    for (signal, reason) in [(libc::SIGTERM, "complete"), (libc::SIGINT, "interrupted")] {
        let directory = tempfile::tempdir().unwrap();
        let recording = directory.path().join("r.satline");
        let running = Running::start(&recording, &["--interval", "100ms"]);
        running.sampled(&recording);
        let output = running.end(signal);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(source(&recording)["end_reason"].as_str(), Some(reason));
        let samples: Vec<_> = rows(&recording, "system")
            .iter()
            .map(|r| r.int("sample").unwrap())
            .collect();
        assert!(samples.len() >= 3 && samples.is_sorted(), "{samples:?}");
    }
}

#[test]
fn wrong_input_is_told_with_a_hint_and_exit_code_2() {
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("r.satline");
    for arguments in [
        &["--processor", "9999"][..],
        &["--thermometer", "io@1s", "--thermometer-program", "/nonexistent"],
    ] {
        let output = Command::new(MONITOR)
            .arg("--recording")
            .arg(&recording)
            .args(arguments)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(
            stderr.contains(arguments[arguments.len() - 1]) && stderr.contains("hint: "),
            "{stderr}"
        );
        assert!(!recording.exists(), "{arguments:?} left something behind");
    }
}

#[test]
fn a_full_disk_ends_in_a_valid_recording() {
    let directory = tempfile::tempdir().unwrap();
    let mount_point = directory.path().join("small");
    fs::create_dir(&mount_point).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=400k", "tmpfs"])
        .arg(&mount_point)
        .output();
    if !mounted.is_ok_and(|o| o.status.success()) {
        return eprintln!("skipped: mounting a small file system needs root");
    }
    let recording = mount_point.join("r.satline");
    let mut child = Running::start(&recording, &["--interval", "100ms"]);
    let start = Instant::now();
    let filler =
        fs::File::create(mount_point.join("filler")).and_then(|mut file| file.write_all(&vec![1; 180 << 10]));
    let status = loop {
        match child.0.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if start.elapsed() > Duration::from_secs(180) => break None,
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    let mut stderr = String::new();
    if status.is_some() {
        std::io::Read::read_to_string(child.0.stderr.as_mut().unwrap(), &mut stderr).unwrap();
    }
    let (rows, source) = (rows(&recording, "system").len(), source(&recording));
    drop(child);
    assert!(
        Command::new("umount")
            .arg(&mount_point)
            .status()
            .unwrap()
            .success()
    );
    assert!(filler.is_ok(), "the filler alone must fit");
    assert_eq!(status.and_then(|s| s.code()), Some(1), "{stderr}");
    assert!(
        stderr.contains("no space left") && stderr.contains("hint: "),
        "{stderr}"
    );
    assert_eq!(source["end_reason"].as_str(), Some("disk-full"));
    assert!(rows > 0);
}

#[test]
fn a_probe_that_becomes_slow_raises_an_alarm_and_ends_it() {
    let directory = tempfile::tempdir().unwrap();
    let count = directory.path().join("count");
    let probe = directory.path().join("probe");
    let script = format!(
        "#!/bin/sh\necho >> {0}\nn=$(wc -l < {0})\nus=33000\n[ $n -gt 20 ] && [ $n -le 40 ] && us=1608000\n\
         echo \"{{\\\"thermometer\\\":\\\"io\\\",\\\"elapsed_us\\\":$us}}\"\n",
        count.display()
    );
    fs::write(&probe, script).unwrap();
    fs::set_permissions(&probe, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let recording = directory.path().join("x.satline");
    let program = probe.to_str().unwrap();
    let running = Running::start(
        &recording,
        &[
            "--interval",
            "100ms",
            "--thermometer",
            "io@100ms",
            "--thermometer-program",
            program,
        ],
    );
    wait_for(|| fs::read_to_string(&count).is_ok_and(|text| text.len() > 55));
    running.end(libc::SIGTERM);
    let events = rows(&recording, "event");
    let told: Vec<_> = events
        .iter()
        .filter(|row| row.text("event").is_some_and(|event| event.starts_with("probe-")))
        .filter_map(|row| Some((row.text("event")?, row.text("text")?)))
        .collect();
    assert_eq!(
        told,
        [
            (
                "probe-slow",
                "probe io takes 1.61 s, where it usually takes 33 ms"
            ),
            ("probe-usual", "probe io takes 33 ms, as usual again (33 ms)"),
        ]
    );
    let source = fs::read_to_string(recording.join("sources/monitor.toml")).unwrap();
    assert!(source.contains("[thermometers]") && source.contains("in_load_cgroup = false"));
}
