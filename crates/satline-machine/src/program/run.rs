//! One run: files → simulation → result, with a recording where one is wanted.

use std::fs;

use satline_program::Error;

use super::ending::Ending;
use super::progress::Progress;
use crate::configuration::read::{Source, folder_of, read_with, text_of};
use crate::configuration::{Population, Session, Workload};
use crate::engine::{Span, Streams, Time};
use crate::model::{Plan, Simulation, Step};
use crate::options::{LoadOptions, RunOptions};
use crate::readings::{Observer, Reading, TransactionRecord, Transition};
use crate::recorder::{Recorder, Setting};
use crate::summary::{RunStep, Series, StepResult, Steps, Summary, seconds};

/// Signals are looked for, and progress is told, at least so often in simulated time.
pub(super) const CHUNK: Span = Span::from_ns(10_000_000_000);

/// A machine whose paging areas stay full for so long, with no frame to give up, does nothing any more.
pub(super) const STUCK: Span = Span::from_ns(60_000_000_000);

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    pub ending: Ending,
    pub machine: String,
    pub workload: String,
    pub seed: u64,
    pub replication: u64,
    pub events: u64,
    /// Processor time of this host that the run took; `None` where it cannot be known.
    pub cpu_s: Option<f64>,
    pub simulated_s: f64,
    pub unverified: Vec<String>,
    pub processors: u32,
    /// What the machine leaves out of a multiprocessor.
    pub not_modelled: Vec<&'static str>,
    pub steps: Vec<StepResult>,
    pub series: Series,
}

/// The summary, and the recording where one is made.
struct Observers<'a> {
    summary: Summary,
    recorder: Option<Recorder<'a>>,
}

impl Observer for Observers<'_> {
    fn sample(&mut self, reading: &Reading) {
        self.summary.sample(reading);
        if let Some(recorder) = &mut self.recorder {
            recorder.sample(reading);
        }
    }

    fn transaction(&mut self, record: &TransactionRecord) {
        self.summary.transaction(record);
        if let Some(recorder) = &mut self.recorder {
            recorder.transaction(record);
        }
    }

    fn transition(&mut self, transition: &Transition) {
        if let Some(recorder) = &mut self.recorder {
            recorder.transition(transition);
        }
    }
}

/// Runs to the end, or until `stop` says why not.
///
/// # Errors
/// Wrong input, a failed audit, or a recording that cannot be written.
pub fn run(options: &RunOptions, stop: &dyn Fn() -> Option<Ending>) -> Result<Outcome, Error> {
    let load = &options.load;
    let machine_text = text_of(&load.machine, "give a machine file; machines/ has examples")?;
    let workload_text = text_of(
        &load.workload,
        "give a workload file; workloads/simulated/ has examples",
    )?;
    let (machine, workload) = read_with(
        &Source {
            text: &machine_text,
            file: &load.machine.display().to_string(),
            folders: &[folder_of(&load.machine)],
        },
        &Source {
            text: &workload_text,
            file: &load.workload.display().to_string(),
            folders: &[],
        },
        &load.set,
    )?;
    let (machine, workload) = (machine.machine, workload.workload);
    let steps = steps(load, &workload, options.warmup_seconds, options.sample_seconds)?;
    let plan = Plan {
        audit: true,
        ..plan(&steps, steps.most_users(), options.sample_seconds)
    };
    let streams = Streams::new(load.seed, options.replication);
    let mut simulation = Simulation::new(&machine, &workload, &plan, streams)?;
    let setting = options.record.as_deref().map(|directory| Setting {
        directory,
        machine: &machine,
        workload: &workload,
        machine_text: &machine_text,
        workload_text: &workload_text,
        sets: &load.set,
        seed: load.seed,
        replication: options.replication,
        start_ns: options.start,
        sample_every: options.sample_seconds,
        steps: &steps,
        transactions: options.transactions_out,
    });
    let devices = machine.devices.iter().map(|device| device.name.clone()).collect();
    let locks = machine.locks.iter().map(|lock| lock.name.clone()).collect();
    let mut observers = Observers {
        summary: Summary::new(steps.clone(), devices).with_locks(locks),
        recorder: setting.map(recorder).transpose()?,
    };
    let ran = go(&mut simulation, &mut observers, &steps, options.progress, stop);
    if let Some(recorder) = observers.recorder.take() {
        recorder.end(ran.as_ref().map_or("failed", |ending| ending.reason()))?;
    }
    let ending = ran?;
    let summary = observers.summary;
    Ok(Outcome {
        ending,
        machine: machine.name.clone(),
        workload: workload.name.clone(),
        seed: load.seed,
        replication: options.replication,
        events: summary.events(),
        cpu_s: cpu_s(),
        simulated_s: seconds(summary.time()),
        unverified: machine.unverified.clone(),
        processors: machine.processors.count,
        not_modelled: machine.not_modelled(),
        steps: summary.steps(),
        series: summary.series(),
    })
}

fn go(
    simulation: &mut Simulation,
    observers: &mut Observers<'_>,
    steps: &Steps,
    progress: bool,
    stop: &dyn Fn() -> Option<Ending>,
) -> Result<Ending, Error> {
    let (end, mut progress) = (steps.end(), Progress::new(progress));
    // The first difference needs a reading to begin with.
    observers.sample(simulation.reading());
    let (mut now, mut flowed) = (Time::START, Time::START);
    while now < end {
        if let Some(ending) = stop() {
            return Ok(ending);
        }
        now = end.min(now + CHUNK);
        simulation.run_until(now, observers);
        if !simulation.overflow() {
            flowed = now;
        } else if now - flowed >= STUCK {
            return Err(overflown(steps.at(now).users, now));
        }
        if let Some(error) = observers.recorder.as_ref().and_then(Recorder::failure) {
            return Err(error.clone());
        }
        if let Some(progress) = &mut progress {
            progress.at(now, end, observers.summary.events());
        }
    }
    if simulation.overflow() {
        return Err(overflown(steps.at(now).users, now));
    }
    simulation.audit().map_err(does_not_add_up)?;
    Ok(Ending::Complete)
}

/// A mistake of the program.
pub(super) fn does_not_add_up(failed: Vec<String>) -> Error {
    Error::failure(
        format!("the run does not add up: {}", failed.join("; ")),
        "this is a mistake of the simulator: report it with the files and the command",
    )
}

/// Paging areas have been full for too long.
pub(super) fn overflown(users: u32, now: Time) -> Error {
    let seconds = now.ns() / 1_000_000_000;
    Error::input(
        format!("at {seconds} s, with {users} users, the paging areas are full and no frame can be given up"),
        "give the machine more [[paging_area]], or the run fewer users",
    )
}

fn recorder(setting: Setting<'_>) -> Result<Recorder<'_>, Error> {
    let directory = setting.directory;
    if directory.join("recording.toml").exists() {
        return Err(Error::input(
            format!("{}: there is a recording already", directory.display()),
            "choose another name, or delete it",
        ));
    }
    Recorder::create(setting)
}

/// The numbers of users asked for, or those of the workload.
pub(super) fn steps(
    load: &LoadOptions,
    workload: &Workload,
    warmup: Span,
    every: Span,
) -> Result<Steps, Error> {
    let (users, step, schedule) = (&load.users, load.step_seconds, load.schedule);
    match &workload.population {
        _ if !users.is_empty() => Steps::of_loads(users, step, warmup, every),
        Population::Constant(users) if !schedule => Steps::of_loads(&[*users], step, warmup, every),
        Population::Varying(sessions) if schedule => {
            let length = load.seconds.unwrap_or_else(|| length_of(sessions));
            Steps::of_schedule(sessions, length, warmup, every)
        }
        Population::Constant(_) => Err(Error::input(
            format!(
                "workload {} has the same number of users all the time",
                workload.name
            ),
            "leave --schedule out",
        )),
        Population::Varying(_) => Err(Error::input(
            format!("the users of workload {} come and go", workload.name),
            "give --schedule, or numbers of users (--users)",
        )),
    }
}

/// The plan of these steps, not audited, with room for so many users.
pub(super) fn plan(steps: &Steps, users: u32, sample_every: Span) -> Plan {
    let begins = |step: &RunStep| Step {
        from: step.from,
        users: step.users,
    };
    Plan {
        users,
        steps: steps.all().iter().map(begins).collect(),
        sample_every,
        end: steps.end(),
        audit: false,
    }
}

/// The last session is as long as the one before it.
fn length_of(sessions: &[Session]) -> Span {
    match sessions {
        [.., before, last] => last.from + Span::from_ns(last.from.ns().saturating_sub(before.from.ns())),
        _ => Span::from_seconds(3600.0),
    }
}

/// Processor time of this thread, which alone simulates.
fn cpu_s() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let ns: f64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    Some(ns * 1e-9)
}
