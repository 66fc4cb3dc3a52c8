//! What this host lets the monitor do.

use std::path::{Path, PathBuf};

use crate::ebpf::contention::Contention;
use crate::ebpf::object::{KernelTypes, Refusal};
use crate::ebpf::tasks::TaskIterator;
use crate::ebpf::terminals::Terminals;
use crate::ebpf::waits::Waits;
use crate::error::MonitorError;
use crate::files::{self, Roots};
use crate::lines::Lines;
use crate::missing::Missing;
use crate::options::{Options, TaskSource};
use crate::taskstats::TaskStats;

/// The thermometer program, if it is there when it is needed.
pub fn thermometer_program(options: &Options) -> Result<PathBuf, MonitorError> {
    let beside = || {
        Some(
            std::env::current_exe()
                .ok()?
                .with_file_name("satline-thermometer"),
        )
    };
    let program = options
        .thermometer_program
        .clone()
        .or_else(beside)
        .unwrap_or_default();
    if !options.thermometer.is_empty() && !program.is_file() {
        let message = format!(
            "{}: no such program, and --thermometer needs it",
            program.display()
        );
        return Err(MonitorError::input(
            message,
            "name it with --thermometer-program, or leave --thermometer out",
        ));
    }
    Ok(program)
}

/// Loads the task iterator, or says why processes are read from their files.
///
/// # Errors
/// `--source ebpf` asks for it and it cannot be had.
pub fn open_iterator(
    options: &Options,
    roots: &Roots,
) -> Result<Result<TaskIterator, Refusal>, MonitorError> {
    if options.source == TaskSource::Proc {
        return Ok(Err(Refusal::new("--source proc was given", "--source auto")));
    }
    let opened = if roots.proc == Path::new("/proc") {
        KernelTypes::read().and_then(|kernel| TaskIterator::load(&kernel))
    } else {
        Err(Refusal::new(
            "the processes read are not this kernel's",
            "--proc /proc",
        ))
    };
    match opened {
        Err(refusal) if options.source == TaskSource::Ebpf => Err(MonitorError::input(
            format!("--source ebpf: {refusal}"),
            format!("it needs {}; or use --source auto", refusal.need),
        )),
        opened => Ok(opened),
    }
}

/// How waits by cause are called where they are missing.
pub const WAITS: &str = "user: waits by cause";

/// Has context switches tell what users wait for, if that is asked for; says what is missing where it cannot.
pub fn open_waits(options: &Options, roots: &Roots, missing: &mut Vec<Missing>) -> Option<Waits> {
    if !options.waits {
        return None;
    }
    let opened = if roots.proc == Path::new("/proc") {
        KernelTypes::read().and_then(|kernel| Waits::load(&kernel))
    } else {
        Err(Refusal::new(
            "the processes read are not this kernel's",
            "--proc /proc",
        ))
    };
    match opened {
        Ok(waits) => Some(waits),
        Err(refusal) => {
            missing.push(Missing::new(WAITS, refusal.reason, refusal.need));
            None
        }
    }
}

/// How locks of the kernel are called where they are missing.
pub const KERNEL_LOCKS: &str = "lock: locks of the kernel";

/// Has the kernel tell what it waits for its own locks, with the waits of users; says what is missing where it cannot.
pub fn open_contention(options: &Options, roots: &Roots, missing: &mut Vec<Missing>) -> Option<Contention> {
    if !options.waits || roots.proc != Path::new("/proc") {
        return None;
    }
    match KernelTypes::read().and_then(|kernel| Contention::load(&kernel)) {
        Ok(contention) => Some(contention),
        Err(refusal) => {
            missing.push(Missing::new(KERNEL_LOCKS, refusal.reason, refusal.need));
            None
        }
    }
}

/// How lines at terminals are called where they are missing.
pub const TERMINALS: &str = "transaction: lines at terminals";

/// Has the kernel tell how long users at terminals wait, if that is asked for; says what is missing where it cannot.
pub fn open_terminals(options: &Options, roots: &Roots, missing: &mut Vec<Missing>) -> Option<Lines> {
    if !options.terminals {
        return None;
    }
    let opened = if roots.proc == Path::new("/proc") {
        KernelTypes::read().and_then(|kernel| Terminals::load(&kernel, options.command_names))
    } else {
        Err(Refusal::new(
            "the processes read are not this kernel's",
            "--proc /proc",
        ))
    };
    match opened {
        Ok(terminals) => Some(Lines::new(terminals, roots.proc.clone())),
        Err(refusal) => {
            missing.push(Missing::new(TERMINALS, refusal.reason, refusal.need));
            None
        }
    }
}

/// Opens taskstats and registers for the ends of tasks; says what is missing where it cannot.
pub fn open_taskstats(options: &Options, roots: &Roots, missing: &mut Vec<Missing>) -> Option<TaskStats> {
    let reason = if options.no_taskstats {
        "--no-taskstats was given".to_owned()
    } else if roots.proc != Path::new("/proc") {
        "the processes read are not this kernel's".to_owned()
    } else {
        let processors = files::read(&roots.sys.join("devices/system/cpu/possible")).unwrap_or_default();
        let processors = String::from_utf8_lossy(&processors).into_owned();
        let opened = TaskStats::open().and_then(|mut stats| stats.listen(&processors).map(|()| stats));
        match opened {
            Ok(stats) => return Some(stats),
            Err(error) => format!("taskstats cannot be used: {error}"),
        }
    };
    let need =
        "root (CAP_NET_ADMIN) outside containers, and a kernel with CONFIG_TASKSTATS and CONFIG_TASK_XACCT";
    missing.push(Missing::new(
        "user: tasks that end between samples, exactly",
        reason,
        need,
    ));
    None
}

/// Whether delays can be asked for; says what is missing where not.
pub fn delays_are_on(options: &Options, roots: &Roots, taskstats: bool, missing: &mut Vec<Missing>) -> bool {
    let switch = files::read_number(&roots.proc.join("sys/kernel/task_delayacct"));
    let reason = match switch {
        _ if options.no_delay_accounting => "--no-delay-accounting was given",
        _ if !taskstats => "delays are told by taskstats only",
        Some(1) => return true,
        Some(_) => "kernel.task_delayacct is 0",
        None => "/proc/sys/kernel/task_delayacct does not exist",
    };
    for signal in ["user.io_delay_us", "user.page_delay_us"] {
        let need = "root, CONFIG_TASK_DELAY_ACCT, and sysctl kernel.task_delayacct=1 before the work begins";
        missing.push(Missing::new(signal, reason, need));
    }
    false
}
