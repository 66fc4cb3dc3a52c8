//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::thermometer::ThermometerPlan;
use crate::users::UserDefinition;

/// Record what a Linux host does and what its users get, cheaply and without losing a sample.
///
/// Reads system, processor, device, pressure, control-group, user and busy-task counters at every interval and appends
/// them, raw, to a recording that can be read while it is written.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "satline-monitor",
    version,
    after_long_help = EXAMPLES,
    group(clap::ArgGroup::new("transactions").args(["terminals", "services"]).multiple(true))
)]
pub struct Options {
    /// Directory of the recording, usually NAME.satline; made if absent, continued with a new run if present
    #[arg(
        long,
        value_name = "DIR",
        required = false,
        required_unless_present_any = ["print_users", "explain_sources"],
        default_value_ifs([("print_users", "true", "/nonexistent"), ("explain_sources", "true", "/nonexistent")])
    )]
    pub recording: PathBuf,

    /// Time between samples: 100ms to 1h, such as 500ms, 1s, 2m
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub interval: Duration,

    /// End after this time [default: until SIGTERM or SIGINT]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,

    /// What a user is: uid, session, terminal, cgroup, rules:FILE or emulated:FILE
    ///
    /// uid: the effective user of a process. session: its audit login session, written name#session; processes of no
    /// session are _host. terminal: the terminal that it belongs to, written name#pts/3 by who leads its session; processes without
    /// one are _host. cgroup: its systemd user slice, service or container, else the path of its group.
    /// rules:FILE: what the first rule says that fits the process; docs/reference/user-rules.md describes the file.
    /// emulated:FILE: lines "pid<TAB>user" appended to FILE by the emulator; the process, its session and its
    /// descendants are that user's, all others _host.
    #[arg(long, value_name = "WHAT", default_value = "uid")]
    pub users: UserDefinition,

    /// Print who is a user now and what its processes are, and record nothing
    #[arg(long)]
    pub print_users: bool,

    /// Record a control group, under a name if one is given; the path is looked for in every mounted hierarchy [repeatable]
    ///
    /// Groups with a CPU quota, memory limit or I/O cap in force are recorded without being named, up to 64 of them.
    #[arg(long, value_name = "[NAME=]/PATH", value_parser = named_path)]
    pub cgroup: Vec<(String, String)>,

    /// Record the named control groups only, not those with a limit in force
    #[arg(long)]
    pub named_cgroups_only: bool,

    /// Record every child of a control group as NAME/CHILD, as they come and go [repeatable]
    #[arg(long, value_name = "[NAME=]/PATH", value_parser = named_path)]
    pub cgroup_users: Vec<(String, String)>,

    /// The control group that is the whole load: recorded as "load", and named so in recording.toml
    ///
    /// Its quota, limits and pressure are then those of the load in every analysis.
    #[arg(long, value_name = "/PATH", value_parser = group_path)]
    pub load_cgroup: Option<String>,

    /// Run a thermometer at intervals, such as trivial@30s [repeatable]
    #[arg(long, value_name = "NAME@PERIOD")]
    pub thermometer: Vec<ThermometerPlan>,

    /// The thermometer program [default: satline-thermometer beside this program]
    #[arg(long, value_name = "FILE")]
    pub thermometer_program: Option<PathBuf>,

    /// Control group that thermometers run in, looked for in every mounted hierarchy
    #[arg(long, value_name = "/PATH")]
    pub thermometer_cgroup: Option<String>,

    /// Print a line on standard output when a thermometer has become three times as slow as usual, and when it is over
    #[arg(long)]
    pub tell_alarms: bool,

    /// A process whose work, and that of its descendants, is Satline's own (_satline), such as what started this one
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..), hide_short_help = true)]
    pub companion: Option<i32>,

    /// Keep the monitor on this processor
    #[arg(long, value_name = "N")]
    pub processor: Option<usize>,

    /// Do not ask for delays, even where kernel.task_delayacct is 1
    #[arg(long)]
    pub no_delay_accounting: bool,

    /// Do not take the ends of tasks from taskstats; count what parents have waited for instead
    #[arg(long)]
    pub no_taskstats: bool,

    /// Where processes are read: ebpf, the kernel's task iterator; proc, their files in /proc; auto, the iterator where it can be had
    ///
    /// Both tell the same; the iterator costs a tenth. It needs root (or CAP_BPF and CAP_PERFMON) and kernel 5.8 or later.
    /// sources/monitor.toml says which it was and why.
    #[arg(long, value_name = "FROM", value_enum, default_value_t)]
    pub source: TaskSource,

    /// Count at each context switch what users wait for (pages, disks, locks, other processes, the network), and who holds it
    ///
    /// It needs root (or CAP_BPF and CAP_PERFMON), an x86-64 processor and kernel 5.19 or later (tried from 6.1 on). Without, these columns are null.
    #[arg(long)]
    pub waits: bool,

    /// Record how long users at terminals wait: each line entered, until its first output and until the next wait for input
    ///
    /// Of pseudo-terminals: consoles in windows, ssh, tmux, containers. No byte that is typed or shown is kept. It needs root (or
    /// CAP_BPF and CAP_PERFMON) and kernel 5.15 or later (tried from 6.1 on).
    #[arg(long)]
    pub terminals: bool,

    /// Record how long those who ask services of this host wait: each request over TCP, until its answer's first byte and its last
    ///
    /// Of whatever accepts connections: web servers, databases. A request and its answer are told by the direction of bytes, encrypted
    /// ones too; none of them is looked at. It needs root (or CAP_BPF and CAP_PERFMON) and kernel 6.4 or later.
    #[arg(long)]
    pub services: bool,

    /// With --terminals or --services: the class has the name of the command that a line started, or of the program that answered
    ///
    /// Without, a class says only whether a command was started, a shell answered, or a program that was running; and of a request
    /// to which port it was.
    #[arg(long, requires = "transactions")]
    pub command_names: bool,

    /// Replace names of users, control groups, commands, files and the host by keyed hashes before anything is written
    ///
    /// FILE is a key of `satline recording pseudonymise --make-key`, which its owner alone may read. The names are sealed with it in
    /// DIR/names.sealed.
    #[arg(long, value_name = "FILE")]
    pub pseudonymise: Option<PathBuf>,

    /// What the monitor may take of one processor, percent; above it leaves out the detail that costs most, and says so [default: no bound]
    ///
    /// Its own processor time counts, and that of its programs in the kernel, where CAP_SYS_ADMIN lets it be read. Left out, from then on,
    /// is --waits, --services or --terminals, or every second sample.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub budget: Option<f64>,

    /// Print for this kernel what is recorded by which method, at what cost, and what more would be needed; record nothing
    #[arg(long)]
    pub explain_sources: bool,

    /// Keep the ordinary priority [default: real-time, else the highest nice value, as far as allowed]
    #[arg(long)]
    pub ordinary_priority: bool,

    /// Where the kernel's process files are
    #[arg(long, value_name = "DIR", default_value = "/proc", hide_short_help = true)]
    pub proc: PathBuf,

    /// Where the kernel's device files are
    #[arg(long, value_name = "DIR", default_value = "/sys", hide_short_help = true)]
    pub sys: PathBuf,

    /// Where passwd and os-release are
    #[arg(long, value_name = "DIR", default_value = "/etc", hide_short_help = true)]
    pub etc: PathBuf,
}

/// `--source`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum TaskSource {
    #[default]
    Auto,
    Ebpf,
    Proc,
}

const EXAMPLES: &str = "\
Examples:
  satline-monitor --recording day.satline --duration 24h --interval 10s
  satline-monitor --recording lab.satline --users session --thermometer trivial@30s --thermometer io@2m
  satline-monitor --recording box.satline --users cgroup --cgroup web=/system.slice/nginx.service
  satline-monitor --users rules:users.toml --print-users

As root it sees the ends of tasks (taskstats) and everybody's block traffic; `sysctl kernel.task_delayacct=1` before the
work begins adds how long users wait for pages and I/O. Without, these are null, and DIR/sources/monitor.toml says why.

SIGTERM, and the end of --duration, end the recording as complete; SIGINT as interrupted. Exit codes: 0 ended as asked,
1 the recording could not go on (a full disk), 2 wrong input.";

/// A time such as `100ms`, `2s`, `1.5m`, `24h`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let expected =
        || format!("{text:?} is not a time; write a number and ms, s, m or h, such as 500ms or 2m");
    let unit_at = text
        .find(|c: char| c.is_ascii_alphabetic())
        .ok_or_else(expected)?;
    let (number, unit) = text.split_at(unit_at);
    let seconds_per_unit = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(expected()),
    };
    let number: f64 = number.parse().map_err(|_| expected())?;
    let time = Duration::try_from_secs_f64(number * seconds_per_unit).map_err(|_| expected())?;
    if time.is_zero() {
        Err(format!("{text:?} is no time at all"))
    } else {
        Ok(time)
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = duration(text)?;
    if interval < Duration::from_millis(100) || interval > Duration::from_secs(3600) {
        return Err(format!("{text:?} is not between 100ms and 1h"));
    }
    Ok(interval)
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    number
        .ok()
        .filter(|percent| percent.is_finite() && *percent > 0.0)
        .ok_or_else(|| format!("{text:?} is not a share; write percent of one processor, such as 2 or 0.5"))
}

fn named_path(text: &str) -> Result<(String, String), String> {
    let plain = Some((text, text)).filter(|_| text.starts_with('/'));
    match plain.or_else(|| text.split_once('=')) {
        Some((name, path)) if !name.is_empty() && path.starts_with('/') => {
            Ok((name.to_owned(), group_path(path)?))
        }
        _ => Err("expected /PATH or NAME=/PATH, the path as seen from the root of its hierarchy".into()),
    }
}

fn group_path(path: &str) -> Result<String, String> {
    if !path.starts_with('/') {
        return Err("expected /PATH, as seen from the root of its hierarchy".into());
    }
    if path.split('/').any(|part| part == "..") {
        return Err("the path must not go up (..)".into());
    }
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn times_have_units() {
        assert_eq!(duration("100ms"), Ok(Duration::from_millis(100)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("24h"), Ok(Duration::from_secs(86_400)));
        for wrong in ["", "5", "5d", "-1s", "s", "0s", "nans", "infs", "1e300h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_control_group_has_a_name_or_its_path() {
        let own = |text: &str| named_path(text).unwrap();
        assert_eq!(own("load=/a/b"), ("load".into(), "/a/b".into()));
        assert_eq!(own("/a/b=c"), ("/a/b=c".into(), "/a/b=c".into()));
    }

    #[test]
    fn wrong_input_is_refused() {
        let parse = |args: &[&str]| {
            Options::try_parse_from([&["satline-monitor", "--recording", "r"], args].concat())
        };
        assert!(parse(&[]).is_ok());
        assert!(Options::try_parse_from(["satline-monitor"]).is_err());
        assert!(Options::try_parse_from(["satline-monitor", "--print-users"]).is_ok());
        assert!(Options::try_parse_from(["satline-monitor", "--explain-sources"]).is_ok());
        for wrong in [
            &["--interval", "10ms"][..],
            &["--interval", "2h"],
            &["--users", "pid"],
            &["--users", "rules:/nonexistent"],
            &["--cgroup", "load"],
            &["--cgroup", "load=relative"],
            &["--cgroup", "load=/a/../b"],
            &["--load-cgroup", "a"],
            &["--load-cgroup", "/a/../b"],
            &["--companion", "0"],
            &["--source", "kernel"],
            &["--thermometer", "io"],
            &["--command-names"],
            &["--budget", "0"],
            &["--budget", "nan"],
            &["--budget", "much"],
        ] {
            assert_eq!(parse(wrong).unwrap_err().exit_code(), 2, "{wrong:?}");
        }
    }
}
