//! What the daemon tells of itself: the status file, metrics, the recording, and lines for the journal.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use satline_program::{Error, clock};
use serde::Serialize;

use crate::abilities::{Abilities, Lacking};
use crate::decision::{Decisions, Event, State, StorageSeen, UserId, UserSeen, UserState};
use crate::metrics::{self, Metrics};
use crate::recorder::Recorder;
use crate::user::{Totals, User};

/// The status file, once a second.
const EVERY_NS: i64 = 1_000_000_000;

/// The whole status file.
#[derive(Debug, Serialize)]
pub struct Status<'a> {
    pub pid: u32,
    pub time_ns: i64,
    pub policy: &'a str,
    pub dry_run: bool,
    pub method: &'static str,
    pub wakes_on_faults: bool,
    pub cpu_us: i64,
    pub uptime_s: f64,
    pub storage: Option<StorageSeen>,
    pub short: bool,
    pub swap_full: bool,
    pub lacking: &'a [Lacking],
    pub users: Vec<UserStatus<'a>>,
}

/// One user in it.
#[derive(Debug, Serialize)]
pub struct UserStatus<'a> {
    pub user: &'a str,
    pub state: State,
    pub state_seconds: f64,
    pub idle_seconds: f64,
    pub why: String,
    pub interactive: bool,
    pub processes: Vec<i32>,
    pub resident_bytes: u64,
    pub working_set_bytes: Option<u64>,
    pub working_set_runs: u64,
    pub stays: i64,
    pub resumes: i64,
    pub resume_us: i64,
    pub swapped_out_pages: i64,
    pub prepaged_pages: i64,
    pub prepage_errors: i64,
}

/// Tells.
pub struct Face {
    pub policy: String,
    pub dry_run: bool,
    pub abilities: Abilities,
    pub status: Option<PathBuf>,
    pub metrics: Option<Metrics>,
    pub recorder: Option<Recorder>,
    begun_ns: i64,
    next_ns: i64,
}

impl Face {
    /// Begins now.
    pub fn new(policy: String, dry_run: bool, abilities: Abilities, status: Option<PathBuf>) -> Self {
        Face {
            policy,
            dry_run,
            abilities,
            status,
            metrics: None,
            recorder: None,
            begun_ns: clock::monotonic_ns(),
            next_ns: 0,
        }
    }

    /// Everything that is told once in a second.
    ///
    /// # Errors
    /// The recording cannot be written.
    pub fn tick(
        &mut self,
        now_ns: i64,
        decisions: &Decisions,
        users: &BTreeMap<UserId, User>,
        storage: Option<StorageSeen>,
    ) -> Result<(), Error> {
        if now_ns < self.next_ns {
            return Ok(());
        }
        self.next_ns = now_ns + EVERY_NS;
        let users: Vec<(&User, &UserState)> = users
            .values()
            .filter_map(|user| Some((user, decisions.users.get(&user.id)?)))
            .collect();
        if let Some(recorder) = &mut self.recorder {
            recorder.sample(now_ns, decisions, &users, storage)?;
        }
        let status = Status {
            pid: std::process::id(),
            time_ns: clock::real_ns(),
            policy: &self.policy,
            dry_run: self.dry_run,
            method: self.abilities.method.word(),
            wakes_on_faults: self.abilities.wakes,
            cpu_us: clock::own_cpu_us(),
            uptime_s: (now_ns - self.begun_ns) as f64 / 1e9,
            storage,
            short: decisions.short,
            swap_full: decisions.swap_full,
            lacking: &self.abilities.lacking,
            users: users
                .iter()
                .map(|(user, state)| describe(user, state, now_ns / 1000))
                .collect(),
        };
        if let Some(metrics) = &self.metrics {
            metrics.set(metrics::text(&status));
        }
        if let Some(path) = &self.status {
            // A reader sees the old file or the new one. A status that cannot be written must not end the daemon.
            if let Ok(text) = serde_json::to_string(&status) {
                let _ = replace(path, text.as_bytes());
            }
        }
        Ok(())
    }

    /// What was seen, for a later replay.
    pub fn seen(&mut self, now_ns: i64, seen: &[UserSeen], events: &[Event], storage: Option<StorageSeen>) {
        if let Some(recorder) = &mut self.recorder {
            recorder.seen(now_ns, seen, events, storage);
        }
    }

    /// A user went from one state to another.
    pub fn transition(&mut self, user: &str, before: State, state: State) {
        if self.dry_run {
            let _ = writeln!(
                std::io::stdout(),
                "{}: {} → {}",
                satline_program::harmless(user),
                before.word(),
                state.word()
            );
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.event(
                "swap-state",
                None,
                &format!("{user}\t{}\t{}", before.word(), state.word()),
            );
        }
    }

    /// Something was done for a user.
    pub fn event(&mut self, event: &str, value: Option<f64>, user: &str) {
        if self.dry_run {
            let number = value.map_or_else(String::new, |value| format!(" {value}"));
            let _ = writeln!(
                std::io::stdout(),
                "{}: would have {event}{number}",
                satline_program::harmless(user)
            );
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.event(event, value, user);
        }
    }

    /// Ends the recording; the status file goes, since nobody keeps it true any more.
    ///
    /// # Errors
    /// The recording cannot be written.
    pub fn end(&mut self) -> Result<(), Error> {
        if let Some(path) = &self.status {
            let _ = std::fs::remove_file(path);
        }
        match &mut self.recorder {
            Some(recorder) => recorder.end(&self.abilities),
            None => Ok(()),
        }
    }
}

/// Replaces a file by way of one that is made anew under a name nobody can foresee: whoever may write in the directory can
/// neither have put a link there nor a file of its own.
fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut random = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    let temporary = path.with_file_name(format!(".{name}.{:016x}", u64::from_ne_bytes(random)));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
    let replaced = file
        .write_all(content)
        .and_then(|()| fs::rename(&temporary, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    replaced
}

fn describe<'a>(user: &'a User, state: &UserState, now_us: i64) -> UserStatus<'a> {
    let Totals {
        stays,
        resumes,
        resume_us,
        swapped_out_pages,
        prepaged_pages,
        prepage_errors,
        ..
    } = user.totals;
    UserStatus {
        user: &user.found.name,
        state: state.state,
        state_seconds: (now_us - state.since_us) as f64 / 1e6,
        idle_seconds: (now_us - state.last_active_us) as f64 / 1e6,
        why: why(state, now_us),
        interactive: state.interactive,
        processes: user.found.processes.keys().copied().collect(),
        resident_bytes: state.resident_bytes,
        working_set_bytes: state.working_set_bytes,
        working_set_runs: user.working_set_runs,
        stays,
        resumes,
        resume_us,
        swapped_out_pages,
        prepaged_pages,
        prepage_errors,
    }
}

/// Why a user is where he is.
fn why(user: &UserState, now_us: i64) -> String {
    let mut said = match user.state {
        State::Active => "he works, or worked less than queue_drop.idle_seconds ago".to_owned(),
        State::Idle => {
            "his stay is over; storage has not been short since, so what he has in storage is kept (logical swap)"
                .to_owned()
        }
        State::Trimmed => "storage was short: of what lies outside his working set as much is out as was needed".to_owned(),
        State::Partly => {
            "storage was short: a part of his working set is out too; enough was free before all was"
                .to_owned()
        }
        State::Swapped => "storage was short and he had been idle the longest: all he had is out".to_owned(),
        State::Eligible => {
            "he is back, and held until his working set fits beside those of the users who work".to_owned()
        }
        State::Resuming => "he is back: his swap sets are being read".to_owned(),
    };
    if user.working_set_bytes.is_none() && matches!(user.state, State::Idle | State::Trimmed) {
        said += "; his working set is not known before he was swapped out once";
    }
    match user.left_alone {
        Some((until_us, reason)) if until_us > now_us => {
            said += &format!(
                "; left alone for {} s more: {reason}",
                (until_us - now_us) / 1_000_000
            );
        }
        _ => {}
    }
    said
}
