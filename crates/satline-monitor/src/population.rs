//! Users as they are now: levels from the states of their tasks, totals from the accounting; busy tasks.

use crate::accounting::ProcessTable;
use crate::counters::Totals;
use crate::limited::Membership;
use crate::process::Process;
use crate::recorder::{TaskReading, UserReading};
use crate::users::{HOST, UserId, Users};

/// What one scan tells of users and tasks.
#[derive(Debug, Default)]
pub struct Population {
    pub users: Vec<UserReading>,
    pub tasks: Vec<TaskReading>,
    /// Processes of busy threads, those of the busiest first; the kernel's and the monitor's own left out.
    pub busiest: Vec<i32>,
    pub logged_on: i64,
    pub in_queue: i64,
}

/// What was seen elsewhere of the processes.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub members: &'a Membership,
    /// Processes that wait for a file lock; `None` where that is not told.
    pub lock_waiters: Option<&'a [i32]>,
}

/// What makes some columns null.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub run_delay: bool,
    pub delays: bool,
    pub waits: bool,
    pub throttling: bool,
    pub page_bytes: i64,
}

#[derive(Debug, Clone, Default)]
struct Levels {
    processes: i64,
    runnable: i64,
    page_wait: i64,
    io_wait: i64,
    lock_wait: i64,
    resident_pages: u64,
    /// Processes in each recorded control group.
    groups: Vec<i64>,
}

/// Makes readings of scans; keeps what it needs to know which rows are news.
#[derive(Debug, Default)]
pub struct Census {
    /// Totals in a user's last row, and whether that row had processes.
    last: Vec<Option<(Totals, bool)>>,
}

impl Census {
    /// Reads the table after a scan. `elapsed_ns` is the time since the scan before.
    ///
    /// A user without processes has one more row after the last in which there were some, and whenever its totals
    /// have changed: so a difference over any period is right, and users who left long ago cost nothing.
    pub fn take(
        &mut self,
        table: &mut ProcessTable,
        users: &Users,
        seen: Seen<'_>,
        known: Known,
        elapsed_ns: i64,
    ) -> Population {
        let mut population = Population::default();
        let mut levels = vec![Levels::default(); users.names().len()];
        let busy_ns = u64::try_from(elapsed_ns / 5).unwrap_or(u64::MAX).max(1);
        let is_first = table.scan_number() == 1;
        let mut busy = Vec::new();
        for process in table.processes() {
            let user = process.user.unwrap_or(HOST);
            count(process, seen.members, &mut levels[user]);
            if !is_first {
                let busiest = busy_threads(process, &users.names()[user], busy_ns, &mut population.tasks);
                busy.extend(
                    busiest
                        .filter(|_| user >= HOST)
                        .map(|step_ns| (step_ns, process.pid)),
                );
            }
        }
        for &pid in seen.lock_waiters.unwrap_or_default() {
            if let Some(user) = table.user_of(pid) {
                levels[user].lock_wait += 1;
            }
        }
        busy.sort_unstable_by_key(|&(step_ns, pid)| (std::cmp::Reverse(step_ns), pid));
        population.busiest = busy.into_iter().map(|(_, pid)| pid).collect();
        population.tasks.sort_by_key(|task| (task.pid, task.tid));
        self.last.resize(levels.len(), None);
        for (user, levels) in levels.iter().enumerate() {
            if Users::is_real(user) {
                population.logged_on += i64::from(levels.processes > 0);
                let in_queue = levels.runnable + levels.page_wait + levels.io_wait > 0;
                population.in_queue += i64::from(in_queue);
            }
            let totals = table.totals(user);
            let is_news = levels.processes > 0
                || self.last[user].is_some_and(|(last, had_processes)| had_processes || last != totals)
                || totals != Totals::default() && self.last[user].is_none();
            if is_news {
                self.last[user] = Some((totals, levels.processes > 0));
                population.users.push(reading(
                    user,
                    users,
                    levels,
                    seen,
                    totals,
                    known,
                    table.io_is_known(user),
                ));
            }
        }
        population
    }
}

fn count(process: &Process, members: &Membership, levels: &mut Levels) {
    let seen = process.seen;
    let is_dead = |state: u8| matches!(state, b'Z' | b'X' | b'x');
    if process
        .threads
        .iter()
        .all(|thread| thread.seen != seen || is_dead(thread.state))
    {
        return;
    }
    levels.processes += 1;
    if let Some(group) = members.group(process.pid) {
        levels.groups.resize(members.count(), 0);
        levels.groups[group] += 1;
    }
    levels.resident_pages = levels.resident_pages.saturating_add(process.resident_pages);
    for thread in process
        .threads
        .iter()
        .filter(|thread| thread.seen == process.seen)
    {
        match thread.state {
            b'R' => levels.runnable += 1,
            // Who writes, or waits for a disk that is full, reads no blocks either: only a major fault shows that it
            // waits for a page.
            b'D' if process.major_faults_rose => levels.page_wait += 1,
            b'D' => levels.io_wait += 1,
            _ => {}
        }
    }
}

/// Makes rows of the busy threads; returns the processor time of the busiest, if there is one.
fn busy_threads(
    process: &mut Process,
    user: &str,
    busy_ns: u64,
    tasks: &mut Vec<TaskReading>,
) -> Option<u64> {
    let (pid, seen) = (process.pid, process.seen);
    let mut busiest = None;
    for thread in process.threads.iter_mut().filter(|thread| thread.seen == seen) {
        let is_busy = thread.cpu_step_ns >= busy_ns;
        if is_busy {
            busiest = busiest.max(Some(thread.cpu_step_ns));
        }
        if is_busy || std::mem::take(&mut thread.had_row) {
            tasks.push(TaskReading {
                pid: i64::from(pid),
                tid: i64::from(thread.tid),
                start_ticks: signed(thread.start_ticks),
                user: user.to_owned(),
                name: thread.name.text().into_owned(),
                cpu_us: microseconds(thread.cpu_ns),
                run_delay_us: microseconds(thread.run_delay_ns),
                state: char::from(thread.state),
                waiting_requests: None,
            });
        }
        thread.had_row = is_busy;
    }
    busiest
}

fn reading(
    user: UserId,
    users: &Users,
    levels: &Levels,
    seen: Seen<'_>,
    totals: Totals,
    known: Known,
    io_is_known: bool,
) -> UserReading {
    // The first of those that have most of its processes, if that is most of all.
    let most = levels
        .groups
        .iter()
        .copied()
        .max()
        .filter(|&most| 2 * most > levels.processes);
    let group = most.and_then(|most| levels.groups.iter().position(|&n| n == most));
    UserReading {
        user: users.names()[user].clone(),
        cgroup: group
            .and_then(|group| seen.members.name(group))
            .map(str::to_owned),
        processes: levels.processes,
        tasks_runnable: levels.runnable,
        tasks_page_wait: levels.page_wait,
        tasks_io_wait: levels.io_wait,
        tasks_lock_wait: seen.lock_waiters.map(|_| levels.lock_wait),
        cpu_us: microseconds(totals.cpu_ns),
        cpu_system_us: microseconds(totals.system_ns),
        run_delay_us: known.run_delay.then(|| microseconds(totals.run_delay_ns)),
        io_delay_us: known.delays.then(|| microseconds(totals.io_delay_ns)),
        page_delay_us: known.delays.then(|| microseconds(totals.page_delay_ns)),
        major_faults: signed(totals.major_faults),
        minor_faults: signed(totals.minor_faults),
        read_bytes: io_is_known.then(|| signed(totals.read_bytes)),
        write_bytes: io_is_known.then(|| signed(totals.write_bytes)),
        resident_bytes: signed(levels.resident_pages).saturating_mul(known.page_bytes),
        exits: signed(totals.exits),
        waited: known.waits.then_some(totals.waited),
        throttled_us: (known.waits && known.throttling).then(|| microseconds(totals.waited.quota_ns)),
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn microseconds(ns: u64) -> i64 {
    signed(ns / 1000)
}
