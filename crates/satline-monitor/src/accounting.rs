//! All processes of the host, and what their users have used.
//!
//! A user's totals never fall: each reading of a process gives the user what has come since the reading before, and
//! the end of a task gives the rest. So nothing is counted twice:
//!
//! * Processor time and run delay are counted by thread, in the scheduler's own nanoseconds; the account of an ended
//!   thread has the same numbers, so the rest is (account − last reading).
//! * Faults, supervisor time and block traffic are counted by process, since `/proc/PID/stat` and `io` hold those of
//!   ended threads too. When the process has ended, the rest is (sum over its threads' accounts − last reading), which
//!   is exact for every process that began during the run, and too small by what threads used that had
//!   ended before the run where one began earlier.
//! * Tasks that began and ended between two readings are known by their account alone. Their user is that of
//!   their process or parent; by uid, their own.
//!
//! Where the kernel does not tell of ends, the times and faults of children that a parent has waited for
//! take their place: what a parent's `cutime`, `cstime`, `cminflt` and `cmajflt` rise by, less what
//! was counted of those children while they could be seen.

use std::io;
use std::path::Path;

use crate::by_pid::Processes;
use crate::counters::{Children, Totals};
use crate::ebpf::tasks::{Pass, TaskIterator, Told};
use crate::ebpf::waits::{DiskWait, Pair, ThreadWaits, Waits};
use crate::files::DescriptorBudget;
use crate::holders::{self, Holders};
use crate::listing::Listing;
use crate::plausible::{Allowance, Ledger, Times};
use crate::process::{Process, Reader, Thread, possible_delays};
use crate::taskstats::{Exit, TaskStats};
use crate::users::{Facts, HOST, UserId, Users};
use crate::waited::WaitedChildren;

/// How far a scan looks for the user of an ancestor.
const ANCESTORS: usize = 64;
/// Scans after which the user of a process is found anew, unless something shows earlier that it may have changed.
const USER_CHECK_SCANS: u64 = 32;
/// So many first scans of a process look for its user each time: programs that log people on change theirs early.
const YOUNG_SCANS: u64 = 4;

/// How the monitor learns of what ended between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitMethod {
    TaskStats,
    WaitedChildren,
}

/// What a scan needs to know of the host.
#[derive(Debug, Clone, Copy)]
pub struct ScanOptions {
    pub exits: ExitMethod,
    /// Whether delays are asked for.
    pub delays: bool,
    /// Whether /proc/PID/schedstat exists.
    pub schedstat: bool,
    pub ns_per_tick: u64,
}

/// All processes.
#[derive(Debug)]
pub struct ProcessTable {
    listing: Listing,
    /// Where the kernel tells of all tasks at once; else they are read from files.
    iterator: Option<TaskIterator>,
    iterator_failure: Option<String>,
    /// Where waits are told by cause.
    waits: Option<Waits>,
    waits_failure: Option<String>,
    pairs: Vec<Pair>,
    disk_waits: Vec<DiskWait>,
    pub holders: Holders,
    budget: DescriptorBudget,
    options: ScanOptions,
    processes: Processes,
    /// Ended processes whose number another has taken since.
    replaced: Vec<Process>,
    numbers: Vec<i32>,
    buffer: Vec<u8>,
    scan: u64,
    /// Start of the youngest process that the first scan saw, ticks: what an older one had used by the time it is first
    /// seen (or seen again, after a reading that failed) was not used since the last scan.
    base_ticks: u64,
    /// The first scan is over: from it on everything counts.
    has_base: bool,
    waited: WaitedChildren,
    /// Totals of users, by their number.
    totals: Vec<Totals>,
    /// Users of whom some process' block traffic could not be read.
    io_unreadable: Vec<bool>,
    pub exits_lost: u64,
    /// Waits of threads that could not be kept.
    pub waits_lost: u64,
    /// What tasks were said to have gained, and cannot have.
    pub ledger: Ledger,
}

impl ProcessTable {
    /// Opens `/proc`, or what stands for it.
    pub fn open(proc: &Path, budget: DescriptorBudget, options: ScanOptions) -> io::Result<Self> {
        Ok(Self {
            listing: Listing::open(proc)?,
            iterator: None,
            iterator_failure: None,
            waits: None,
            waits_failure: None,
            pairs: Vec::new(),
            disk_waits: Vec::new(),
            holders: Holders::default(),
            budget,
            options,
            processes: Processes::default(),
            replaced: Vec::new(),
            numbers: Vec::new(),
            buffer: vec![0; 4096],
            scan: 0,
            base_ticks: 0,
            has_base: false,
            waited: WaitedChildren::default(),
            totals: Vec::new(),
            io_unreadable: Vec::new(),
            exits_lost: 0,
            waits_lost: 0,
            ledger: Ledger::default(),
        })
    }

    /// Has the kernel tell of all tasks at once from the next scan on.
    pub fn use_iterator(&mut self, iterator: TaskIterator) {
        self.iterator = Some(iterator);
    }

    /// Why the iterator is no longer used, told once.
    pub fn take_iterator_failure(&mut self) -> Option<String> {
        self.iterator_failure.take()
    }

    /// Has waits told by cause from the next scan on.
    pub fn use_waits(&mut self, waits: Waits) {
        self.waits = Some(waits);
    }

    /// Whether waits are told by cause.
    pub fn tells_waits(&self) -> bool {
        self.waits.is_some()
    }

    /// Whether they tell what quotas hold back.
    pub fn tells_throttling(&self) -> bool {
        self.waits.as_ref().is_some_and(Waits::tells_throttling)
    }

    /// What their programs have taken while the kernel kept account, ns.
    pub fn waits_run_time_ns(&self) -> Option<u64> {
        self.waits.as_ref().map(Waits::run_time_ns)
    }

    /// Has waits told no more.
    pub fn drop_waits(&mut self) {
        self.waits = None;
    }

    /// Why waits are no longer told, told once.
    pub fn take_waits_failure(&mut self) -> Option<String> {
        self.waits_failure.take()
    }

    /// The processes that the last scan saw.
    pub fn processes(&mut self) -> impl Iterator<Item = &mut Process> {
        self.processes.iter_mut()
    }

    /// The user of a process that the last scan saw.
    pub fn user_of(&self, pid: i32) -> Option<UserId> {
        self.processes.get(pid)?.user
    }

    /// The control group of a process that the last scan saw.
    pub fn group_of(&mut self, pid: i32) -> Option<String> {
        let place = self.place();
        let process = self.processes.get_mut(pid)?;
        self.holders.group_of(process, place)
    }

    /// A user's totals since the run began.
    pub fn totals(&self, user: UserId) -> Totals {
        self.totals.get(user).copied().unwrap_or_default()
    }

    /// Whether all block traffic of a user could be read.
    pub fn io_is_known(&self, user: UserId) -> bool {
        !self.io_unreadable.get(user).copied().unwrap_or(false)
    }

    /// Number of the last scan, from 1. The first makes the base from which everything is counted.
    pub fn scan_number(&self) -> u64 {
        self.scan
    }

    /// Takes the ends that wait to be read. To be called before they overflow, also between scans.
    pub fn drain(&mut self, taskstats: &mut Option<TaskStats>) {
        let Some(taskstats) = taskstats else { return };
        let lost = taskstats.drain(|exit| self.take_exit(&exit));
        self.exits_lost += lost;
    }

    /// Reads all processes and gives their users what has come since the last scan.
    ///
    /// # Errors
    /// `/proc` cannot be listed.
    pub fn scan(
        &mut self,
        users: &mut Users,
        taskstats: &mut Option<TaskStats>,
        times: &Times<'_>,
    ) -> io::Result<()> {
        self.drain(taskstats);
        self.scan += 1;
        users.refresh();
        let by_iterator = self.scan_by_iterator(taskstats, times);
        if !by_iterator {
            let mut numbers = std::mem::take(&mut self.numbers);
            self.listing.update(&mut numbers)?;
            numbers.retain(|&pid| self.observe(pid, None, taskstats, times));
            self.numbers = numbers;
        }
        self.read_waits(by_iterator);
        // Whatever is missing from the listing ended before it was read, so that its account is there by now.
        self.drain(taskstats);
        self.find_users(users);
        self.take_pairs(users);
        self.settle(times);
        self.has_base = true;
        Ok(())
    }

    /// Takes what the iterator tells; whether it did. One that fails is not used again: files tell the same.
    ///
    /// With waits both come in one pass; where that fails, waits are no longer told and tasks are read for themselves.
    fn scan_by_iterator(&mut self, taskstats: &mut Option<TaskStats>, times: &Times<'_>) -> bool {
        let Some(mut iterator) = self.iterator.take() else {
            return false;
        };
        let waits = self.waits.take();
        if let Some(waits) = waits {
            match iterator.read_with_waits(waits.loaded()) {
                Ok(pass) => {
                    self.observe_all(pass, taskstats, times);
                    (self.iterator, self.waits) = (Some(iterator), Some(waits));
                    return true;
                }
                Err(error) => self.waits_failure = Some(error.to_string()),
            }
        }
        match iterator.read() {
            Ok(pass) => {
                self.observe_all(pass, taskstats, times);
                self.iterator = Some(iterator);
                true
            }
            Err(error) => {
                self.iterator_failure = Some(error.to_string());
                false
            }
        }
    }

    fn observe_all(&mut self, pass: &Pass, taskstats: &mut Option<TaskStats>, times: &Times<'_>) {
        for (pid, told) in pass.processes() {
            self.observe(pid, Some(told), taskstats, times);
        }
    }

    /// Reads what threads have waited for, of those that live unless they were `read` with the processes. After the processes: what is
    /// missing among them has ended, and its waits are kept by now.
    fn read_waits(&mut self, read: bool) {
        let Some(mut waits) = self.waits.take() else {
            return;
        };
        let read = match read {
            true => waits.read_ended(|thread| self.take_waits(thread)),
            false => waits.read(|thread| self.take_waits(thread)),
        };
        let read = read.and_then(|lost| {
            waits.read_pairs(|pair| self.pairs.push(pair))?;
            waits.read_disks(|wait| self.disk_waits.push(wait))?;
            Ok(lost)
        });
        match read {
            Ok(lost) => {
                self.waits_lost += lost;
                self.waits = Some(waits);
            }
            Err(error) => self.waits_failure = Some(error.to_string()),
        }
    }

    /// What ended before the first scan was over, began before the run.
    fn take_pairs(&mut self, users: &mut Users) {
        let pairs = std::mem::take(&mut self.pairs);
        let place = self.place();
        for pair in pairs.iter().filter(|_| self.has_base) {
            self.holders.pair(pair, &mut self.processes, users, place);
        }
        let disk_waits = std::mem::take(&mut self.disk_waits);
        for wait in disk_waits.iter().filter(|_| self.has_base) {
            self.holders.disk_wait(wait, &mut self.processes, users, place);
        }
        self.waits_lost += self.holders.take_lost();
    }

    fn place(&self) -> holders::Scan {
        holders::Scan {
            directory: self.listing.directory().descriptor(),
            number: self.scan,
        }
    }

    fn take_waits(&mut self, thread: &ThreadWaits) {
        let is_known = self.processes.get(thread.pid).is_some();
        if !is_known && (thread.ended.is_none() || !self.has_base) {
            return;
        }
        let process = self.processes.get_or_new(thread.pid);
        if let Some((parent, uid)) = thread.ended.filter(|_| process.seen == 0) {
            process.parent = parent;
            process.ended_uid = Some(uid);
        }
        let has_ended = thread.ended.is_some();
        process.take_waits(thread.tid, thread.waited, has_ended, self.has_base);
    }

    /// Reads a process, or takes what the iterator tells of it; whether it is there.
    fn observe(
        &mut self,
        pid: i32,
        told: Option<Told<'_>>,
        taskstats: &mut Option<TaskStats>,
        times: &Times<'_>,
    ) -> bool {
        let first_scan = self.scan == 1;
        let process = self.processes.get_or_new(pid);
        let mut reader = Reader {
            directory: self.listing.directory().descriptor(),
            budget: &mut self.budget,
            buffer: &mut self.buffer,
            scan: self.scan,
            ns_per_tick: self.options.ns_per_tick,
            schedstat: self.options.schedstat,
            thread_ends: self.options.exits == ExitMethod::TaskStats,
            history_counts: !first_scan,
            waits_count: self.has_base,
            times,
            ledger: &mut self.ledger,
            told,
        };
        let Some((stat, renamed)) = process.read_stat(&mut reader) else {
            return false;
        };
        if process.seen != 0 && process.start_ticks != stat.start_ticks {
            // The number has gone to another process.
            let mut old = std::mem::replace(process, Process::new(pid));
            old.close(reader.budget);
            self.replaced.push(old);
            if process.read_stat(&mut reader).is_none() {
                return false;
            }
        }
        if renamed || process.session != stat.session {
            process.user_due = self.scan;
        }
        if first_scan {
            self.base_ticks = self.base_ticks.max(stat.start_ticks);
        }
        reader.history_counts = !first_scan && stat.start_ticks >= self.base_ticks;
        let skip = process.seen == 0 && !reader.history_counts;
        let children = Children::of(&stat);
        let waited = if skip {
            Children::default()
        } else {
            children.since(process.children)
        };
        process.children = children;
        let ran = process.advance(&stat, &mut reader);
        match told {
            Some(told) => process.take_traffic(told.traffic(), skip),
            None if ran || waits(process) => process.read_io(&mut reader, skip),
            None => {}
        }
        if ran && self.options.delays && !process.kernel_thread {
            if let Some(account) = taskstats.as_mut().and_then(|t| t.process(pid)) {
                process.take_delays(account.io_delay_ns(), account.page_delay_ns(), skip, &mut reader);
            }
        }
        if self.options.exits == ExitMethod::WaitedChildren {
            process
                .step
                .add(self.waited.unaccounted(pid, waited, self.options.ns_per_tick));
        }
        true
    }

    /// Takes the account of a task that ended.
    fn take_exit(&mut self, exit: &Exit) {
        let task = &exit.task;
        let pid = task
            .tgid
            .filter(|&t| t > 0)
            .unwrap_or_else(|| self.process_of_thread(task.pid));
        if !self.has_base && self.processes.get(pid).is_none() {
            // What it used, it used before the run.
            return;
        }
        let process = self.processes.get_or_new(pid);
        if process.seen == 0 {
            process.parent = task.parent;
            process.ended_uid = Some(task.uid);
        }
        let place = process
            .threads
            .iter()
            .position(|t| t.tid == task.pid)
            .unwrap_or_else(|| {
                process.threads.push(Thread::new(task.pid));
                process.threads.len() - 1
            });
        let thread = &mut process.threads[place];
        let lived_ns = task.elapsed_us.saturating_mul(1000);
        let mut lived = Allowance::default();
        lived.add_ns(i64::try_from(lived_ns).unwrap_or(i64::MAX));
        if thread.seen == 0 {
            process.allowance = process.allowance.plus(lived);
        }
        let mut rest = Totals {
            cpu_ns: task.cpu_ns.saturating_sub(thread.cpu_ns),
            run_delay_ns: task.run_delay_ns.saturating_sub(thread.run_delay_ns),
            exits: 1,
            ..Totals::default()
        };
        for (gain, signal) in [
            (&mut rest.cpu_ns, "user.cpu_us"),
            (&mut rest.run_delay_ns, "user.run_delay_us"),
        ] {
            if !lived.covers(*gain) {
                self.ledger.task(signal, std::mem::take(gain));
            }
        }
        // A main thread that ended before the others can still be read; it must not count twice.
        thread.cpu_ns = thread.cpu_ns.max(task.cpu_ns);
        thread.run_delay_ns = thread.run_delay_ns.max(task.run_delay_ns);
        process.step.add(if process.by_ticks {
            Totals { cpu_ns: 0, ..rest }
        } else {
            rest
        });
        process.ended.add(Totals {
            cpu_ns: if process.by_ticks { task.cpu_ns } else { 0 },
            system_ns: task.system_ns(),
            minor_faults: task.minor_faults,
            major_faults: task.major_faults,
            read_bytes: task.read_bytes,
            write_bytes: task.write_bytes,
            io_delay_ns: task.io_delay_ns(),
            page_delay_ns: task.page_delay_ns(),
            ..Totals::default()
        });
        if let Some(all) = exit.process {
            let delays = Totals {
                io_delay_ns: all.io_delay_ns(),
                page_delay_ns: all.page_delay_ns(),
                ..Totals::default()
            };
            process.ended = process.ended.max(delays);
        }
    }

    /// The process of a thread, for kernels whose accounts do not say.
    fn process_of_thread(&self, tid: i32) -> i32 {
        let with = |p: &&Process| p.threads.len() > 1 && p.threads.iter().any(|t| t.tid == tid);
        self.processes.iter().find(with).map_or(tid, |p| p.pid)
    }

    fn find_users(&mut self, users: &mut Users) {
        let (scan, generation) = (self.scan, users.generation());
        let due = |p: &Process| p.user.is_none() || p.user_due <= scan || p.user_generation != generation;
        let mut pids: Vec<i32> = self.processes.iter().filter(|p| due(p)).map(|p| p.pid).collect();
        pids.sort_unstable();
        for pid in pids {
            self.find_user(pid, users, ANCESTORS);
        }
    }

    fn find_user(&mut self, pid: i32, users: &mut Users, depth: usize) -> Option<UserId> {
        let (scan, generation) = (self.scan, users.generation());
        let process = self.processes.get(pid)?;
        let is_due = process.user_due <= scan || process.user_generation != generation;
        if process.user.is_some() && !is_due || depth == 0 {
            return process.user;
        }
        let mut facts = Facts {
            pid,
            session: process.session,
            kernel_thread: process.kernel_thread,
            uid: process.ended_uid.filter(|_| process.seen == 0).or(process.uid),
            parent: None,
        };
        let (parent, gone, before) = (process.parent, process.seen != scan, process.user);
        let age = scan.saturating_sub(process.first_seen);
        let of_parent = if parent == pid {
            None
        } else {
            self.find_user(parent, users, depth - 1)
        };
        // One whose parent has ended belongs to whom it belonged: its new parent adopts it, no more.
        facts.parent = before.filter(|&user| user != HOST).or(of_parent);
        let user = match before {
            Some(user) if gone => user,
            _ => users.of(facts),
        };
        let process = self.processes.get_mut(pid)?;
        process.user = Some(user);
        process.user_generation = generation;
        // Spread over scans, lest all processes are asked about in one.
        let spread = u64::from(pid.unsigned_abs()) % USER_CHECK_SCANS;
        process.user_due = scan
            + if age < YOUNG_SCANS {
                1
            } else {
                USER_CHECK_SCANS + spread
            };
        Some(user)
    }

    /// Gives users what their processes have used since the last scan, and forgets the processes that ended.
    fn settle(&mut self, times: &Times<'_>) {
        let scan = self.scan;
        let told = self.options.exits == ExitMethod::TaskStats;
        let (place, mut holders) = (self.place(), self.waits.is_some().then_some(&mut self.holders));
        let (totals, io_unreadable) = (&mut self.totals, &mut self.io_unreadable);
        let (waited, budget, ledger) = (&mut self.waited, &mut self.budget, &mut self.ledger);
        let mut stays = |process: &mut Process| {
            let gone = process.seen != scan;
            if gone {
                let mut rest = process.ended.since(process.counted);
                if !process.by_ticks {
                    rest.cpu_ns = 0;
                }
                rest.exits = u64::from(!told && process.seen != 0);
                let allowance = process.allowance_at_end(times);
                process.step.add(possible_delays(rest, allowance, times, ledger));
                if !told {
                    waited.owe(process, scan);
                }
                process.close(budget);
            }
            let user = process.user.unwrap_or(HOST);
            if totals.len() <= user {
                totals.resize(user + 1, Totals::default());
                io_unreadable.resize(user + 1, false);
            }
            if let Some(holders) = &mut holders {
                holders.take(process, user, place);
            }
            totals[user].add(std::mem::take(&mut process.step));
            io_unreadable[user] |= process.io_unreadable && !gone;
            !gone
        };
        self.replaced.iter_mut().for_each(|process| _ = stays(process));
        self.processes.retain(stays);
        self.replaced.clear();
        self.waited.forget(scan);
    }
}

fn waits(process: &Process) -> bool {
    process.threads.iter().any(|thread| thread.state == b'D')
}

#[cfg(test)]
#[path = "accounting_tests.rs"]
mod tests;
