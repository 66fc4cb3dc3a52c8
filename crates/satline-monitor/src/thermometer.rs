//! Thermometers: probes that run beside the work [Bard], started and gathered without ever waiting for one.

use std::ffi::CString;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use satline_recording::row;
use serde::Deserialize;

/// `NAME@PERIOD`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThermometerPlan {
    pub name: String,
    pub period: Duration,
}

impl std::str::FromStr for ThermometerPlan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, period) = text
            .split_once('@')
            .ok_or("expected NAME@PERIOD, such as trivial@30s")?;
        if name.is_empty() {
            return Err("the thermometer's name is missing before @".into());
        }
        Ok(Self {
            name: name.to_owned(),
            period: crate::options::duration(period)?,
        })
    }
}

row! {
    /// One finished run of a probe.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ThermometerReading {
        pub thermometer: String,
        /// `None` if it did not finish.
        pub elapsed_us: Option<i64>,
        pub cpu_us: Option<i64>,
        pub parameters: Option<String>,
        ;
        /// Real and monotonic time of its start, ns.
        pub time_ns: i64,
        pub monotonic_ns: i64,
        /// Why it did not finish.
        pub failure: Option<String>,
    }
}

/// The line that a probe prints.
#[derive(Debug, Deserialize)]
struct Line {
    thermometer: String,
    elapsed_us: i64,
    cpu_us: Option<i64>,
    parameters: Option<serde_json::Value>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    output: Vec<u8>,
    time_ns: i64,
    monotonic_ns: i64,
}

#[derive(Debug)]
struct Thermometer {
    plan: ThermometerPlan,
    due_ns: i64,
    running: Option<Running>,
}

/// All thermometers of a run.
#[derive(Debug)]
pub struct Thermometers {
    program: PathBuf,
    /// `cgroup.procs` of the groups that probes are moved into.
    groups: Vec<CString>,
    thermometers: Vec<Thermometer>,
}

/// A probe prints one line; more than this is not one.
const OUTPUT_LIMIT: usize = 1 << 16;

impl Thermometers {
    /// The first runs begin one after another over the first period, so that probes do not measure each other.
    pub fn new(program: PathBuf, plans: Vec<ThermometerPlan>, groups: Vec<PathBuf>, start_ns: i64) -> Self {
        let count = i64::try_from(plans.len()).unwrap_or(i64::MAX).max(1);
        let begin = |(place, plan): (usize, ThermometerPlan)| {
            let offset = nanoseconds(plan.period) / count * i64::try_from(place).unwrap_or(0);
            Thermometer {
                due_ns: start_ns.saturating_add(offset),
                plan,
                running: None,
            }
        };
        let groups = groups
            .iter()
            .filter_map(|g| CString::new(g.join("cgroup.procs").as_os_str().as_bytes()).ok());
        Self {
            program,
            groups: groups.collect(),
            thermometers: plans.into_iter().enumerate().map(begin).collect(),
        }
    }

    /// Gathers what has finished, starts what is due. A probe that still runs when its next run is due is left to
    /// finish; that run is left out.
    pub fn poll(&mut self, real_ns: i64, monotonic_ns: i64) -> Vec<ThermometerReading> {
        let mut readings = Vec::new();
        for thermometer in &mut self.thermometers {
            if let Some(running) = &mut thermometer.running {
                if let Some(reading) = running.finished(&thermometer.plan.name) {
                    readings.push(reading);
                    thermometer.running = None;
                }
            }
            if monotonic_ns < thermometer.due_ns {
                continue;
            }
            let period = nanoseconds(thermometer.plan.period).max(1);
            let late = monotonic_ns - thermometer.due_ns;
            let step = (late / period + 1).saturating_mul(period);
            thermometer.due_ns = thermometer.due_ns.saturating_add(step);
            if thermometer.running.is_none() {
                match spawn(&self.program, &thermometer.plan.name, &self.groups) {
                    Ok(child) => {
                        thermometer.running = Some(Running {
                            child,
                            output: Vec::new(),
                            time_ns: real_ns,
                            monotonic_ns,
                        });
                    }
                    Err(error) => {
                        let failure = format!("{}: {error}", self.program.display());
                        readings.push(failed(&thermometer.plan.name, real_ns, monotonic_ns, failure));
                    }
                }
            }
        }
        readings
    }

    /// Gives probes that still run a second to finish, then ends them.
    pub fn stop(&mut self) -> Vec<ThermometerReading> {
        let mut readings = Vec::new();
        let mut running: Vec<_> = self
            .thermometers
            .iter_mut()
            .filter_map(|t| Some((&t.plan.name, t.running.take()?)))
            .collect();
        for step in 0..110 {
            running.retain_mut(|(name, probe)| {
                let reading = probe.finished(name);
                let still_runs = reading.is_none();
                readings.extend(reading);
                if still_runs && step == 100 {
                    // SAFETY: it has not been waited for, so that the number is still its own.
                    unsafe { libc::kill(probe.child.id() as i32, libc::SIGTERM) };
                }
                still_runs
            });
            if running.is_empty() {
                return readings;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        for (name, mut probe) in running {
            // It may end by itself between the two; then kill has nothing to do.
            let _ = probe.child.kill();
            let _ = probe.child.wait();
            let failure = "the recording ended before it did".to_owned();
            readings.push(failed(name, probe.time_ns, probe.monotonic_ns, failure));
        }
        readings
    }
}

impl Drop for Thermometers {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Running {
    fn finished(&mut self, name: &str) -> Option<ThermometerReading> {
        self.gather();
        let status = match self.child.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) => status,
            Err(error) => return Some(failed(name, self.time_ns, self.monotonic_ns, error.to_string())),
        };
        self.gather();
        if !status.success() {
            return Some(failed(
                name,
                self.time_ns,
                self.monotonic_ns,
                format!("the probe ended with {status}"),
            ));
        }
        match serde_json::from_slice::<Line>(&self.output) {
            Ok(line) => Some(ThermometerReading {
                thermometer: line.thermometer,
                time_ns: self.time_ns,
                monotonic_ns: self.monotonic_ns,
                elapsed_us: Some(line.elapsed_us),
                cpu_us: line.cpu_us,
                parameters: line.parameters.map(|value| match value {
                    serde_json::Value::String(text) => text,
                    other => other.to_string(),
                }),
                failure: None,
            }),
            Err(error) => Some(failed(
                name,
                self.time_ns,
                self.monotonic_ns,
                format!("the probe's output: {error}"),
            )),
        }
    }

    fn gather(&mut self) {
        let Some(pipe) = &mut self.child.stdout else {
            return;
        };
        let mut buffer = [0u8; 4096];
        // The pipe does not block: an error means that nothing is there yet.
        while let Ok(length) = pipe.read(&mut buffer) {
            if length == 0 {
                break;
            }
            let room = OUTPUT_LIMIT.saturating_sub(self.output.len());
            self.output.extend_from_slice(&buffer[..length.min(room)]);
        }
    }
}

fn failed(name: &str, time_ns: i64, monotonic_ns: i64, failure: String) -> ThermometerReading {
    ThermometerReading {
        thermometer: name.to_owned(),
        time_ns,
        monotonic_ns,
        elapsed_us: None,
        cpu_us: None,
        parameters: None,
        failure: Some(failure),
    }
}

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

fn spawn(program: &PathBuf, name: &str, groups: &[CString]) -> io::Result<Child> {
    let mut command = Command::new(program);
    command
        .arg(name)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let groups = groups.to_vec();
    let child_setup = move || {
        join_groups(&groups)?;
        be_ordinary();
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made; nothing is allocated and no lock is taken.
    let child = unsafe { command.pre_exec(child_setup) }.spawn()?;
    if let Some(pipe) = &child.stdout {
        // SAFETY: the descriptor is open and ours.
        unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    }
    Ok(child)
}

/// Writes the calling process into each group.
fn join_groups(groups: &[CString]) -> io::Result<()> {
    for group in groups {
        // SAFETY: the path ends in a zero byte; the one byte written is valid; the descriptor is closed once.
        unsafe {
            let descriptor = libc::open(group.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            if descriptor < 0 || libc::write(descriptor, c"0".as_ptr().cast(), 1) != 1 {
                return Err(io::Error::last_os_error());
            }
            libc::close(descriptor);
        }
    }
    Ok(())
}

/// Gives back what the monitor has taken for itself, which a probe must not inherit: it stands for a user.
fn be_ordinary() {
    // SAFETY: the structures are plain data, valid for the calls. A call that is refused leaves things as they were.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        for processor in 0..libc::CPU_SETSIZE as usize {
            libc::CPU_SET(processor, &mut all);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &all);
        let ordinary: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_OTHER, &ordinary);
        libc::setpriority(libc::PRIO_PROCESS, 0, 0);
    }
}

#[cfg(test)]
#[path = "thermometer_tests.rs"]
mod tests;
