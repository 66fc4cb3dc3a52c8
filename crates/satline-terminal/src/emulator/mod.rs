//! The run: one thread, one timer heap, one epoll set.

mod arrivals;
mod following;

use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::time::Duration;

use crate::allow::Consent;
use crate::common::{Common, What, descendants};
use crate::lines::Lines;
use crate::lines::ssh::News;
use crate::plan::Phase;
use crate::poll::{Ready, Signals, Watch};
use crate::processes;
use crate::progress::Progress;
use crate::user::{State, User};

use following::Following;
use satline_program::Error;
use satline_program::clock::{SECOND_NS, monotonic_ns};

/// Tokens of the epoll set beyond those of the users.
const SIGNALS: u64 = u64::MAX;
const STDIN: u64 = u64::MAX - 1;
const OWNER: u64 = u64::MAX - 2;
/// Of the connections that several users share, from here on.
pub const CONNECTIONS: u64 = 1 << 32;
const TICK_NS: i64 = SECOND_NS / 2;
/// How long processes may take to end after SIGHUP, and after SIGKILL, when the run is over.
const HANG_UP_NS: i64 = SECOND_NS;
const KILL_NS: i64 = 20 * SECOND_NS;

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Complete,
    /// By this signal; 15 where the parent closed standard input.
    Interrupted(libc::c_int, &'static str),
    Failed(Error),
}

/// A run in progress.
pub struct Emulator {
    c: Common,
    users: Vec<User>,
    signals: Signals,
    progress: Progress,
    began_ns: i64,
    drain_ns: i64,
    consent: Option<Consent>,
    /// Steps come on standard input.
    following: Option<Following>,
    /// All steps together take no longer.
    longest_s: f64,
    /// Users whose lines hold more than one read took, or their end.
    unread: Vec<usize>,
    end: Option<End>,
}

impl Emulator {
    /// `watch_stdin`: the end of standard input ends the run. `follow`: what comes on it are further
    /// steps, until all of them take so long, s.
    pub fn new(
        c: Common,
        signals: Signals,
        progress: Progress,
        drain_ns: i64,
        watch_stdin: bool,
        follow: Option<f64>,
        consent: Option<Consent>,
    ) -> io::Result<Self> {
        let most = c.plan.most;
        let scripts = c.workload.deal(most);
        let users = (1..=most)
            .map(|number| User::new(number, scripts[number - 1], c.seed, c.workload.draws))
            .collect();
        c.poll.add(signals.fd(), SIGNALS, Watch::Input)?;
        if let Some(consent) = &consent {
            c.poll.add(consent.fd(), OWNER, Watch::Input)?;
        }
        if watch_stdin {
            c.poll.add(io::stdin().as_raw_fd(), STDIN, Watch::Input)?;
        }
        // Otherwise the kernel gathers timers that are up to 50 us apart.
        // SAFETY: plain numbers. As subreaper the emulator inherits what its users orphan.
        unsafe {
            libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1 as libc::c_ulong);
        }
        Ok(Self {
            c,
            users,
            signals,
            progress,
            began_ns: monotonic_ns(),
            drain_ns,
            consent,
            following: follow.map(|_| Following::default()),
            longest_s: follow.unwrap_or(f64::INFINITY),
            unread: Vec::new(),
            end: None,
        })
    }

    /// Runs the plan, then logs everybody off and sees to it that no process is left.
    pub fn run(mut self) -> (End, Common) {
        self.began_ns = monotonic_ns();
        self.c.timers.set(self.began_ns, What::Step(0));
        self.c.timers.set(self.began_ns, What::Tick);
        let end = loop {
            if let Err(error) = self.turn() {
                let hint = "see the kernel's log";
                break End::Failed(Error::failure(
                    format!("cannot wait for the terminals: {error}"),
                    hint,
                ));
            }
            if let Some(error) = self.c.abort.take() {
                break End::Failed(error);
            }
            if let Some(end) = self.end.take() {
                break end;
            }
        };
        self.close(&end);
        (end, self.c)
    }

    /// One turn of the clockwork: what is due, then what has arrived.
    fn turn(&mut self) -> io::Result<()> {
        // At most so many timers before the terminals are looked at again.
        for _ in 0..64 {
            match self.c.timers.take_due(monotonic_ns()) {
                Some((due_ns, what)) => self.due(what, due_ns),
                None => break,
            }
        }
        let unread = std::mem::take(&mut self.unread);
        let next = if unread.is_empty() {
            self.c.timers.next_ns()
        } else {
            Some(0)
        };
        for index in 0..self.c.poll.wait(next.unwrap_or(i64::MAX))? {
            let Ready { token, hung_up } = self.c.poll.ready(index);
            match token {
                SIGNALS => self.take_signals(),
                STDIN => self.look_at_stdin(),
                OWNER => self.look_at_owner(),
                connection if connection >= CONNECTIONS => self.look_at_connection(connection - CONNECTIONS),
                user => self.read(user as usize, hung_up),
            }
        }
        unread.into_iter().for_each(|user| self.read(user, true));
        Ok(())
    }

    /// Reads once, so that a flood on one line does not starve the others. Where the other end is gone, or the buffer was
    /// too small, nobody tells that there is more.
    fn read(&mut self, user: usize, hung_up: bool) {
        let got = self.users[user].read(&mut self.c);
        if got == self.c.buffer.len() || hung_up && got > 0 {
            self.unread.push(user);
        }
    }

    fn due(&mut self, what: What, due_ns: i64) {
        match what {
            What::LogOn(user) => {
                if self.c.step == 0 || user < self.c.plan.steps[self.c.step - 1].users {
                    self.users[user].log_on(&mut self.c);
                }
            }
            What::LogOff(user) => self.users[user].leave(&mut self.c),
            What::User(user, generation, due) => {
                if self.users[user].generation() == generation {
                    self.users[user].due(&mut self.c, due, due_ns);
                }
            }
            What::Deadline(user) => self.users[user].look_at_deadline(&mut self.c, due_ns),
            What::Step(step) => self.begin_step(step, due_ns),
            What::Arrival(series) => self.arrive(series, due_ns),
            What::TakeOver => self.take_over(),
            What::WarmUp => {
                self.c.phase = Phase::Warmup;
                self.begin_arrivals(due_ns);
            }
            What::HangUp => {
                let on = self.c.plan.steps[self.c.step - 1].users;
                for user in &mut self.users[on..] {
                    user.leave_at_once(&mut self.c);
                }
            }
            What::WindowStart => {
                self.c.phase = Phase::Window;
                self.c.event("window-start", None, "");
                self.c.begin_window();
            }
            What::WindowEnd => self.end_window(due_ns),
            What::Tick => {
                self.tick(due_ns);
                self.c
                    .timers
                    .set((due_ns + TICK_NS).max(monotonic_ns()), What::Tick);
            }
            What::Sweep => self.c.sweep(monotonic_ns()),
            What::DrainEnd => self.end = Some(End::Complete),
        }
    }

    fn begin_step(&mut self, step: usize, at: i64) {
        let plan = &self.c.plan;
        let before = plan.before(step);
        let now_on = plan.steps[step].users;
        let length = plan.length_of(step);
        for (nth, user) in (before.min(now_on)..before.max(now_on)).enumerate() {
            let what = if now_on > before {
                What::LogOn(user)
            } else {
                What::LogOff(user)
            };
            self.c.timers.set(at + self.c.plan.offset_of(step, nth), what);
        }
        let ramp_end = at + self.c.plan.ramp_of(step);
        let window = at + self.c.plan.window_of(step);
        self.c.timers.set(ramp_end, What::WarmUp);
        if now_on < before {
            // The commands that end so are gone, and the users who stay have settled, when the window begins.
            self.c
                .timers
                .set(ramp_end + (window - ramp_end) / 2, What::HangUp);
        }
        self.c.timers.set(window, What::WindowStart);
        self.c.timers.set(at + length, What::WindowEnd);
        self.c.step = step + 1;
        self.c.phase = Phase::Ramp;
        self.c.statistics.begin_step();
        self.c.event("step", Some(length as f64 / SECOND_NS as f64), "");
    }

    fn end_window(&mut self, at: i64) {
        self.c.end_window();
        self.c.event("window-end", None, "");
        self.go_on(at);
    }

    /// After a window: the next step, or the end, or to wait until somebody says which.
    fn go_on(&mut self, at: i64) {
        if self.c.step < self.c.plan.steps.len() {
            return self.begin_step(self.c.step, at);
        }
        if self.following.as_ref().is_some_and(Following::awaits) {
            self.hold();
            return;
        }
        let intended = self.c.plan.steps[self.c.step - 1].users;
        let absent = self.users[..intended]
            .iter()
            .filter(|user| !user.has_been_logged_on())
            .count();
        if absent * 2 > intended {
            let why = self
                .c
                .failed
                .last()
                .map_or("no prompt before the run was over".into(), |(_, why)| why.clone());
            self.c.abort = Some(self.c.too_many_failed(absent, intended, &why));
            return;
        }
        self.c.phase = Phase::Drain;
        self.c.closing = true;
        for user in &mut self.users {
            user.leave(&mut self.c);
        }
        self.end_arrivals();
        self.c.timers.set(at + self.drain_ns, What::DrainEnd);
        self.look_if_drained();
    }

    /// Waits for a step: who is to say which finds all of the window in the recording once this event is there.
    fn hold(&mut self) {
        self.c.phase = Phase::Hold;
        self.c.event("hold", None, "");
        if let Err(error) = self.c.recorder.flush_soon() {
            self.c.abort = Some(error);
        }
        self.show_progress();
    }

    fn show_progress(&self) {
        let elapsed_s = (monotonic_ns() - self.began_ns) as f64 / SECOND_NS as f64;
        self.progress.show(&self.c, elapsed_s);
    }

    fn look_if_drained(&mut self) {
        let waiting = |user: &User| matches!(user.state, State::Waiting | State::Interrupting(_));
        if self.c.phase == Phase::Drain && !self.users.iter().any(waiting) {
            self.end.get_or_insert(End::Complete);
        }
    }

    fn tick(&mut self, now: i64) {
        if let Err(error) = self.c.recorder.flush_due(monotonic_ns()) {
            self.c.abort = Some(error);
        }
        for user in self.c.door.overlooked() {
            self.c.timers.set(now, What::LogOn(user));
        }
        self.show_progress();
        self.look_if_drained();
    }

    fn take_signals(&mut self) {
        while let Some(signal) = self.signals.take() {
            if signal != libc::SIGCHLD {
                self.end
                    .get_or_insert(End::Interrupted(signal, signal_name(signal)));
            }
        }
        while let Some(child) = processes::reap() {
            self.c.clients.ended(&child);
            if let Some(user) = self.c.shells.remove(&child.pid) {
                self.users[user].died(&mut self.c, &processes::ending(child.status));
            }
        }
        self.look_if_drained();
    }

    /// Something came on a connection that several users share: it stands, or is lost, or has text for them.
    fn look_at_connection(&mut self, connection: u64) {
        let number = connection as usize;
        let (users, news) = match &mut self.c.lines {
            Lines::Ssh(ssh) => (ssh.users_of(number), ssh.news(number)),
            Lines::Ssh2(ssh2) => (ssh2.look(number, &self.c.poll), News::None),
            Lines::Pty(_) | Lines::Remote { .. } => return,
        };
        for index in users.start..users.end.min(self.users.len()) {
            match &news {
                News::None if self.users[index].has_news() => self.read(index, false),
                News::None => {}
                News::Ready => self.users[index].connected(&mut self.c),
                News::Lost(why) => self.users[index].not_connected(&mut self.c, why),
            }
        }
    }

    fn look_at_owner(&mut self) {
        let Some(consent) = &mut self.consent else { return };
        if consent.is_withdrawn() {
            self.c.poll.remove(consent.fd());
            let what = format!("the owner of {} no longer allows it", self.c.workload.line.target);
            let hint = "ask the owner; what was recorded so far is whole";
            self.end.get_or_insert(End::Failed(Error::failure(what, hint)));
        }
    }

    /// Logs everybody off, ends every process that descends from a user, removes the users' directories.
    fn close(&mut self, end: &End) {
        let drained = std::mem::replace(&mut self.c.closing, true);
        self.c.end_window();
        for user in &mut self.users {
            user.log_off(&mut self.c);
        }
        if !drained {
            self.end_arrivals();
        }
        self.c.end_clients();
        let began = monotonic_ns();
        let mut left = descendants();
        while !left.is_empty() && monotonic_ns() - began < HANG_UP_NS + KILL_NS {
            if monotonic_ns() - began > HANG_UP_NS {
                left.iter()
                    .for_each(|process| processes::send(process.pid, libc::SIGKILL));
            }
            std::thread::sleep(Duration::from_millis(20));
            self.c.reap_clients();
            left = descendants();
        }
        self.c.reap_clients();
        if !left.is_empty() {
            // Unlike eprintln!, no panic where standard error is closed.
            let _ = writeln!(
                io::stderr(),
                "satline-terminal: {} processes of users do not end",
                left.len()
            );
        }
        let why = match end {
            End::Complete => "the plan is done".to_owned(),
            End::Interrupted(_, by) => format!("interrupted by {by}"),
            End::Failed(error) => error.message.clone(),
        };
        self.c.phase = Phase::Done;
        self.c.event("stopped", None, &why);
        self.show_progress();
    }
}

fn signal_name(signal: libc::c_int) -> &'static str {
    match signal {
        libc::SIGINT => "SIGINT",
        libc::SIGTERM => "SIGTERM",
        libc::SIGHUP => "SIGHUP",
        _ => "a signal",
    }
}
