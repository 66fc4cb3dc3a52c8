//! From the options to a finished recording.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use satline_program::{Error, clock::real_ns};
use satline_recording::{
    HostFacts, RecordingDescription, create_if_absent, end_recording, write_toml_at_end,
    write_toml_atomically,
};
use serde::Serialize;

use crate::allow::Consent;
use crate::calibration::{Calibration, calibrate};
use crate::cli::{ProgressOption, RunOptions};
use crate::clients::Clients;
use crate::common::Common;
use crate::door::Door;
use crate::draws::DrawsKey;
use crate::emulator::{Emulator, End};
use crate::lines::{Lines, pty};
use crate::open::{Counts, Open};
use crate::plan::{Phase, Plan};
use crate::poll::{Poll, Signals, Watch};
use crate::progress::Progress;
use crate::rate::Rate;
use crate::recorder::Recorder;
use crate::secret::{self, Passwords};
use crate::start::{consent, line_options, lines, look_at_limits, look_for_programs, plan_of, try_tls};
use crate::statistics::{Lateness, Statistics};
use crate::timers::Timers;
use crate::user::user_name;
use crate::workload::{self, Workload};

/// How long what need not happen at once may wait for another wake-up.
const SLACK_NS: i64 = 50_000_000;

/// `sources/terminal.toml`.
#[derive(Debug, Serialize)]
struct Source<'a> {
    writer: &'a str,
    version: &'a str,
    workload: &'a str,
    /// Where the users' lines led.
    line: String,
    /// The library that carried them in the emulator itself.
    library: Option<String>,
    seed: i64,
    draws: DrawsKey,
    scheduling: &'a str,
    end_reason: Option<&'a str>,
    error: Option<&'a str>,
    late: Option<bool>,
    /// Absent: it could not be measured.
    calibration: Option<Calibration>,
    lateness: Option<Lateness>,
    cost: Option<Cost>,
    /// Open systems only.
    arrivals: Option<Counts>,
}

#[derive(Debug, Serialize)]
struct Cost {
    /// Clients that carry lines included, as in the shares.
    cpu_us: i64,
    transactions: u64,
    /// Lines that did not come to be or were lost; times that a line waited for --max-rate.
    lines_lost: u64,
    lines_held: u64,
    /// Part of one processor over the measured windows, clients that carry lines included.
    window_processor_share: Option<f64>,
    /// The same of the busiest: the emulator itself, or a client that carries lines for it.
    window_busiest_share: Option<f64>,
}

/// The users' private directories; what was made here is removed.
struct Directory {
    path: PathBuf,
    ours: bool,
}

/// Runs the users; gives the exit status.
pub fn run(options: &RunOptions) -> Result<i32, Error> {
    let mut workload = workload::load(&options.workload, options.line.as_ref())?;
    line_options(options, &mut workload)?;
    workload.draws = options.draws.unwrap_or(workload.draws);
    let plan = plan_of(options)?;
    // Variables that are no UTF-8 stay behind.
    let text =
        |(key, value): (OsString, OsString)| Some((key.into_string().ok()?, value.into_string().ok()?));
    let mut environment: Vec<(String, String)> = std::env::vars_os().filter_map(text).collect();
    if let Some(secret::Source::Variable(name)) = &workload.line.password {
        // Users' programs are not to find it.
        environment.retain(|(key, _)| key != name);
    }
    look_for_programs(&workload, &environment, &options.env)?;
    let most = plan.most;
    let file_limit = pty::raise_file_limit();
    look_at_limits(options, most, &workload.line.target)?;
    let passwords = workload.line.password.as_ref();
    let passwords = passwords
        .map(|source| Passwords::read(source, &workload.origin, most))
        .transpose()?;
    let signals = Signals::new(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGCHLD])
        .map_err(|error| Error::failure(format!("cannot take signals: {error}"), ""))?;
    let lines = lines(options, &workload, &environment, file_limit)?;
    let consent = consent(options, &workload, &plan, &lines, most)?;
    try_tls(options, &workload, &lines)?;
    if options.watch_stdin {
        Poll::new()
            .and_then(|poll| poll.add(0, 0, Watch::Input))
            .map_err(|error| {
                let hint = "with --watch-stdin standard input must be a pipe or a terminal";
                Error::input(
                    format!("--watch-stdin: cannot watch standard input: {error}"),
                    hint,
                )
            })?;
    }
    let users_file = options.users_file.as_deref().map(open_users_file).transpose()?;
    let directory = make_directory(options.directory.as_deref(), most)?;
    let outcome = record(
        options,
        workload,
        plan,
        environment,
        (lines, passwords, consent),
        users_file,
        signals,
        &directory.path,
    );
    remove_directory(&directory, most);
    outcome
}

#[allow(clippy::too_many_arguments)]
fn record(
    options: &RunOptions,
    workload: Workload,
    plan: Plan,
    environment: Vec<(String, String)>,
    (mut lines, passwords, consent): (Lines, Option<Passwords>, Option<Consent>),
    users_file: Option<fs::File>,
    signals: Signals,
    directory: &Path,
) -> Result<i32, Error> {
    let recording = &options.recording;
    let host = HostFacts::read(Path::new("/proc"), Path::new("/etc/os-release"));
    let created = RecordingDescription::plain("satline-terminal", real_ns(), host)
        .and_then(|description| create_if_absent(recording, &description))?;
    let recorder = Recorder::open(recording, &workload.scripts)?;
    // After the recorder, whose own thread need not be punctual; the users' shells do not inherit it.
    let scheduling = satline_program::scheduling::prefer();
    // With the scheduling of the run.
    let calibration = calibrate();
    let source_path = recording.join("sources/terminal.toml");
    let (name, target) = (workload.name.clone(), workload.line.target.to_string());
    let draws = workload.draws;
    let library = match &lines {
        Lines::Ssh2(ssh2) => Some(format!("libssh2 {}", ssh2.version())),
        _ => None,
    };
    let source = |end: Option<&End>, figures: Option<(&Statistics, i64)>, arrivals: Option<Counts>| {
        let (figures, cpu_us) = figures.unzip();
        let failure = end.and_then(|end| {
            if let End::Failed(error) = end {
                Some(error)
            } else {
                None
            }
        });
        let source = Source {
            writer: "terminal",
            version: env!("CARGO_PKG_VERSION"),
            workload: &name,
            line: target.clone(),
            library: library.clone(),
            seed: options.seed as i64,
            draws,
            scheduling: scheduling.word(),
            end_reason: end.map(reason),
            error: failure.map(|error| error.message.as_str()),
            late: figures.map(Statistics::late),
            calibration,
            lateness: figures.and_then(Statistics::window_lateness),
            cost: figures.map(|figures| Cost {
                cpu_us: cpu_us.unwrap_or(0),
                transactions: figures.transactions,
                lines_lost: figures.lines_lost,
                lines_held: figures.lines_held,
                window_processor_share: figures.window_cpu(),
                window_busiest_share: figures.window_busiest(),
            }),
            arrivals,
        };
        let write = if end.is_some() {
            write_toml_at_end
        } else {
            write_toml_atomically
        };
        write(&source_path, &source)
    };
    source(None, None, None)?;
    let open = workload
        .arrivals
        .map(|arrivals| Open::new(arrivals, options.seed));
    let log_ons_at_once = match &mut lines {
        Lines::Ssh(ssh) => {
            ssh.directory = directory.to_path_buf();
            workload.line.ssh.log_ons_at_once
        }
        Lines::Ssh2(_) => workload.line.ssh.log_ons_at_once,
        _ => usize::MAX,
    };
    let mut c = Common {
        extra: variables(options, directory),
        workload,
        plan,
        seed: options.seed,
        logon_timeout_ns: options.logon_timeout,
        directory: directory.to_path_buf(),
        environment,
        lines,
        passwords,
        rate: Rate::new(options.max_rate),
        open,
        users_file,
        poll: Poll::new()
            .map_err(|error| Error::failure(format!("cannot make an epoll set: {error}"), ""))?,
        buffer: vec![0; 32 * 1024],
        timers: Timers::new(SLACK_NS),
        recorder,
        statistics: Statistics::default(),
        shells: HashMap::new(),
        clients: Clients::default(),
        window_began: None,
        door: Door::new(log_ons_at_once),
        hung_up: Vec::new(),
        step: 0,
        phase: Phase::Ramp,
        logged_on: 0,
        failed: Vec::new(),
        abort: None,
        closing: false,
    };
    c.list_user(std::process::id() as i32, "_satline");
    if let Some(client) = consent.as_ref().and_then(|consent| consent.client) {
        c.add_client(client);
    }
    let progress = if options.progress == ProgressOption::Json {
        Progress::Json
    } else {
        Progress::None
    };
    let emulator = Emulator::new(
        c,
        signals,
        progress,
        options.drain,
        options.watch_stdin,
        options.follow.then_some(options.max_time as f64 / 1e9),
        consent,
    )
    .map_err(|error| Error::failure(format!("cannot wait for signals: {error}"), ""))?;
    let (mut end, mut c) = emulator.run();
    if let Err(error) = c.recorder.finish() {
        if !matches!(end, End::Failed(_)) {
            end = End::Failed(error);
        }
    }
    source(
        Some(&end),
        Some((&c.statistics, c.clients.begin().all_us)),
        c.open.as_ref().map(|open| open.counts),
    )?;
    if created {
        end_recording(recording, real_ns(), reason(&end))?;
    }
    match end {
        End::Complete => Ok(0),
        End::Interrupted(signal, _) => Ok(128 + signal),
        End::Failed(error) => Err(error),
    }
}

fn reason(end: &End) -> &'static str {
    match end {
        End::Complete => "complete",
        End::Interrupted(..) => "interrupted",
        End::Failed(error) => error.end_reason(),
    }
}

fn open_users_file(path: &Path) -> Result<fs::File, Error> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(|error| {
            let what = format!("--users-file: cannot write {}: {error}", path.display());
            Error::input(what, "name a file in a directory that exists")
        })
}

/// Variables by option, and those of the users' world that options did not give.
fn variables(options: &RunOptions, directory: &Path) -> Vec<(String, String)> {
    let beside = options
        .workload
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let beside = fs::canonicalize(beside).unwrap_or_else(|_| beside.to_path_buf());
    let mut variables = vec![
        ("SATLINE_DATA".to_owned(), beside.display().to_string()),
        (
            "SATLINE_SHARE".to_owned(),
            directory.join("share").display().to_string(),
        ),
    ];
    variables.extend(options.env.iter().cloned());
    variables
}

fn make_directory(wanted: Option<&Path>, most: usize) -> Result<Directory, Error> {
    let temporary = std::env::temp_dir().join(format!("satline-terminal-{}", std::process::id()));
    let path = std::path::absolute(wanted.unwrap_or(&temporary)).unwrap_or(temporary);
    let fail = |what: &Path, error: &io::Error| {
        let what = format!("--directory: cannot make {}: {error}", what.display());
        Error::input(what, "name a directory that this user may write")
    };
    let ours = !path.exists();
    if wanted.is_some() {
        fs::create_dir_all(&path)
    } else {
        // The name can be foreseen, and the place is everybody's: it must be new, and ours alone.
        fs::DirBuilder::new().mode(0o700).create(&path)
    }
    .map_err(|error| fail(&path, &error))?;
    for name in names(most) {
        if path.join(&name).exists() {
            let what = format!("--directory: {} exists already", path.join(&name).display());
            return Err(Error::input(
                what,
                "name another directory, or remove what is left of an earlier run",
            ));
        }
    }
    let directory = Directory { path, ours };
    // All of them now: the clockwork is not to wait for a busy disk.
    for name in names(most) {
        let path = directory.path.join(name);
        if let Err(error) = fs::create_dir(&path) {
            remove_directory(&directory, most);
            return Err(fail(&path, &error));
        }
    }
    Ok(directory)
}

fn names(most: usize) -> impl Iterator<Item = String> {
    (1..=most).map(user_name).chain(["share".to_owned()])
}

fn remove_directory(directory: &Directory, most: usize) {
    for name in names(most) {
        let path = directory.path.join(name);
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                // Standard error may be closed.
                let what = format!("satline-terminal: cannot remove {}: {error}", path.display());
                let _ = writeln!(io::stderr(), "{what}");
            }
            _ => {}
        }
    }
    if directory.ours {
        // Not empty only if something else was put there, which is not ours to remove.
        let _ = fs::remove_dir(&directory.path);
    }
}
