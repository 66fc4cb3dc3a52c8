//! What is recorded on this kernel by which method, at what cost, and what more would be needed: `--explain-sources`.

use std::fmt::Write;

use satline_program::clock::own_cpu_us;

use crate::abilities::{Kernel, delays_are_on, open_taskstats};
use crate::accounting::{ExitMethod, ProcessTable, ScanOptions};
use crate::device;
use crate::ebpf::contention::Contention;
use crate::ebpf::object::Refusal;
use crate::ebpf::services::Services;
use crate::ebpf::tasks::TaskIterator;
use crate::ebpf::terminals::Terminals;
use crate::ebpf::waits::Waits;
use crate::files::{DescriptorBudget, Roots};
use crate::missing::Missing;
use crate::nfs;
use crate::options::Options;
use crate::plausible::Times;
use crate::system;
use crate::users::Users;

/// Passes of which the cost is told.
const PASSES: i64 = 5;

/// One signal, or several that go together.
struct Line {
    signal: String,
    had: bool,
    method: String,
    cost: String,
    need: String,
}

impl Line {
    fn had(signal: &str, method: &str, cost: impl Into<String>) -> Self {
        Self {
            signal: signal.into(),
            had: true,
            method: method.into(),
            cost: cost.into(),
            need: String::new(),
        }
    }

    fn lacks(signal: &str, reason: &str, need: &str) -> Self {
        Self {
            signal: signal.into(),
            had: false,
            method: reason.into(),
            cost: String::new(),
            need: need.into(),
        }
    }
}

/// The text. Nothing is recorded; what is loaded to see whether it can be is taken out again.
pub fn sources(options: &Options) -> String {
    let roots = Roots {
        proc: options.proc.clone(),
        sys: options.sys.clone(),
    };
    let mut lines = Vec::new();
    let before_us = own_cpu_us();
    let kernel = Kernel::of(&roots);
    let kernel = kernel.types();
    let iterator = kernel.clone().and_then(TaskIterator::load);
    let load_us = own_cpu_us() - before_us;
    let by_files = scan_cost(options, &roots, None);
    const TASKS: &str = "users, tasks: time, run queue, faults, traffic, memory";
    match iterator {
        Ok(iterator) => {
            let cost = format!(
                "{}; files: {}; {load_us} µs once",
                per_scan(scan_cost(options, &roots, Some(iterator))),
                per_scan(by_files)
            );
            lines.push(Line::had(TASKS, "eBPF task iterator", cost));
        }
        Err(refusal) => {
            lines.push(Line::had(
                TASKS,
                "/proc/PID/stat, schedstat, io",
                per_scan(by_files),
            ));
            lines.push(Line::lacks(
                "the same by eBPF, cheaper",
                &refusal.reason,
                &refusal.need,
            ));
        }
    }
    let own = kernel.clone();
    lines.push(programs(
        "users: waits by cause (--waits)",
        own.and_then(Waits::load),
        |waits| waits.read(|_| ()).is_ok(),
        (
            "its sums",
            "eBPF at sched_switch, sched_waking, sched_process_exit",
        ),
        ", and about 0.3 µs at each context switch",
    ));
    let own = kernel.clone();
    lines.push(programs(
        "locks of the kernel (--waits)",
        own.and_then(Contention::load),
        |contention| contention.read().is_ok(),
        ("its sums", "eBPF at contention_begin, contention_end"),
        "; nothing where no other holds the lock",
    ));
    let own = kernel.clone();
    lines.push(programs(
        "transactions: lines at terminals (--terminals)",
        own.and_then(|kernel| Terminals::load(kernel, false)),
        |terminals| terminals.read(|_| ()).is_ok(),
        (
            "its lines",
            "eBPF at the work items of terminals, sched_switch, sched_process_exec, sched_process_exit",
        ),
        ", about 2 µs a key, and less than 0.1 µs at each context switch",
    ));
    lines.push(programs(
        "transactions: requests to services (--services)",
        kernel.and_then(|kernel| Services::load(kernel, &[], false)),
        |services| services.read(|_| ()).is_ok(),
        (
            "its answers",
            "eBPF at inet_sock_set_state, sk_data_ready, sock_recv_length, sock_send_length",
        ),
        ", and about 3 µs a request",
    ));
    let mut missing = Vec::new();
    let taskstats = open_taskstats(options, &roots, &mut missing);
    if taskstats.is_some() {
        lines.push(Line::had(
            "users: tasks that end between samples",
            "taskstats",
            "about 1 µs for each end",
        ));
    }
    if delays_are_on(options, &roots, taskstats.is_some(), &mut missing) {
        lines.push(Line::had(
            "user.io_delay_us, user.page_delay_us",
            "taskstats, delay accounting",
            "a question for each process that ran",
        ));
    }
    let before_us = own_cpu_us();
    let reading = system::read(&roots, 100);
    let cost = format!("{} µs a sample", own_cpu_us() - before_us);
    lines.push(Line::had(
        "system, processors",
        "/proc/stat, vmstat, meminfo, pressure",
        cost,
    ));
    missing.extend(system::missing(&reading, &roots));
    missing.extend(device::missing(&roots));
    match nfs::missing(&roots) {
        Some(none) => missing.push(none),
        None => lines.push(Line::had(
            "device: NFS by mount",
            "/proc/self/mountstats",
            "some 10 µs for each mount of any kind a sample",
        )),
    }
    let lacking = |m: &Missing| Line::lacks(&m.signal, &m.reason, &m.would_need);
    lines.extend(missing.iter().map(lacking));
    text(&lines)
}

/// The line of programs in the kernel; `more` is what they cost beside the reading.
fn programs<T>(
    signal: &str,
    loaded: Result<T, Refusal>,
    mut read: impl FnMut(&mut T) -> bool,
    (what, method): (&str, &str),
    more: &str,
) -> Line {
    let mut loaded = match loaded {
        Ok(loaded) => loaded,
        Err(refusal) => return Line::lacks(signal, &refusal.reason, &refusal.need),
    };
    let before_us = own_cpu_us();
    if !(0..PASSES).all(|_| read(&mut loaded)) {
        return Line::lacks(signal, &format!("{what} cannot be read"), "report this");
    }
    let cost_us = (own_cpu_us() - before_us) / PASSES;
    Line::had(signal, method, format!("{cost_us} µs a sample{more}"))
}

/// Processor time of one scan of all processes, µs.
fn scan_cost(options: &Options, roots: &Roots, iterator: Option<TaskIterator>) -> Option<i64> {
    let scan = ScanOptions {
        exits: ExitMethod::WaitedChildren,
        delays: false,
        schedstat: roots.proc.join("self/schedstat").exists(),
        ns_per_tick: 10_000_000,
    };
    let mut table = ProcessTable::open(&roots.proc, DescriptorBudget::from_limit(), scan).ok()?;
    if let Some(iterator) = iterator {
        table.use_iterator(iterator);
    }
    let mut users = Users::new(
        options.users.clone(),
        roots.clone(),
        &options.etc.join("passwd"),
        0,
    );
    let times = Times {
        before_ns: i64::MIN,
        at_ns: 0,
        boot_ahead_ns: 0,
        clock: &|| 0,
    };
    // The first opens files and finds users, and the next few ask again.
    (0..PASSES).try_for_each(|_| table.scan(&mut users, &mut None, &times).ok())?;
    let before_us = own_cpu_us();
    (0..PASSES).try_for_each(|_| table.scan(&mut users, &mut None, &times).ok())?;
    Some((own_cpu_us() - before_us) / PASSES)
}

fn per_scan(cost_us: Option<i64>) -> String {
    cost_us.map_or("not measured".into(), |us| format!("{us} µs a sample"))
}

fn text(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        // Writing to a String cannot fail.
        let _ = if line.had {
            writeln!(
                text,
                "+ {}\n    by {}\n    cost {}",
                line.signal, line.method, line.cost
            )
        } else {
            writeln!(
                text,
                "- {}\n    {}\n    needs {}",
                line.signal, line.method, line.need
            )
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn every_signal_is_had_or_says_what_it_needs() {
        let options = Options::parse_from(["satline-monitor", "--explain-sources"]);
        let said = sources(&options);
        assert!(said.contains("users, tasks: time"), "{said}");
        assert!(said.contains("waits by cause"), "{said}");
        assert!(said.contains("locks of the kernel"), "{said}");
        assert!(said.contains("lines at terminals"), "{said}");
        for line in said.lines().filter(|line| line.starts_with("    needs")) {
            assert!(line.len() > "    needs ".len(), "{said}");
        }
        let head = said.lines().filter(|line| line.starts_with(['+', '-'])).count();
        assert!(head >= 4, "{said}");
    }
}
