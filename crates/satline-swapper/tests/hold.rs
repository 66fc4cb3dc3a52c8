//! Holding real processes.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use satline_program::clock::cpu_us_of;
use satline_swapper::hold::Holds;
use satline_swapper::population::Found;
use satline_swapper::roots::Roots;
use satline_swapper::stat::Stat;

/// Long enough for anything that is to happen on a busy host.
const PATIENCE: Duration = Duration::from_secs(120);
const LONG: Duration = Duration::from_secs(600);

/// A process that works, ended with the test.
struct Works(Child);

impl Works {
    fn begin() -> Self {
        Works(
            Command::new("sh")
                .args(["-c", "while :; do :; done"])
                .spawn()
                .unwrap(),
        )
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }

    fn found(&self) -> Found {
        let (_, stat) = Stat::read(&Roots::default(), self.pid()).unwrap();
        Found {
            name: "u".into(),
            interactive: true,
            watch: 0,
            accounting: None,
            processes: BTreeMap::from([(self.pid(), stat)]),
        }
    }

    fn letter(&self) -> char {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        text.rsplit(") ").next().unwrap().chars().next().unwrap()
    }

    fn becomes(&self, standing: bool) -> bool {
        self.becomes_within(standing, PATIENCE)
    }

    fn becomes_within(&self, standing: bool, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        while (self.letter() == 't') != standing {
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }
}

impl Drop for Works {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether this kernel lets us stop others at all.
fn may_trace() -> bool {
    let one = Works::begin();
    let mut holds = Holds::default();
    holds.hold(&Roots::default(), 1, &one.found(), LONG);
    let may = one.becomes(true);
    if !may {
        eprintln!("skipped: this kernel lets us trace nobody (kernel.yama.ptrace_scope, seccomp)");
    }
    may
}

#[test]
fn who_is_held_stands_still_until_he_is_released() {
    if !may_trace() {
        return;
    }
    let (one, roots) = (Works::begin(), Roots::default());
    let mut holds = Holds::default();
    holds.hold(&roots, 1, &one.found(), LONG);
    assert!(one.becomes(true));
    let before = cpu_us_of(one.pid());
    std::thread::sleep(Duration::from_millis(300));
    // Less than a tick.
    let more_us = cpu_us_of(one.pid()).unwrap() - before.unwrap();
    assert!(more_us < 10_000, "{more_us}");
    holds.release(1);
    assert!(one.becomes(false));
}

#[test]
fn a_hold_ends_by_itself() {
    if !may_trace() {
        return;
    }
    let one = Works::begin();
    // On a busy machine a short hold may be over before it is seen: then a longer one.
    let seen = [200, 1_000, 5_000, 25_000].into_iter().any(|ms| {
        let mut holds = Holds::default();
        let longest = Duration::from_millis(ms);
        holds.hold(&Roots::default(), 1, &one.found(), longest);
        one.becomes_within(true, longest)
    });
    assert!(seen);
    assert!(one.becomes(false), "nobody released it");
}

#[test]
fn a_signal_meanwhile_is_not_lost() {
    if !may_trace() {
        return;
    }
    let mut one = Works::begin();
    let mut holds = Holds::default();
    holds.hold(&Roots::default(), 1, &one.found(), LONG);
    assert!(one.becomes(true));
    // SAFETY: a signal to a child of ours.
    unsafe { libc::kill(one.pid(), libc::SIGTERM) };
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(one.letter(), 't', "it waits until he goes on");
    holds.release(1);
    assert_eq!(one.0.wait().unwrap().signal(), Some(libc::SIGTERM));
}

#[test]
fn a_process_that_took_the_number_of_another_is_not_held() {
    if !may_trace() {
        return;
    }
    let (one, two) = (Works::begin(), Works::begin());
    let mut found = one.found();
    let mut stat = found.processes[&one.pid()];
    stat.start_ticks += 1;
    found.processes.insert(one.pid(), stat);
    let mut other = two.found();
    found.processes.append(&mut other.processes);
    let mut holds = Holds::default();
    holds.hold(&Roots::default(), 1, &found, LONG);
    assert!(two.becomes(true));
    assert_ne!(one.letter(), 't');
}
