//! What all pseudo-users share: the clockwork, the plan's state, the recording, the figures.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use satline_program::Error;
use satline_program::clock::{SECOND_NS, monotonic_ns};

use crate::clients::{Clients, Used};
use crate::door::Door;
use crate::lines::pty::COLUMNS;
use crate::lines::{Lines, Link, Target};
use crate::open::Open;
use crate::plan::{Phase, Plan};
use crate::poll::Poll;
use crate::processes;
use crate::rate::Rate;
use crate::recorder::{Event, Recorder};
use crate::secret::Passwords;
use crate::statistics::Statistics;
use crate::timers::Timers;
use crate::workload::Workload;

/// How long the processes of a user who logged off may take after the hang-up before they are killed.
const HANG_UP_GRACE_NS: i64 = SECOND_NS;

/// What a timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The user logs on, unless it is.
    LogOn(usize),
    /// The user logs off, after its answer if it waits for one.
    LogOff(usize),
    /// Something of the user's current state; void if the user has gone on since (generation).
    User(usize, u64, Due),
    /// The user's answer is given up, unless it came.
    Deadline(usize),
    Step(usize),
    /// A command of an open system is to start; void if it is of an earlier series.
    Arrival(u64),
    /// Arrivals that a session did not send are another's, if one is idle.
    TakeOver,
    WarmUp,
    /// Who was to leave in this step, and still waits for an answer, hangs up.
    HangUp,
    WindowStart,
    WindowEnd,
    /// Twice a second: progress, flush.
    Tick,
    /// Kill what is left of sessions that were hung up.
    Sweep,
    DrainEnd,
}

/// What is due for a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    Key,
    Settle,
}

/// Shared by all users.
pub struct Common {
    pub workload: Workload,
    pub plan: Plan,
    pub seed: u64,
    pub logon_timeout_ns: i64,
    /// Holds each user's private directory.
    pub directory: PathBuf,
    pub environment: Vec<(String, String)>,
    /// Extra variables by option: they win.
    pub extra: Vec<(String, String)>,
    pub lines: Lines,
    pub passwords: Option<Passwords>,
    pub rate: Rate,
    /// Where commands arrive instead of being thought of.
    pub open: Option<Open>,
    pub users_file: Option<File>,
    pub poll: Poll,
    /// For one read at a time.
    pub buffer: Vec<u8>,
    pub timers: Timers<What>,
    pub recorder: Recorder,
    pub statistics: Statistics,
    /// Users by their shell's process number.
    pub shells: HashMap<i32, usize>,
    /// Processes that carry lines.
    pub clients: Clients,
    /// What they and the emulator had used when the open window began.
    pub window_began: Option<Used>,
    /// Log-ons that may not begin yet.
    pub door: Door,
    /// Sessions that were hung up, and when.
    pub hung_up: Vec<(i32, i64)>,
    /// Step from 1, 0 before the first.
    pub step: usize,
    pub phase: Phase,
    pub logged_on: usize,
    /// Users whose log-on failed for good: number and why.
    pub failed: Vec<(usize, String)>,
    /// The run cannot go on.
    pub abort: Option<Error>,
    /// The run is ending: nobody logs on, nobody begins a line.
    pub closing: bool,
}

impl Common {
    /// Step from 1 and its users, None before the first step.
    pub fn step_and_users(&self) -> Option<(i64, i64)> {
        (self.step > 0).then(|| (self.step as i64, self.plan.steps[self.step - 1].users as i64))
    }

    pub fn event(&mut self, event: &str, value: Option<f64>, text: &str) {
        let (step, users) = self.step_and_users().unzip();
        self.recorder.event(&Event {
            source: "terminal",
            event,
            step,
            users,
            value,
            text: Some(text).filter(|text| !text.is_empty()),
        });
    }

    /// Columns of the users' terminals.
    pub fn columns(&self) -> usize {
        let own = matches!(self.workload.line.target, Target::Ssh { .. }) && self.workload.shell.is_empty();
        // Without a command of ours nobody tells the host's terminal its size.
        usize::from(if own { 80 } else { COLUMNS })
    }

    /// Appends a shell to the users file.
    pub fn list_user(&mut self, pid: i32, user: &str) {
        if let Some(file) = &mut self.users_file {
            if let Err(error) = file.write_all(format!("{pid}\t{user}\n").as_bytes()) {
                let hint = "make room, or run without --users-file";
                self.abort = Some(Error::failure(
                    format!("cannot write the users file: {error}"),
                    hint,
                ));
            }
        }
    }

    pub fn begin_window(&mut self) {
        self.window_began = Some(self.clients.begin());
        self.statistics.begin_window(monotonic_ns());
    }

    pub fn end_window(&mut self) {
        if let Some(began) = self.window_began.take() {
            self.statistics
                .end_window(monotonic_ns(), self.clients.since(began));
        }
    }

    /// A process that carries lines was started.
    pub fn add_client(&mut self, pid: i32) {
        self.clients.add(pid);
        self.list_user(pid, "_satline");
    }

    pub fn end_clients(&self) {
        for pid in self.clients.all() {
            processes::send(pid, libc::SIGTERM);
        }
    }

    pub fn reap_clients(&mut self) {
        while let Some(child) = processes::reap() {
            self.clients.ended(&child);
        }
    }

    /// One log-on less is under way: the next may begin.
    pub fn through_the_door(&mut self) {
        if let Some(user) = self.door.leave() {
            self.timers.set(monotonic_ns(), What::LogOn(user));
        }
    }

    /// Closes a line; what survives the hang-up of a terminal is killed a second later.
    pub fn hang_up(&mut self, link: Link) {
        if !link.is_shared() {
            self.poll.remove(link.fd());
        }
        // A client that has been reaped is nobody, or somebody else.
        let client = link.client().filter(|&pid| self.clients.is_running(pid));
        let Some(pid) = link.pid().or(client) else {
            return;
        };
        // SAFETY: a plain query of a descriptor that is open.
        let foreground = unsafe { libc::tcgetpgrp(link.fd()) };
        // A failed query gives -1, whose negative is process 1.
        for group in [foreground, pid].into_iter().filter(|&group| group > 1) {
            processes::send(-group, libc::SIGHUP);
            processes::send(-group, libc::SIGCONT);
        }
        drop(link);
        self.shells.remove(&pid);
        let now = monotonic_ns();
        self.hung_up.push((pid, now));
        self.timers.set(now + HANG_UP_GRACE_NS, What::Sweep);
    }

    /// Kills what is left of the sessions that were hung up long enough ago.
    pub fn sweep(&mut self, now_ns: i64) {
        let due: Vec<i32> = self
            .hung_up
            .iter()
            .filter(|(_, at)| now_ns - at >= HANG_UP_GRACE_NS)
            .map(|(pid, _)| *pid)
            .collect();
        if due.is_empty() {
            return;
        }
        self.hung_up.retain(|(_, at)| now_ns - at < HANG_UP_GRACE_NS);
        for process in descendants() {
            if due.contains(&process.session) && !self.shells.contains_key(&process.session) {
                processes::send(process.pid, libc::SIGKILL);
            }
        }
    }

    /// A line that did not come to be, or was lost: recorded and counted.
    pub fn line_lost(&mut self, name: &str, why: &str) {
        self.statistics.lines_lost += 1;
        self.event("line-lost", None, &format!("{name}: {why}"));
    }

    /// A user cannot log on: recorded; too many of them end the run.
    pub fn log_on_failed(&mut self, number: usize, name: &str, why: &str) {
        self.statistics.failures += 1;
        self.event("log-on-failed", None, &format!("{name}: {why}"));
        self.failed.push((number, why.to_owned()));
        let intended = if self.step == 0 {
            0
        } else {
            self.plan.steps[self.step - 1].users
        };
        let failed = self
            .failed
            .iter()
            .filter(|(number, _)| *number <= intended)
            .count();
        if failed * 2 > intended {
            self.abort = Some(self.too_many_failed(failed, intended, why));
        }
    }

    /// The error when more than half of a step's users are not logged on.
    pub fn too_many_failed(&self, failed: usize, intended: usize, why: &str) -> Error {
        let target = &self.workload.line.target;
        let (place, hint) = if target.is_remote() {
            let hint = "try the line by hand; check the keys line, prompt and setup of the workload";
            (format!("over the line {target}"), hint)
        } else {
            let hint = "try the shell and the setup lines by hand; check the keys shell, prompt and setup of the workload";
            (
                format!("with the shell `{}`", self.workload.shell.join(" ")),
                hint,
            )
        };
        let origin = &self.workload.origin;
        let step = self.step;
        let what = format!(
            "{origin}: {failed} of the {intended} users of step {step} could not log on {place}: {why}"
        );
        Error::input(what, hint)
    }
}

/// All processes that descend from this one.
pub fn descendants() -> Vec<processes::Process> {
    let processes = processes::all(std::path::Path::new("/proc"));
    processes::descendants(&processes, std::process::id() as i32)
}
