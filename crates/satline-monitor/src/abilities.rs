//! What this host lets the monitor do.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use satline_program::Error;

use crate::ebpf::contention::Contention;
use crate::ebpf::object::{KernelTypes, Refusal};
use crate::ebpf::services::Services;
use crate::ebpf::tasks::TaskIterator;
use crate::ebpf::terminals::Terminals;
use crate::ebpf::waits::Waits;
use crate::files::{self, Roots};
use crate::lines::Lines;
use crate::missing::Missing;
use crate::options::{Options, TaskSource};
use crate::requests::{self, Requests};
use crate::taskstats::TaskStats;

/// The thermometer program, if it is there when it is needed.
pub fn thermometer_program(options: &Options) -> Result<PathBuf, Error> {
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
        return Err(Error::input(
            message,
            "name it with --thermometer-program, or leave --thermometer out",
        ));
    }
    Ok(program)
}

/// The kernel as objects of programs are fitted to it. Its types, tens of MB, are read when the first object asks, and once.
pub struct Kernel {
    own: bool,
    types: OnceCell<Result<KernelTypes, Refusal>>,
}

impl Kernel {
    /// That of the processes read.
    pub fn of(roots: &Roots) -> Self {
        Self {
            own: roots.proc == Path::new("/proc"),
            types: OnceCell::new(),
        }
    }

    /// Its types.
    ///
    /// # Errors
    /// They cannot be read, or the processes are those of another kernel.
    pub fn types(&self) -> Result<&KernelTypes, Refusal> {
        let read = || {
            if self.own {
                KernelTypes::read()
            } else {
                Err(Refusal::new(
                    "the processes read are not this kernel's",
                    "--proc /proc",
                ))
            }
        };
        self.types.get_or_init(read).as_ref().map_err(Clone::clone)
    }
}

/// What was opened; says what is missing where it was refused.
fn or_missing<T>(signal: &str, opened: Result<T, Refusal>, missing: &mut Vec<Missing>) -> Option<T> {
    opened
        .map_err(|refusal| missing.push(Missing::new(signal, refusal.reason, refusal.need)))
        .ok()
}

/// Loads the task iterator, or says why processes are read from their files.
///
/// # Errors
/// `--source ebpf` asks for it and it cannot be had.
pub fn open_iterator(options: &Options, kernel: &Kernel) -> Result<Result<TaskIterator, Refusal>, Error> {
    if options.source == TaskSource::Proc {
        return Ok(Err(Refusal::new("--source proc was given", "--source auto")));
    }
    match kernel.types().and_then(TaskIterator::load) {
        Err(refusal) if options.source == TaskSource::Ebpf => Err(Error::input(
            format!("--source ebpf: {refusal}"),
            format!("it needs {}; or use --source auto", refusal.need),
        )),
        opened => Ok(opened),
    }
}

/// How waits by cause are called where they are missing.
pub const WAITS: &str = "user: waits by cause";

/// Has context switches tell what users wait for, if that is asked for; says what is missing where it cannot.
pub fn open_waits(options: &Options, kernel: &Kernel, missing: &mut Vec<Missing>) -> Option<Waits> {
    if !options.waits {
        return None;
    }
    or_missing(WAITS, kernel.types().and_then(Waits::load), missing)
}

/// How locks of the kernel are called where they are missing.
pub const KERNEL_LOCKS: &str = "lock: locks of the kernel";

/// Has the kernel tell what it waits for its own locks, with the waits of users; says what is missing where it cannot.
pub fn open_contention(options: &Options, kernel: &Kernel, missing: &mut Vec<Missing>) -> Option<Contention> {
    if !options.waits || !kernel.own {
        return None;
    }
    or_missing(KERNEL_LOCKS, kernel.types().and_then(Contention::load), missing)
}

/// How lines at terminals are called where they are missing.
pub const TERMINALS: &str = "transaction: lines at terminals";

/// Has the kernel tell how long users at terminals wait, if that is asked for; says what is missing where it cannot.
pub fn open_terminals(
    options: &Options,
    roots: &Roots,
    kernel: &Kernel,
    missing: &mut Vec<Missing>,
) -> Option<Lines> {
    if !options.terminals {
        return None;
    }
    let opened = kernel
        .types()
        .and_then(|types| Terminals::load(types, options.command_names));
    or_missing(TERMINALS, opened, missing).map(|terminals| Lines::new(terminals, roots.proc.clone()))
}

/// How requests to services are called where they are missing.
pub const SERVICES: &str = "transaction: requests to services";

/// Has the kernel tell how long those who ask services wait, if that is asked for; says what is missing where it cannot.
pub fn open_services(
    options: &Options,
    roots: &Roots,
    kernel: &Kernel,
    missing: &mut Vec<Missing>,
) -> Option<Requests> {
    if !options.services {
        return None;
    }
    let listening = requests::listening(&roots.proc);
    let opened = kernel
        .types()
        .and_then(|types| Services::load(types, &listening, options.command_names));
    or_missing(SERVICES, opened, missing).map(Requests::new)
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
