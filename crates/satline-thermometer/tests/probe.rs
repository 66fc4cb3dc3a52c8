//! The program as the monitor runs it, against the real kernel.

use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn thermometer() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_satline-thermometer"));
    // A test run in the background of a script has SIGINT ignored, and would hand that on.
    // SAFETY: signal() may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    command
}

fn reading(arguments: &[&str]) -> Value {
    let output = thermometer().args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1, "{text:?}");
    serde_json::from_str(&text).unwrap()
}

fn refused(arguments: &[&str]) -> Output {
    let output = thermometer().args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    assert!(output.stdout.is_empty());
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("hint: "),
        "{output:?}"
    );
    output
}

#[test]
fn every_preset_gives_one_reading() {
    for preset in ["trivial", "io", "compute", "paging", "mixed"] {
        let reading = reading(&[preset]);
        assert_eq!(reading["thermometer"], preset);
        assert!(reading["elapsed_us"].as_u64().unwrap() > 0, "{reading}");
        assert!(
            reading["parameters"]
                .as_str()
                .unwrap()
                .starts_with("cpu_seconds="),
            "{reading}"
        );
        assert_eq!(reading.as_object().unwrap().len(), 4, "{reading}");
    }
}

#[test]
fn the_processor_time_is_what_was_asked() {
    let reading = reading(&["--cpu-seconds", "0.05", "--name", "mine"]);
    assert_eq!(reading["thermometer"], "mine");
    assert!(reading["cpu_us"].as_u64().unwrap() >= 50_000, "{reading}");
    assert!(reading["elapsed_us"].as_u64().unwrap() >= 50_000, "{reading}");
}

#[test]
fn a_file_io_is_counted_by_the_kernel_as_a_read_of_the_device() {
    if io_of(std::process::id(), "read_bytes").is_none() {
        eprintln!("skipped: this kernel does not count I/O by process");
        return;
    }
    if reading(&["--file-ios", "1"])["parameters"]
        .as_str()
        .unwrap()
        .contains("file_cache=memory")
    {
        eprintln!("skipped: /var/tmp is in main storage here");
        return;
    }
    let mut child = thermometer()
        .args(["--file-ios", "50", "--io-bytes", "8192", "--cpu-seconds", "3600"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The reads come before the processor time: wait for them, then end it.
    let read = until(|| io_of(child.id(), "read_bytes").filter(|bytes| *bytes >= 50 * 8192));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(read.is_some(), "fewer than 50 reads reached the device");
}

#[test]
fn wrong_input_is_refused_with_a_remedy() {
    for arguments in [
        &["warm"][..],
        &[],
        &["--cpu-seconds", "lots"],
        &["--cpu-seconds", "-1"],
        &["--cpu-seconds", "NaN"],
        &["io", "--io-bytes", "0"],
        &["--pages", "99999999999999999"],
        &["io", "--file-ios", "-3"],
        &["io", "--directory", "/nonexistent"],
        &["io", "--directory", "/dev/null"],
        &["trivial", "--name", ""],
        &["trivial", "--unknown"],
    ] {
        refused(arguments);
    }
    assert!(
        String::from_utf8_lossy(&refused(&["io", "--directory", "/nonexistent"]).stderr)
            .contains("/nonexistent")
    );
}

#[test]
fn help_is_not_an_error() {
    let output = thermometer().arg("--help").output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("--terminal-interactions"));
}

#[test]
fn a_probe_that_is_ended_leaves_neither_file_nor_process() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGKILL] {
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let mut child = thermometer()
            .args([
                "--file-ios",
                "4",
                "--terminal-interactions",
                "1",
                "--cpu-seconds",
                "3600",
                "--directory",
            ])
            .arg(directory.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let helper = until(|| child_of(child.id()).filter(|_| holds_deleted_file(&child)));
        let helper = helper.expect("the probe did not get to its work");
        // SAFETY: the child is ours and not yet waited for.
        assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
        child.wait().unwrap();
        assert_eq!(
            std::fs::read_dir(directory.path()).unwrap().count(),
            0,
            "signal {signal}"
        );
        let gone = until(|| (!alive(helper)).then_some(()));
        assert!(
            gone.is_some(),
            "signal {signal}: the answering process {helper} lives on"
        );
    }
}

/// Asks every 2 ms, for two minutes at most, until there is an answer.
fn until<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(120) {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    None
}

fn io_of(pid: u32, key: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with(key) && line[key.len()..].starts_with(':'))?;
    line[key.len() + 1..].trim().parse().ok()
}

fn stat_of(pid: u32) -> Option<(char, u32)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text[text.rfind(')')? + 2..].split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

fn child_of(parent: u32) -> Option<u32> {
    let processes = std::fs::read_dir("/proc").ok()?;
    processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .find(|pid| stat_of(*pid).is_some_and(|(_, its_parent)| its_parent == parent))
}

fn alive(pid: u32) -> bool {
    stat_of(pid).is_some_and(|(state, _)| state != 'Z' && state != 'X')
}

fn holds_deleted_file(child: &Child) -> bool {
    let Ok(descriptors) = std::fs::read_dir(Path::new("/proc").join(child.id().to_string()).join("fd"))
    else {
        return false;
    };
    descriptors
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .any(|target| target.to_string_lossy().ends_with("(deleted)"))
}
