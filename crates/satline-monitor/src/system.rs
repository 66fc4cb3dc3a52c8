//! What the whole host tells: `/proc/stat`, `/proc/vmstat`, `/proc/meminfo`, `/proc/loadavg`, `/proc/pressure`.
//!
//! One line in [`SIGNALS`] per column of table `system` that comes from the kernel.

use satline_program::parse;

use crate::files::{self, Roots};
use crate::missing::Missing;

/// Where in the kernel's text a signal stands.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// `/proc/stat KEY`
    Stat(&'static str),
    /// `/proc/vmstat KEY`
    VmStat(&'static str),
    /// `/proc/meminfo`: the sum of the keys; all must be there.
    MemInfo(&'static [&'static str]),
    /// `/proc/pressure/FILE LINE total=`
    Pressure(&'static str, &'static str),
    /// `/proc/loadavg`: tasks in existence, behind the slash.
    LoadAverageTasks,
}

/// One column of table `system`.
#[derive(Debug)]
pub struct Signal {
    pub column: &'static str,
    pub place: Place,
    /// The kernel's number times this is the catalogue's unit.
    pub scale: i64,
}

const fn stat(column: &'static str, key: &'static str) -> Signal {
    Signal {
        column,
        place: Place::Stat(key),
        scale: 1,
    }
}

const fn vmstat(column: &'static str, key: &'static str) -> Signal {
    Signal {
        column,
        place: Place::VmStat(key),
        scale: 1,
    }
}

const fn meminfo(column: &'static str, keys: &'static [&'static str]) -> Signal {
    Signal {
        column,
        place: Place::MemInfo(keys),
        scale: 1024,
    }
}

const fn pressure(column: &'static str, file: &'static str, line: &'static str) -> Signal {
    Signal {
        column,
        place: Place::Pressure(file, line),
        scale: 1,
    }
}

pub const SIGNALS: &[Signal] = &[
    stat("context_switches", "ctxt"),
    stat("interrupts", "intr"),
    stat("forks", "processes"),
    stat("tasks_runnable", "procs_running"),
    stat("tasks_blocked", "procs_blocked"),
    Signal {
        column: "tasks_total",
        place: Place::LoadAverageTasks,
        scale: 1,
    },
    meminfo("mem_total_bytes", &["MemTotal"]),
    meminfo("mem_free_bytes", &["MemFree"]),
    meminfo("mem_available_bytes", &["MemAvailable"]),
    meminfo("cached_bytes", &["Cached", "Buffers"]),
    meminfo("anonymous_bytes", &["AnonPages"]),
    meminfo("dirty_bytes", &["Dirty"]),
    meminfo("slab_bytes", &["Slab"]),
    meminfo("swap_total_bytes", &["SwapTotal"]),
    meminfo("swap_free_bytes", &["SwapFree"]),
    vmstat("swap_in_pages", "pswpin"),
    vmstat("swap_out_pages", "pswpout"),
    vmstat("page_faults", "pgfault"),
    vmstat("major_faults", "pgmajfault"),
    // The kernel gives KiB here.
    Signal {
        column: "block_in_bytes",
        place: Place::VmStat("pgpgin"),
        scale: 1024,
    },
    Signal {
        column: "block_out_bytes",
        place: Place::VmStat("pgpgout"),
        scale: 1024,
    },
    vmstat("refault_anonymous_pages", "workingset_refault_anon"),
    vmstat("refault_file_pages", "workingset_refault_file"),
    vmstat("steal_background_pages", "pgsteal_kswapd"),
    vmstat("steal_direct_pages", "pgsteal_direct"),
    vmstat("scan_direct_pages", "pgscan_direct"),
    vmstat("out_of_memory_kills", "oom_kill"),
    vmstat("zswap_in_pages", "zswpin"),
    vmstat("zswap_out_pages", "zswpout"),
    pressure("pressure_cpu_some_us", "cpu", "some"),
    pressure("pressure_memory_some_us", "memory", "some"),
    pressure("pressure_memory_full_us", "memory", "full"),
    pressure("pressure_io_some_us", "io", "some"),
    pressure("pressure_io_full_us", "io", "full"),
    pressure("pressure_irq_full_us", "irq", "full"),
];

/// The columns of table `processor` after its identity, with the fields of a `cpuN` line that make them:
/// added fields, subtracted fields.
pub const PROCESSOR_COLUMNS: &[(&str, &[usize], &[usize])] = &[
    ("user_us", &[0], &[8]),
    ("nice_us", &[1], &[9]),
    ("system_us", &[2], &[]),
    ("irq_us", &[5, 6], &[]),
    ("idle_us", &[3], &[]),
    ("iowait_us", &[4], &[]),
    ("steal_us", &[7], &[]),
    ("guest_us", &[8, 9], &[]),
];

/// One reading of the host.
#[derive(Debug, Default)]
pub struct SystemReading {
    /// In the order of [`SIGNALS`].
    pub values: Vec<Option<i64>>,
    pub load_average_1: Option<f64>,
    /// Processor number and values in the order of [`PROCESSOR_COLUMNS`].
    pub processors: Vec<(u32, Vec<Option<i64>>)>,
}

/// Reads the host. `ticks_per_second` is the unit of `/proc/stat` (100 on all common systems).
pub fn read(roots: &Roots, ticks_per_second: i64) -> SystemReading {
    let text = |name: &str| files::read(&roots.proc.join(name));
    let (stat, vmstat) = (
        text("stat").unwrap_or_default(),
        text("vmstat").unwrap_or_default(),
    );
    let (meminfo, loadavg) = (
        text("meminfo").unwrap_or_default(),
        text("loadavg").unwrap_or_default(),
    );
    let pressures = ["cpu", "memory", "io", "irq"].map(|file| (file, text(&format!("pressure/{file}"))));
    let value = |signal: &Signal| {
        let raw = match signal.place {
            Place::Stat(key) => parse::value_of(&stat, key),
            Place::VmStat(key) => parse::value_of(&vmstat, key),
            Place::MemInfo(keys) => keys
                .iter()
                .try_fold(0i64, |sum, key| sum.checked_add(parse::value_of(&meminfo, key)?)),
            Place::Pressure(file, line) => {
                let found = pressures.iter().find(|(name, _)| *name == file);
                found.and_then(|(_, text)| parse::pressure(text.as_deref()?, line))
            }
            Place::LoadAverageTasks => load_average_tasks(&loadavg),
        };
        raw?.checked_mul(signal.scale)
    };
    SystemReading {
        values: SIGNALS.iter().map(value).collect(),
        load_average_1: parse::fields(&loadavg)
            .next()
            .and_then(|field| std::str::from_utf8(field).ok()?.parse().ok()),
        processors: processors(&stat, ticks_per_second),
    }
}

fn load_average_tasks(loadavg: &[u8]) -> Option<i64> {
    let counts = parse::fields(loadavg).nth(3)?;
    let slash = counts.iter().position(|&b| b == b'/')?;
    parse::signed(&counts[slash + 1..])
}

fn processors(stat: &[u8], ticks_per_second: i64) -> Vec<(u32, Vec<Option<i64>>)> {
    let line = |line| {
        let mut fields = parse::fields(line);
        let number = parse::unsigned(fields.next()?.strip_prefix(b"cpu")?)?;
        let ticks: Vec<Option<i64>> = fields.map(parse::signed).collect();
        let sum = |places: &[usize]| {
            places
                .iter()
                .try_fold(0i64, |sum, &place| sum.checked_add(ticks.get(place).copied()??))
        };
        let column = |&(_, added, taken): &(&str, &[usize], &[usize])| {
            // Guest time is in user time twice over; where it is not given, none was spent that we know of.
            let ticks = sum(added)?.checked_sub(sum(taken).unwrap_or(0))?.max(0);
            ticks.checked_mul(1_000_000)?.checked_div(ticks_per_second)
        };
        Some((
            u32::try_from(number).ok()?,
            PROCESSOR_COLUMNS.iter().map(column).collect(),
        ))
    };
    parse::lines(stat).filter_map(line).collect()
}

/// Says of each signal that `reading` lacks why, and what it would need.
pub fn missing(reading: &SystemReading, roots: &Roots) -> Vec<Missing> {
    let mut missing = Vec::new();
    for (signal, value) in SIGNALS.iter().zip(&reading.values) {
        if value.is_none() {
            let (file, line) = match signal.place {
                Place::Stat(key) => ("stat".into(), key),
                Place::VmStat(key) => ("vmstat".into(), key),
                Place::MemInfo(keys) => ("meminfo".into(), keys[0]),
                Place::Pressure(file, line) => (format!("pressure/{file}"), line),
                Place::LoadAverageTasks => ("loadavg".into(), "tasks"),
            };
            let reason = if roots.proc.join(&file).exists() {
                format!("/proc/{file} has no {line:?}")
            } else {
                format!("/proc/{file} does not exist")
            };
            missing.push(Missing::new(signal.column, reason, would_need(signal)));
        }
    }
    missing
}

fn would_need(signal: &Signal) -> &'static str {
    match signal.place {
        Place::Pressure("irq", _) => "a kernel with CONFIG_IRQ_TIME_ACCOUNTING (and CONFIG_PSI)",
        Place::Pressure(..) => {
            "a kernel with CONFIG_PSI, and psi=1 on its command line where it is off by default"
        }
        Place::VmStat("zswpin" | "zswpout") => "a kernel with CONFIG_ZSWAP",
        Place::VmStat("workingset_refault_anon") => "kernel 5.9 or later",
        Place::VmStat("oom_kill") => "kernel 4.13 or later",
        _ => "a kernel that gives this line",
    }
}
