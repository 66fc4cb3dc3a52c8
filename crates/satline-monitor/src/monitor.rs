//! The run: sample after sample into a recording, until told to end.

mod lines;
mod requests;
mod thrift;
mod watch;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;

use satline_program::{Error, clock, scheduling::Scheduling};
use satline_recording::{
    HostFacts, Key, Pseudonymiser, Pseudonyms, RecordingDescription, RecordingWriter, WriterOptions,
    create_if_absent, end_recording, reopen_recording,
};

use crate::abilities::{
    KERNEL_LOCKS, Kernel, WAITS, delays_are_on, open_contention, open_iterator, open_services,
    open_taskstats, open_terminals, open_waits, thermometer_program,
};
use crate::accounting::{ExitMethod, ProcessTable, ScanOptions};
use crate::alarm::Watch;
use crate::budget::{Budget, ProgramTimes};
use crate::cgroup::{self, Hierarchy, WatchedGroup};
use crate::clockwork::{Clock, ClockWatch, Lateness, Schedule};
use crate::device::{self, Devices};
use crate::ebpf::contention::{Contention, KernelLocks};
use crate::files::{self, DescriptorBudget, Roots};
use crate::limited::{Limited, Membership};
use crate::lines::Lines;
use crate::locks::Locks;
use crate::missing::Missing;
use crate::nfs::{self, NfsMounts};
use crate::options::Options;
use crate::plausible::{Clocks, Times};
use crate::population::{Census, Known, Seen};
use crate::queues::Queues;
use crate::recorder::{OwnReading, Recorder, Stamp};
use crate::requests::Requests;
use crate::source::{Cost, Fallback, Methods, Probes, Sampling, Source, UsersHead};
use crate::system;
use crate::taskstats::TaskStats;
use crate::thermometer::Thermometers;
use crate::users::{UserId, Users};

/// Between samples the ends of tasks are taken and thermometers looked after this often.
const CHORES: Duration = Duration::from_secs(1);
/// `sources/monitor.toml` is written, and mounts are looked at, this often.
const MINUTE_NS: i64 = 60_000_000_000;

/// The row of table `cgroup` that is the whole load.
const LOAD: &str = "load";

/// Why a run ended, when nothing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// `--duration` ran out, or SIGTERM.
    Complete,
    /// SIGINT.
    Interrupted,
}

impl End {
    fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A running monitor.
pub struct Monitor<C: Clock> {
    options: Options,
    roots: Roots,
    clock: C,
    recorder: Recorder,
    users: Users,
    table: ProcessTable,
    taskstats: Option<TaskStats>,
    census: Census,
    devices: Devices,
    nfs: NfsMounts,
    device_names: Option<Vec<String>>,
    hierarchies: Vec<Hierarchy>,
    groups: Vec<WatchedGroup>,
    parents: Vec<WatchedGroup>,
    limited: Limited,
    members: Membership,
    locks: Locks,
    contention: Option<Contention>,
    lines: Option<Lines>,
    requests: Option<Requests>,
    /// Users of terminals, by the process that leads the session.
    leaders: HashMap<i32, UserId>,
    queues: Queues,
    /// Groups whose missing signals have been named.
    groups_looked_at: BTreeSet<String>,
    thermometers: Thermometers,
    /// By name of the thermometer.
    alarms: BTreeMap<String, Watch>,
    schedule: Schedule,
    start_ns: i64,
    lateness: Lateness,
    clock_watch: ClockWatch,
    pressures: Clocks,
    samples: i64,
    samples_lost: i64,
    exits_lost: u64,
    waits_lost: u64,
    before: Option<(i64, i64)>,
    budget: Option<Budget>,
    program_shares: ProgramTimes,
    /// It has been said that nothing more can be left out.
    over_budget_told: bool,
    minute_due_ns: i64,
    known: Known,
    methods: Methods,
    fallbacks: Vec<Fallback>,
    missing: Vec<Missing>,
    ticks_per_second: i64,
    owns_description: bool,
}

fn system_value(name: libc::c_int, otherwise: i64) -> i64 {
    // SAFETY: sysconf reads no memory of ours.
    Some(unsafe { libc::sysconf(name) })
        .filter(|&value| value > 0)
        .unwrap_or(otherwise)
}

impl<C: Clock> Monitor<C> {
    /// Opens the recording and everything that is read.
    ///
    /// # Errors
    /// The recording cannot be written, `/proc` cannot be listed, or an option asks for what is not there.
    pub fn open(options: Options, clock: C) -> Result<Self, Error> {
        let roots = Roots {
            proc: options.proc.clone(),
            sys: options.sys.clone(),
        };
        let program = thermometer_program(&options)?;
        let kernel = Kernel::of(&roots);
        let iterator = open_iterator(&options, &kernel)?;
        // Before the recording: wrong input leaves nothing behind, and the thread that writes is pinned too.
        if let Some(processor) = options.processor {
            satline_program::scheduling::pin(&[processor]).map_err(|error| {
                let message = format!("--processor {processor}: cannot run there: {error}");
                Error::input(message, "see /sys/devices/system/cpu/online")
            })?;
        }
        let dir = &options.recording;
        let facts = HostFacts::read(&roots.proc, &options.etc.join("os-release"));
        let mut description = RecordingDescription::plain("satline-monitor", clock.real_ns(), facts)?;
        let names = open_names(&options, &mut description)?;
        if let (Some(system), Some(_)) = (&mut description.system_under_test, &options.load_cgroup) {
            system.cgroup = Some(LOAD.into());
        }
        let created = create_if_absent(dir, &description)?;
        if !created && options.load_cgroup.is_some() && !describes_load(dir) {
            let message = format!(
                "{}: this recording was begun without --load-cgroup",
                dir.display()
            );
            return Err(Error::input(message, "begin another recording"));
        }
        let owns_description = created || is_ours(dir);
        if owns_description && !created {
            reopen_recording(dir)?;
        }
        let flush_interval = options.interval.max(Duration::from_secs(1));
        let mut writer = RecordingWriter::open(
            dir,
            "monitor",
            WriterOptions {
                flush_interval,
                ..WriterOptions::default()
            },
        )?;
        if let Some(names) = names {
            writer.without_names(names);
        }
        let recorder = Recorder::new(writer)?;
        let scheduling = if options.ordinary_priority {
            Scheduling::Ordinary
        } else {
            satline_program::scheduling::prefer()
        };
        let mut missing = Vec::new();
        let taskstats = open_taskstats(&options, &roots, &mut missing);
        let exits = if taskstats.is_some() {
            ExitMethod::TaskStats
        } else {
            ExitMethod::WaitedChildren
        };
        let delays = delays_are_on(&options, &roots, taskstats.is_some(), &mut missing);
        let schedstat = roots.proc.join("self/schedstat").exists();
        if !schedstat {
            let need = "a kernel with CONFIG_SCHED_INFO";
            missing.push(Missing::new(
                "user.run_delay_us",
                "/proc/PID/schedstat does not exist",
                need,
            ));
        }
        let ticks_per_second = system_value(libc::_SC_CLK_TCK, 100);
        let ns_per_tick = 1_000_000_000 / ticks_per_second.unsigned_abs();
        let scan = ScanOptions {
            exits,
            delays,
            schedstat,
            ns_per_tick,
        };
        let mut table = ProcessTable::open(&roots.proc, DescriptorBudget::from_limit(), scan)
            .map_err(|error| roots.not_listed(&error))?;
        let mut fallbacks = Vec::new();
        let by_iterator = iterator.is_ok();
        match iterator {
            Ok(iterator) => table.use_iterator(iterator),
            Err(refusal) => fallbacks.push(Fallback {
                method: "tasks: ebpf",
                reason: refusal.reason,
                would_need: refusal.need,
            }),
        }
        if let Some(waits) = open_waits(&options, &kernel, &mut missing) {
            table.use_waits(waits);
        }
        let contention = open_contention(&options, &kernel, &mut missing);
        let lines = open_terminals(&options, &roots, &kernel, &mut missing);
        let requests = open_services(&options, &roots, &kernel, &mut missing);
        drop(kernel);
        let own_pid = i32::try_from(std::process::id()).unwrap_or(0);
        let mut users = Users::new(
            options.users.clone(),
            roots.clone(),
            &options.etc.join("passwd"),
            own_pid,
        );
        users.companion(options.companion);
        let hierarchies = cgroup::hierarchies(&roots);
        let load = options
            .load_cgroup
            .iter()
            .map(|path| (LOAD.to_owned(), path.clone()));
        let named: Vec<_> = options.cgroup.iter().cloned().chain(load).collect();
        let watched = |list: &[(String, String)]| list.iter().map(|(n, p)| WatchedGroup::new(n, p)).collect();
        let start_ns = clock.monotonic_ns();
        let probe_groups = options.thermometer_cgroup.iter();
        let probe_groups = probe_groups
            .flat_map(|p| WatchedGroup::new("thermometers", p).directories(&hierarchies))
            .collect();
        Ok(Self {
            thermometers: Thermometers::new(program, options.thermometer.clone(), probe_groups, start_ns),
            alarms: BTreeMap::new(),
            schedule: Schedule::new(start_ns, options.interval),
            groups: watched(&named),
            parents: watched(&options.cgroup_users),
            known: Known {
                run_delay: schedstat,
                delays,
                waits: table.tells_waits(),
                throttling: table.tells_throttling(),
                page_bytes: system_value(libc::_SC_PAGESIZE, 4096),
            },
            methods: Methods::new(by_iterator, exits, delays, schedstat, scheduling),
            limited: Limited::default(),
            members: Membership::default(),
            locks: Locks::new(&roots.proc),
            contention,
            lines,
            requests,
            leaders: HashMap::new(),
            queues: Queues::new(&roots.proc),
            census: Census::default(),
            devices: Devices::default(),
            nfs: NfsMounts::default(),
            device_names: None,
            groups_looked_at: BTreeSet::new(),
            lateness: Lateness::default(),
            clock_watch: ClockWatch::default(),
            pressures: Clocks::default(),
            samples: 0,
            samples_lost: 0,
            exits_lost: 0,
            waits_lost: 0,
            before: None,
            budget: options.budget.map(Budget::new),
            program_shares: ProgramTimes::default(),
            over_budget_told: false,
            minute_due_ns: start_ns,
            options,
            roots,
            clock,
            recorder,
            users,
            table,
            taskstats,
            hierarchies,
            start_ns,
            fallbacks,
            missing,
            ticks_per_second,
            owns_description,
        })
    }

    /// Samples until `--duration` is over or `stop` says how to end; then closes the recording.
    ///
    /// # Errors
    /// The first error of the recording; it is closed as well as it can be, and says why it ended.
    pub fn run(mut self, stop: impl Fn() -> Option<End>) -> Result<End, Error> {
        let result = self.sample_until(stop);
        let at = self.stamp();
        self.take_lines(at, true);
        self.take_requests(at, true);
        for reading in self.thermometers.stop() {
            self.take_thermometer(&reading);
        }
        let finished = self.recorder.writer().finish();
        let result = result.and_then(|end| finished.map(|()| end));
        let (reason, error) = match &result {
            Ok(end) => (end.word(), None),
            Err(error) => (error.end_reason(), Some(error.with_hint())),
        };
        let described = self.write_source(Some(reason), error);
        let ended = match self.owns_description {
            true => end_recording(&self.options.recording, at.time_ns, reason),
            false => Ok(()),
        };
        let end = result?;
        described.and(ended).map(|()| end)
    }

    fn sample_until(&mut self, stop: impl Fn() -> Option<End>) -> Result<End, Error> {
        let duration = self
            .options
            .duration
            .map(|d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX));
        let end_ns = duration.map(|d| self.start_ns.saturating_add(d));
        loop {
            let (sample, lost) = self.schedule.next(self.clock.monotonic_ns());
            let due_ns = self.schedule.due_ns(sample);
            let is_last = end_ns.is_some_and(|end| due_ns > end);
            let until = if is_last { end_ns.unwrap_or(due_ns) } else { due_ns };
            loop {
                if let Some(end) = stop() {
                    return Ok(end);
                }
                let now = self.clock.monotonic_ns();
                if now >= until {
                    break;
                }
                self.clock.sleep_until(until.min(now + CHORES.as_nanos() as i64));
                if self.clock.monotonic_ns() < until {
                    self.table.drain(&mut self.taskstats);
                    self.look_after_thermometers();
                }
            }
            if is_last {
                return Ok(End::Complete);
            }
            self.sample(sample, due_ns, lost)?;
        }
    }

    fn stamp(&self) -> Stamp {
        Stamp {
            time_ns: self.clock.real_ns(),
            monotonic_ns: self.clock.monotonic_ns(),
        }
    }

    /// Takes one sample.
    fn sample(&mut self, sample: i64, due_ns: i64, lost: i64) -> Result<(), Error> {
        let at = self.stamp();
        let cpu_us = clock::own_cpu_us();
        let lateness_us = (at.monotonic_ns - due_ns).max(0) / 1000;
        self.samples += 1;
        self.lateness.add(lateness_us);
        if lost > 0 {
            self.samples_lost += lost;
            self.recorder.event(at, "samples-lost", Some(lost as f64), None);
        }
        if let Some(step) = self.clock_watch.step(at.time_ns, at.monotonic_ns) {
            self.recorder.event(at, "clock-step", Some(step), None);
        }
        let mut reading = system::read(&self.roots, self.ticks_per_second);
        self.repair_pressures(at, &mut reading);
        self.watch_groups(at);
        self.watch_devices(at);
        let locks = self.locks.sample(at.monotonic_ns);
        self.missing.extend(self.locks.take_missing());
        let clock = &self.clock;
        let times = Times {
            before_ns: self.before.map_or(i64::MIN, |(ns, _)| ns),
            at_ns: at.monotonic_ns,
            boot_ahead_ns: clock.boot_ns().saturating_sub(clock.monotonic_ns()).max(0),
            clock: &|| clock.monotonic_ns(),
        };
        self.table
            .scan(&mut self.users, &mut self.taskstats, &times)
            .map_err(|error| self.roots.not_listed(&error))?;
        if let Some(reason) = self.table.take_iterator_failure() {
            self.recorder.event(at, "iterator-failed", None, Some(&reason));
            self.methods.tasks = "proc";
            self.fallbacks.push(Fallback {
                method: "tasks: ebpf",
                reason,
                would_need: "a kernel whose task iterator goes on".into(),
            });
        }
        if let Some(reason) = self.table.take_waits_failure() {
            self.recorder.event(at, "waits-failed", None, Some(&reason));
            self.known.waits = false;
            self.missing.push(Missing::new(WAITS, reason, "report this"));
        }
        let waits_lost = self.table.waits_lost - self.waits_lost;
        if waits_lost > 0 {
            self.waits_lost = self.table.waits_lost;
            self.recorder
                .event(at, "waits-lost", Some(waits_lost as f64), None);
        }
        let exits_lost = self.table.exits_lost - self.exits_lost;
        if exits_lost > 0 {
            self.exits_lost = self.table.exits_lost;
            self.recorder
                .event(at, "exits-lost", Some(exits_lost as f64), None);
        }
        self.take_lines(at, false);
        self.take_requests(at, false);
        let elapsed_ns = self.before.map_or(0, |(ns, _)| at.monotonic_ns - ns);
        let seen = Seen {
            members: &self.members,
            lock_waiters: locks.waiting.as_deref(),
        };
        let mut population = self
            .census
            .take(&mut self.table, &self.users, seen, self.known, elapsed_ns);
        self.watch_queues(at, &mut population);
        let own = OwnReading {
            sample,
            lateness_us,
            sample_cpu_us: self.before.map(|(_, before)| cpu_us - before),
            monitor_cpu_us: cpu_us,
            monitor_rss_bytes: self.own_rss_bytes(),
            users_logged_on: population.logged_on,
            users_in_queue: population.in_queue,
            lock_wait_us: locks.wait_us,
            ..self.kernel_locks(at)
        };
        self.recorder.system(at, &own, &reading);
        population
            .users
            .iter()
            .for_each(|user| self.recorder.user(at, user));
        population
            .tasks
            .iter()
            .for_each(|task| self.recorder.task(at, task));
        let (waits, holders) = self.table.holders.rows(&self.users);
        let throttling = self.known.throttling;
        waits
            .iter()
            .for_each(|wait| self.recorder.wait(at, wait, throttling));
        holders.iter().for_each(|holder| self.recorder.holder(at, holder));
        let (devices, roots) = (&mut self.devices, &self.roots);
        let disks = self
            .table
            .holders
            .disk_rows(&self.users, |disk| devices.name_of(roots, disk));
        disks.iter().for_each(|disk| self.recorder.disk_wait(at, disk));
        locks.rows.iter().for_each(|lock| self.recorder.lock(at, lock));
        if self.before.is_none() {
            self.missing.extend(system::missing(&reading, &self.roots));
            self.missing.extend(device::missing(&self.roots));
            self.missing.extend(nfs::missing(&self.roots));
        }
        self.before = Some((at.monotonic_ns, cpu_us));
        self.mind_budget(at, cpu_us);
        self.look_after_thermometers();
        self.recorder.writer().flush_due(at.monotonic_ns)?;
        if at.monotonic_ns >= self.minute_due_ns {
            self.minute_due_ns = at.monotonic_ns + MINUTE_NS;
            self.hierarchies = cgroup::hierarchies(&self.roots);
            self.pressures.forget(at.monotonic_ns);
            self.write_source(None, None)?;
        }
        Ok(())
    }

    /// Writes what the kernel waits for its own locks, and gives the sums.
    fn kernel_locks(&mut self, at: Stamp) -> OwnReading {
        let mut sums = OwnReading::default();
        let Some(contention) = &mut self.contention else {
            return sums;
        };
        match contention.read() {
            Ok((kinds, lost)) => {
                for kind in &kinds {
                    self.recorder.kernel_locks(at, kind);
                }
                let sum = |spins: bool, of: fn(&KernelLocks) -> u64| {
                    let chosen = kinds.iter().filter(|kind| kind.spins == spins);
                    i64::try_from(chosen.map(of).sum::<u64>()).ok()
                };
                sums.lock_spin_us = sum(true, |kind| kind.waited_ns / 1000);
                sums.lock_defers = sum(false, |kind| kind.count);
                if lost > 0 {
                    self.recorder.event(at, "waits-lost", Some(lost as f64), None);
                }
            }
            Err(error) => {
                self.missing
                    .push(Missing::new(KERNEL_LOCKS, error.to_string(), "report this"));
                self.contention = None;
            }
        }
        sums
    }

    fn own_rss_bytes(&self) -> Option<i64> {
        let statm = files::read(&self.roots.proc.join("self/statm"))?;
        let pages = satline_program::parse::signed(satline_program::parse::fields(&statm).nth(1)?)?;
        pages.checked_mul(self.known.page_bytes)
    }

    fn write_source(&mut self, end_reason: Option<&str>, error: Option<String>) -> Result<(), Error> {
        let source = Source {
            writer: "monitor",
            version: env!("CARGO_PKG_VERSION"),
            end_reason,
            error,
            sampling: Sampling {
                interval_ms: i64::try_from(self.options.interval.as_millis()).unwrap_or(i64::MAX),
                samples: self.samples,
                samples_lost: self.samples_lost,
                lateness_us: (&self.lateness).into(),
            },
            users: UsersHead {
                definition: self.options.users.word(),
                rules: self.options.users.rules(),
            },
            thermometers: Probes::planned(&self.options),
            methods: self.methods,
            fallbacks: &self.fallbacks,
            cost: Cost::now(
                self.recorder.writer().bytes_written(),
                files::read(&self.roots.proc.join("self/status")).as_deref(),
                self.program_shares.total(),
            ),
            missing: &self.missing,
            implausible: self.table.ledger.entries().collect(),
        };
        let path = self.options.recording.join("sources/monitor.toml");
        if end_reason.is_none() {
            // A slow disk does not delay the next sample.
            return self.recorder.writer().replace_toml(&path, &source);
        }
        self.recorder.writer().write_toml_at_end(&path, &source)
    }
}

/// What replaces names, where that is asked for; the description then has none either. A recording that is there already must
/// have been begun in the same way.
fn open_names(
    options: &Options,
    description: &mut RecordingDescription,
) -> Result<Option<Pseudonymiser>, Error> {
    let dir = &options.recording;
    let text = std::fs::read_to_string(dir.join("recording.toml")).ok();
    let there = text.map(|text| text.parse::<toml::Table>().unwrap_or_default());
    let begun_with = there.as_ref().map(|there| {
        let key = there.get("pseudonyms").and_then(|p| p.get("key")?.as_str());
        key.map(str::to_owned)
    });
    let key = options.pseudonymise.as_deref().map(Key::read).transpose()?;
    let id = key.as_ref().map(Key::id);
    if begun_with.as_ref().is_some_and(|begun| *begun != id) {
        let how = match begun_with.flatten() {
            Some(key) => format!("with the pseudonyms of key {key}"),
            None => "with names".into(),
        };
        let message = format!("{}: this recording was begun {how}", dir.display());
        return Err(Error::input(message, "begin another recording"));
    }
    let Some(key) = key else {
        return Ok(None);
    };
    std::fs::create_dir_all(dir).map_err(|error| {
        let message = format!("{}: cannot create it: {error}", dir.display());
        Error::input(message, "name a directory that can be written")
    })?;
    let mut names = Pseudonymiser::open(dir, key)?;
    description.pseudonyms = Some(Pseudonyms { key: names.key_id() });
    for fact in [&mut description.host.name, &mut description.host.boot_id] {
        *fact = fact.take().map(|text| names.replace(&text, "text"));
    }
    Ok(Some(names))
}

/// A recording that an earlier run of the monitor began has this one end it.
fn is_ours(dir: &Path) -> bool {
    let text = std::fs::read_to_string(dir.join("recording.toml")).unwrap_or_default();
    text.lines().any(|line| line == "creator = \"satline-monitor\"")
}

fn describes_load(dir: &Path) -> bool {
    let text = std::fs::read_to_string(dir.join("recording.toml")).unwrap_or_default();
    let description = text.parse::<toml::Table>().unwrap_or_default();
    let system = description.get("system_under_test");
    system.and_then(|s| s.get("cgroup")?.as_str()) == Some(LOAD)
}
