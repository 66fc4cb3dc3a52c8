//! Wakes the swapper when a user who is out of queue touches a page.

use std::os::fd::RawFd;

use crate::calls::{FaultCounter, Faults};
use crate::jobs::Outside;
use crate::policy::FaultEvent;
use crate::population::Found;
use crate::roots::Roots;
use crate::stat::{MAX_THREADS, Stat, threads};

/// Watches the tasks of one user for faults.
#[derive(Debug)]
pub struct Sentry {
    counters: Vec<(i32, i32, FaultCounter)>,
    /// Pages that are outside: only faults there count. None: every fault that was counted does.
    outside: Option<Vec<Outside>>,
    /// Where counters cannot be had: major faults as the process list tells them, by process.
    listed: Vec<(i32, u64)>,
    window_ns: i64,
    in_window: u64,
    /// The process that touched last.
    pub touched_by: Option<i32>,
    /// Pages touched since this was last emptied.
    pub touched: Vec<(i32, u64)>,
    page_bytes: u64,
}

const SECOND_NS: i64 = 1_000_000_000;

impl Sentry {
    /// For a user of whom nothing is known to be outside (`outside` none): major faults. Else, with `FaultEvent::All`, every
    /// fault on a page that is outside, as it begins.
    pub fn post(
        roots: &Roots,
        user: &Found,
        outside: Option<Vec<Outside>>,
        event: FaultEvent,
        page_bytes: u64,
    ) -> Self {
        let by_address = outside.is_some() && event == FaultEvent::All;
        let mut sentry = Sentry {
            counters: Vec::new(),
            outside: outside.filter(|_| by_address),
            listed: Vec::new(),
            window_ns: 0,
            in_window: 0,
            touched_by: None,
            touched: Vec::new(),
            page_bytes,
        };
        sentry.follow(roots, user);
        sentry
    }

    /// Counts the user's tasks as they are now.
    pub fn follow(&mut self, roots: &Roots, user: &Found) {
        let faults = if self.outside.is_some() {
            Faults::All
        } else {
            Faults::Major
        };
        self.counters
            .retain(|(pid, _, _)| user.processes.contains_key(pid));
        self.listed.retain(|(pid, _)| user.processes.contains_key(pid));
        for (&pid, stat) in &user.processes {
            // Listing threads is dear: it is done when there are other than those counted.
            let known = self.counters.iter().filter(|&&(of, ..)| of == pid).count();
            if known == MAX_THREADS.min(stat.threads as usize) {
                continue;
            }
            for tid in threads(roots, pid) {
                if self.counters.iter().any(|&(_, known, _)| known == tid) {
                    continue;
                }
                if let Ok(counter) = FaultCounter::open(tid, faults, self.page_bytes) {
                    self.counters.push((pid, tid, counter));
                }
            }
            let counted = self.counters.iter().any(|&(known, ..)| known == pid);
            let listed = self.listed.iter().any(|&(known, _)| known == pid);
            if !counted && !listed {
                self.listed.push((pid, stat.major_faults));
            }
        }
    }

    /// Whether every process has a counter, so that nothing need be looked at until one wakes us.
    pub fn wakes(&self) -> bool {
        self.listed.is_empty()
    }

    /// Descriptors to wait for.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> + '_ {
        self.counters.iter().map(|(_, _, counter)| counter.raw_fd())
    }

    /// The task of this descriptor has ended.
    pub fn withdraw(&mut self, descriptor: RawFd) {
        self.counters
            .retain(|(_, _, counter)| counter.raw_fd() != descriptor);
    }

    /// Takes the faults since the last call; whether there were `least` or more within a second.
    pub fn look(&mut self, now_ns: i64, least: u64) -> bool {
        let mut found = 0;
        for (pid, _, counter) in &self.counters {
            for address in counter.addresses() {
                let page = address / self.page_bytes;
                let counts = match &self.outside {
                    None => true,
                    Some(outside) => outside
                        .iter()
                        .any(|one| one.pid == *pid && one.swapped.holds(page)),
                };
                if counts {
                    found += 1;
                    self.touched_by = Some(*pid);
                    self.touched.push((*pid, page));
                }
            }
        }
        self.count(now_ns, found, least)
    }

    /// The same for processes without a counter, from the process list.
    pub fn look_at_list(&mut self, roots: &Roots, now_ns: i64, least: u64) -> bool {
        let mut found = 0;
        for (pid, last) in &mut self.listed {
            if let Some((_, stat)) = Stat::read(roots, *pid) {
                let added = stat.major_faults.saturating_sub(*last);
                *last = stat.major_faults;
                found += added;
                if added > 0 {
                    self.touched_by = Some(*pid);
                }
            }
        }
        self.count(now_ns, found, least)
    }

    fn count(&mut self, now_ns: i64, found: u64, least: u64) -> bool {
        if now_ns - self.window_ns > SECOND_NS {
            self.window_ns = now_ns;
            self.in_window = 0;
        }
        self.in_window += found;
        found > 0 && self.in_window >= least
    }
}
