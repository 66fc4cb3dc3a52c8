//! One process and what has been counted of it.

use std::os::fd::RawFd;

use satline_program::parse::{self, Stat};

use crate::counters::{Children, Name, Totals};
use crate::ebpf::tasks::{Split, ThreadRecord, Told, WaitsTold};
use crate::ebpf::waits::{UnderWay, Waited};
use crate::files::{self, DescriptorBudget, KeptFile, RelativePath};
use crate::holders::KnownGroup;
use crate::plausible::{Allowance, Ledger, Times};
use crate::users::UserId;

/// One thread. The first of a process is its main thread.
#[derive(Debug)]
pub struct Thread {
    pub tid: i32,
    /// Scan that saw it last.
    pub seen: u64,
    pub start_ticks: u64,
    pub name: Name,
    pub state: u8,
    pub cpu_ns: u64,
    pub run_delay_ns: u64,
    /// Processor time since the scan before.
    pub cpu_step_ns: u64,
    /// Had a row in table `task` at the scan before.
    pub had_row: bool,
    /// Whatever wait ends from the last reading on, it began after this.
    waits_from_ns: i64,
    /// Scan in which it had run since the one before.
    ran: u64,
    /// What it has waited for until the last reading.
    pub waited: Waited,
    /// The wait under way, where it comes with the thread's record.
    under_way: Option<UnderWay>,
    stat: KeptFile,
    schedstat: KeptFile,
}

impl Thread {
    pub fn new(tid: i32) -> Self {
        Self {
            tid,
            seen: 0,
            start_ticks: 0,
            name: Name::new(b""),
            state: b'?',
            cpu_ns: 0,
            run_delay_ns: 0,
            cpu_step_ns: 0,
            had_row: false,
            waits_from_ns: 0,
            ran: 0,
            waited: Waited::default(),
            under_way: None,
            stat: KeptFile::default(),
            schedstat: KeptFile::default(),
        }
    }

    /// Takes a new reading of the scheduler's counters and returns what has come since the last. A fall means
    /// that the number has gone to another thread, all of whose time is new.
    pub fn advance(&mut self, cpu_ns: u64, run_delay_ns: u64) -> (u64, u64) {
        let restarted = cpu_ns < self.cpu_ns;
        let (cpu_before, delay_before) = if restarted {
            (0, 0)
        } else {
            (self.cpu_ns, self.run_delay_ns)
        };
        let step = (cpu_ns - cpu_before, run_delay_ns.saturating_sub(delay_before));
        (self.cpu_ns, self.run_delay_ns) = (cpu_ns, run_delay_ns);
        step
    }

    /// Takes its name; whether it is another than before. A kernel thread's may be longer than is told: the iterator
    /// leaves out what it works for, and that is no change.
    fn rename(&mut self, name: &[u8], may_be_longer: bool) -> bool {
        let renamed = if may_be_longer {
            !self.name.begins_with(name) || name.is_empty()
        } else {
            !self.name.is(name)
        };
        if renamed {
            self.name = Name::new(name);
        }
        renamed
    }

    /// Takes when it began and what it does.
    fn observe(&mut self, start_ticks: u64, state: u8, reader: &Reader<'_>) {
        if self.start_ticks != start_ticks {
            if self.start_ticks != 0 {
                (self.cpu_ns, self.run_delay_ns, self.had_row) = (0, 0, false);
                (self.waited, self.under_way) = (Waited::default(), None);
            }
            self.waits_from_ns = reader.times.start(start_ticks, reader.ns_per_tick);
        }
        (self.seen, self.start_ticks, self.state) = (reader.scan, start_ticks, state);
    }

    /// Takes what a pass tells of its waits; what has come since the pass before.
    fn take_waits(&mut self, record: &ThreadRecord, told: &Told<'_>) -> Option<Waited> {
        match record.waits {
            WaitsTold::Nothing => None,
            WaitsTold::GoesOn => {
                let gain = self.under_way.as_mut()?.go_on(told.began_ns);
                self.waited.add(gain);
                Some(gain)
            }
            WaitsTold::Sums(place) => {
                let sums = told.waits.get(place as usize)?;
                self.under_way = sums.under_way;
                let waited = sums.total();
                let gain = waited.since(self.waited);
                self.waited = waited.max(self.waited);
                Some(gain)
            }
        }
    }

    fn close(&mut self, budget: &mut DescriptorBudget) {
        self.stat.close(budget);
        self.schedstat.close(budget);
    }
}

/// One process.
#[derive(Debug)]
pub struct Process {
    pub pid: i32,
    pub start_ticks: u64,
    pub parent: i32,
    pub session: i32,
    pub kernel_thread: bool,
    /// Scan that saw it last; 0: known only from what ended of it.
    pub seen: u64,
    /// Scan that saw it first.
    pub first_seen: u64,
    pub threads: Vec<Thread>,
    pub resident_pages: u64,
    /// Totals of the whole process at the last reading, which hold those of its ended threads.
    pub counted: Totals,
    /// Totals of its threads that ended, by their own accounts.
    pub ended: Totals,
    pub children: Children,
    /// Its own processor time at the last reading, in ticks: user, system.
    pub ticks: (u64, u64),
    /// The same in ns, where the iterator told it.
    times: Split,
    /// Its effective user, where the iterator told it.
    pub uid: Option<u32>,
    /// To be given to its user at the end of the scan.
    pub step: Totals,
    /// How long its threads can have waited since its delays were taken.
    pub allowance: Allowance,
    /// Time from ticks: for want of the scheduler's numbers, or, when ends are not told, for several threads.
    pub by_ticks: bool,
    pub major_faults_rose: bool,
    pub io_unreadable: bool,
    pub user: Option<UserId>,
    pub ended_uid: Option<u32>,
    /// When, by scan number and users' generation, its user is to be found anew.
    pub user_due: u64,
    pub user_generation: u64,
    pub cgroup: KnownGroup,
}

/// What a reading of a process needs beside the process.
pub struct Reader<'a> {
    pub directory: RawFd,
    pub budget: &'a mut DescriptorBudget,
    pub buffer: &'a mut [u8],
    pub scan: u64,
    pub ns_per_tick: u64,
    /// Whether the kernel gives schedstat at all.
    pub schedstat: bool,
    /// Whether the ends of single threads are told.
    pub thread_ends: bool,
    /// Whether what a process had used before it was first seen counts.
    pub history_counts: bool,
    /// Whether what is waited for counts: not what was before the first scan.
    pub waits_count: bool,
    pub times: &'a Times<'a>,
    pub ledger: &'a mut Ledger,
    /// What the iterator tells of the process: nothing is read from files then.
    pub told: Option<Told<'a>>,
}

impl Process {
    pub fn new(pid: i32) -> Self {
        Self {
            pid,
            start_ticks: 0,
            parent: 0,
            session: 0,
            kernel_thread: false,
            seen: 0,
            first_seen: 0,
            threads: vec![Thread::new(pid)],
            resident_pages: 0,
            counted: Totals::default(),
            ended: Totals::default(),
            children: Children::default(),
            ticks: (0, 0),
            times: (0, 0),
            uid: None,
            step: Totals::default(),
            allowance: Allowance::default(),
            by_ticks: false,
            major_faults_rose: false,
            io_unreadable: false,
            user: None,
            ended_uid: None,
            user_due: 0,
            user_generation: 0,
            cgroup: KnownGroup::default(),
        }
    }

    /// Reads `/proc/PID/stat`; `None` if the process has gone.
    pub fn read_stat(&mut self, reader: &mut Reader<'_>) -> Option<(Stat, bool)> {
        if let Some(told) = reader.told {
            return Some(self.take_stat(told, reader));
        }
        self.uid = None;
        let path = RelativePath::of_process(self.pid, "stat");
        let text = self.threads[0]
            .stat
            .read(reader.directory, &path, reader.budget, reader.buffer)?;
        let stat = parse::stat(text)?;
        let name = &text[stat.name.0..stat.name.1];
        let renamed = !self.threads[0].name.is(name);
        if renamed {
            self.threads[0].name = Name::new(name);
        }
        Some((stat, renamed))
    }

    /// Takes what one of its threads has waited for; `counts`: what is new is its user's. A thread that is not known and lives
    /// comes with the next scan.
    pub fn take_waits(&mut self, tid: i32, waited: Waited, has_ended: bool, counts: bool) {
        let known = self.threads.iter().position(|thread| thread.tid == tid);
        let place = match known {
            Some(place) => place,
            None if !has_ended => return,
            None => {
                self.threads.push(Thread::new(tid));
                self.threads.len() - 1
            }
        };
        let thread = &mut self.threads[place];
        if counts {
            self.step.waited.add(waited.since(thread.waited));
        }
        thread.waited = waited.max(thread.waited);
    }

    fn take_stat(&mut self, told: Told<'_>, reader: &mut Reader<'_>) -> (Stat, bool) {
        /// A worker of the kernel that has used so much since the last reading is asked what it works for.
        const NAME_ASKED_NS: u64 = 10_000_000;
        let main = &told.threads[0];
        // What another process of that number was told to have used does not hold for this one.
        let is_same = self.seen != 0 && self.start_ticks == main.start_ns / reader.ns_per_tick.max(1);
        self.times = told.times(if is_same { self.times } else { (0, 0) });
        let uid = Some(told.process.uid);
        let changed = self.uid != uid && self.seen != 0;
        self.uid = uid;
        let kernel_thread = told.process.kernel_thread;
        let thread = &mut self.threads[0];
        let mut renamed = thread.rename(main.name(), kernel_thread);
        if kernel_thread && main.exec_ns.saturating_sub(thread.cpu_ns) >= NAME_ASKED_NS {
            let path = RelativePath::of_process(self.pid, "comm");
            if let Ok(name) = files::read_below(reader.directory, &path, reader.buffer) {
                renamed |= thread.rename(name.strip_suffix(b"\n").unwrap_or(name), false);
            }
        }
        (told.stat(self.times, reader.ns_per_tick), renamed || changed)
    }

    /// Takes a reading of the process' totals into `step`, and reads its threads' schedstat.
    ///
    /// Returns whether it has run since the scan before.
    pub fn advance(&mut self, stat: &Stat, reader: &mut Reader<'_>) -> bool {
        let is_new = self.seen == 0;
        let skip = is_new && !reader.history_counts;
        (self.parent, self.session) = (stat.parent, stat.session);
        (self.start_ticks, self.kernel_thread) = (stat.start_ticks, stat.kernel_thread);
        (self.resident_pages, self.ticks) = (stat.resident_pages, (stat.user_ticks, stat.system_ticks));
        self.seen = reader.scan;
        if is_new {
            self.first_seen = reader.scan;
        }
        let ticks = |n: u64| n.saturating_mul(reader.ns_per_tick);
        let now = Totals {
            cpu_ns: ticks(stat.user_ticks.saturating_add(stat.system_ticks)),
            system_ns: ticks(stat.system_ticks),
            minor_faults: stat.minor_faults,
            major_faults: stat.major_faults,
            ..self.counted
        };
        let mut step = now.since(self.counted);
        self.major_faults_rose = !is_new && step.major_faults > 0;
        // The iterator comes to the threads of a process one after the other: one that ends meanwhile may be left out once, and
        // is not to be counted a second time.
        self.counted = if reader.told.is_some() {
            now.max(self.counted)
        } else {
            now
        };
        let by_threads = self.read_threads(stat, reader, skip);
        if by_threads.is_none() {
            // Which threads ran is not known.
            let start = reader.times.start(stat.start_ticks, reader.ns_per_tick);
            (0..stat.threads).for_each(|_| self.allowance.add(start, reader.times));
        }
        self.by_ticks |= !reader.schedstat || (stat.threads > 1 && !reader.thread_ends);
        let (cpu_ns, run_delay_ns) = by_threads.unwrap_or((0, 0));
        let ran = is_new || cpu_ns > 0 || step.cpu_ns > 0;
        if !self.by_ticks {
            step.cpu_ns = cpu_ns;
        }
        step.run_delay_ns = run_delay_ns;
        if !skip {
            self.step.add(step);
        }
        ran
    }

    /// Reads `/proc/PID/io`, which is dear: only for processes that ran.
    pub fn read_io(&mut self, reader: &mut Reader<'_>, skip: bool) {
        let path = RelativePath::of_process(self.pid, "io");
        let text = files::read_below(reader.directory, &path, reader.buffer);
        // One that ends meanwhile cannot be read either, but its account will tell.
        let refused = |e: &std::io::Error| e.kind() == std::io::ErrorKind::PermissionDenied;
        self.io_unreadable |= text.as_ref().err().is_some_and(refused);
        let values = text.ok().and_then(|t| {
            let value = |key| u64::try_from(parse::value_of(t, key)?).ok();
            Some((value("read_bytes")?, value("write_bytes")?))
        });
        if let Some(traffic) = values {
            self.take_traffic(traffic, skip);
        }
    }

    /// Takes what the process has read from and written to devices.
    pub fn take_traffic(&mut self, (read_bytes, write_bytes): (u64, u64), skip: bool) {
        let now = Totals {
            read_bytes,
            write_bytes,
            ..self.counted
        };
        let step = now.since(self.counted);
        self.counted = now.max(self.counted);
        if !skip {
            self.step.add(step);
        }
    }

    /// Takes the delays of the whole process from its account.
    pub fn take_delays(&mut self, io_delay_ns: u64, page_delay_ns: u64, skip: bool, reader: &mut Reader<'_>) {
        let now = Totals {
            io_delay_ns,
            page_delay_ns,
            ..self.counted
        };
        let allowance = std::mem::take(&mut self.allowance).plus(self.waiting(reader.times));
        if !skip {
            let step = now.since(self.counted);
            self.step
                .add(possible_delays(step, allowance, reader.times, reader.ledger));
        }
        self.counted = now.max(self.counted);
    }

    /// What threads that have not run can have ended all the same: they are woken before they run.
    fn waiting(&self, times: &Times<'_>) -> Allowance {
        let mut allowance = Allowance::default();
        let waiting = |t: &&Thread| t.seen == self.seen && t.ran != t.seen && matches!(t.state, b'D' | b'R');
        for thread in self.threads.iter().filter(waiting) {
            allowance.add(thread.waits_from_ns, times);
        }
        allowance
    }

    /// How long its threads can have waited when it has ended since the last scan.
    pub fn allowance_at_end(&self, times: &Times<'_>) -> Allowance {
        let mut allowance = self.allowance;
        let last = |t: &&Thread| self.seen != 0 && t.seen == self.seen;
        for thread in self.threads.iter().filter(last) {
            allowance.add(thread.waits_from_ns, times);
        }
        allowance
    }

    /// Reads every thread; returns the processor time and run delay that came since, ns.
    fn read_threads(&mut self, stat: &Stat, reader: &mut Reader<'_>, skip: bool) -> Option<(u64, u64)> {
        let main = &mut self.threads[0];
        if main.seen == 0 {
            main.waits_from_ns = reader.times.start(stat.start_ticks, reader.ns_per_tick);
        }
        (main.seen, main.start_ticks, main.state) = (reader.scan, stat.start_ticks, stat.state);
        let mut sum = match reader.told {
            Some(told) => {
                let (cpu_ns, delay_ns) = (told.threads[0].exec_ns, told.threads[0].run_delay_ns);
                let gain = main.take_waits(&told.threads[0], &told);
                if let Some(gain) = gain.filter(|_| reader.waits_count) {
                    self.step.waited.add(gain);
                }
                take_schedstat(main, cpu_ns, delay_ns, reader, &mut self.allowance)
            }
            None => {
                let path = RelativePath::of_process(self.pid, "schedstat");
                read_schedstat(main, &path, reader, &mut self.allowance)?
            }
        };
        if let Some(told) = reader.told {
            for (place, record) in told.threads.iter().enumerate().skip(1) {
                let place = self.place_of(record.tid, place);
                let thread = &mut self.threads[place];
                thread.rename(record.name(), false);
                thread.observe(record.start_ns / reader.ns_per_tick.max(1), record.state, reader);
                let gain = thread.take_waits(record, &told);
                if let Some(gain) = gain.filter(|_| reader.waits_count) {
                    self.step.waited.add(gain);
                }
                let (cpu, delay) = take_schedstat(
                    thread,
                    record.exec_ns,
                    record.run_delay_ns,
                    reader,
                    &mut self.allowance,
                );
                sum = (sum.0.saturating_add(cpu), sum.1.saturating_add(delay));
            }
        } else if stat.threads > 1 {
            let (pid, mut place) = (self.pid, 0);
            for tid in thread_numbers(reader.directory, pid)
                .into_iter()
                .filter(|&tid| tid != pid)
            {
                place = self.place_of(tid, place + 1);
                let (cpu, delay) = self.read_thread(place, reader).unwrap_or((0, 0));
                sum = (sum.0.saturating_add(cpu), sum.1.saturating_add(delay));
            }
        }
        if self.threads.len() > 1 {
            let (scan, pid) = (reader.scan, self.pid);
            let (allowance, times) = (&mut self.allowance, reader.times);
            self.threads.retain_mut(|thread| {
                if thread.seen != 0 && thread.seen + 1 == scan {
                    // It ended since the scan before, and with it its last wait.
                    allowance.add(thread.waits_from_ns, times);
                }
                // One that has gone stays for one scan more: its account may be read only after this, and is to find
                // what was counted of it.
                let stays = thread.seen + 1 >= scan || thread.tid == pid;
                if !stays {
                    thread.close(reader.budget);
                }
                stays
            });
        }
        if skip {
            self.threads.iter_mut().for_each(|thread| thread.cpu_step_ns = 0);
        }
        Some(sum)
    }

    /// Where a thread stands, which is mostly behind the one before it.
    fn place_of(&mut self, tid: i32, guess: usize) -> usize {
        if self.threads.get(guess).is_some_and(|t| t.tid == tid) {
            return guess;
        }
        self.threads.iter().position(|t| t.tid == tid).unwrap_or_else(|| {
            self.threads.push(Thread::new(tid));
            self.threads.len() - 1
        })
    }

    fn read_thread(&mut self, place: usize, reader: &mut Reader<'_>) -> Option<(u64, u64)> {
        let thread = &mut self.threads[place];
        let tid = thread.tid;
        let path = RelativePath::of_thread(self.pid, tid, "stat");
        let text = thread
            .stat
            .read(reader.directory, &path, reader.budget, reader.buffer)?;
        let stat = parse::stat(text)?;
        let name = &text[stat.name.0..stat.name.1];
        thread.rename(name, false);
        thread.observe(stat.start_ticks, stat.state, reader);
        read_schedstat(
            thread,
            &RelativePath::of_thread(self.pid, tid, "schedstat"),
            reader,
            &mut self.allowance,
        )
    }

    /// Gives the descriptors back.
    pub fn close(&mut self, budget: &mut DescriptorBudget) {
        self.threads.iter_mut().for_each(|thread| thread.close(budget));
    }
}

fn read_schedstat(
    thread: &mut Thread,
    path: &RelativePath,
    reader: &mut Reader<'_>,
    allowance: &mut Allowance,
) -> Option<(u64, u64)> {
    let text = thread
        .schedstat
        .read(reader.directory, path, reader.budget, reader.buffer)?;
    let (cpu_ns, run_delay_ns, _) = parse::schedstat(text)?;
    Some(take_schedstat(thread, cpu_ns, run_delay_ns, reader, allowance))
}

/// Takes what the scheduler counts of a thread; what has come since the last reading.
fn take_schedstat(
    thread: &mut Thread,
    cpu_ns: u64,
    run_delay_ns: u64,
    reader: &mut Reader<'_>,
    allowance: &mut Allowance,
) -> (u64, u64) {
    let mut step = thread.advance(cpu_ns, run_delay_ns);
    if step != (0, 0) {
        let mut own = Allowance::default();
        own.add(thread.waits_from_ns, reader.times);
        *allowance = allowance.plus(own);
        for (gain, signal) in [(&mut step.0, "user.cpu_us"), (&mut step.1, "user.run_delay_us")] {
            if reader.history_counts || thread.ran != 0 {
                drop_impossible(gain, signal, own, reader.times, reader.ledger);
            }
        }
        if thread.ran != 0 {
            // What was used before the first reading may have been used long before it.
            thread.waits_from_ns = thread.waits_from_ns.max(reader.times.before_ns);
        }
        thread.ran = reader.scan;
    }
    thread.cpu_step_ns = step.0;
    step
}

fn drop_impossible(
    gain_ns: &mut u64,
    signal: &'static str,
    allowance: Allowance,
    times: &Times<'_>,
    ledger: &mut Ledger,
) {
    if !allowance.holds(*gain_ns, times) {
        ledger.task(signal, std::mem::take(gain_ns));
    }
}

/// A step without delays that its tasks cannot have had.
///
/// The wait for a page that came back too soon lies within that for its swap-in, and both are counted: twice the time is possible.
pub fn possible_delays(
    mut step: Totals,
    allowance: Allowance,
    times: &Times<'_>,
    ledger: &mut Ledger,
) -> Totals {
    let twice = allowance.plus(allowance);
    drop_impossible(
        &mut step.io_delay_ns,
        "user.io_delay_us",
        allowance,
        times,
        ledger,
    );
    drop_impossible(
        &mut step.page_delay_ns,
        "user.page_delay_us",
        twice,
        times,
        ledger,
    );
    step
}

fn thread_numbers(directory: RawFd, pid: i32) -> Vec<i32> {
    let mut numbers = Vec::new();
    if let Some(mut tasks) =
        files::KeptDirectory::open_below(directory, &RelativePath::of_process(pid, "task"))
    {
        // A process that ends meanwhile has no threads to read.
        let _ = tasks.numbers(&mut numbers);
    }
    numbers
}
