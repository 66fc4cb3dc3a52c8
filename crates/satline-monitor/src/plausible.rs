//! What a task or a pressure clock can have gained since it was read before, and a ledger of what it cannot.
//!
//! A kernel's accounts are wrong now and then: delay accounting that reads a start stamp of zero gives a task a wait as
//! long as the host is up. A task waits for one thing at a time, so whatever it gains lies between the end of its
//! last wait and now. When that was is not told, but that it ran is: a wait that ends after a reading began
//! after the start of the last interval in which the task ran. That is the bound, and it holds for waits that are
//! accounted only when they end, however long they are. Threads of a process that did not run since its last reading, and are
//! neither waiting nor runnable now, have ended no wait and add nothing to its bound.
//!
//! A gain beyond the bound is left out, not cut to the bound: what of it is true cannot be told, and the bound of a task that has
//! slept for an hour is an hour. It is counted in `sources/monitor.toml`.

use std::collections::BTreeMap;
use std::collections::HashMap;

use serde::Serialize;

/// When a scan began, when the one before it did, and the clock.
pub struct Times<'a> {
    pub before_ns: i64,
    pub at_ns: i64,
    /// How far the clock that starts of tasks are told in is ahead of the monotonic one: time asleep.
    pub boot_ahead_ns: i64,
    pub clock: &'a dyn Fn() -> i64,
}

impl Times<'_> {
    /// No later than the start of a task.
    pub fn start(&self, start_ticks: u64, ns_per_tick: u64) -> i64 {
        let ns = i64::try_from(start_ticks.saturating_mul(ns_per_tick)).unwrap_or(i64::MAX);
        ns.saturating_sub(self.boot_ahead_ns)
    }
}

/// How long some tasks can have waited together since they were read before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allowance {
    /// Until the scan began.
    ns: i64,
    tasks: i64,
}

/// Readings and accounts are made with different clocks, and processor time comes to the account by the tick.
const SLACK_NS: i64 = 50_000_000;

impl Allowance {
    /// One task more, whose waits began after `since_ns`.
    pub fn add(&mut self, since_ns: i64, times: &Times<'_>) {
        self.add_ns(times.at_ns.saturating_sub(since_ns));
    }

    /// One task more that can have waited so long.
    pub fn add_ns(&mut self, ns: i64) {
        self.ns = self.ns.saturating_add(ns.max(0));
        self.tasks += 1;
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Self {
        Self {
            ns: self.ns.saturating_add(other.ns),
            tasks: self.tasks + other.tasks,
        }
    }

    /// Whether a gain is possible. The clock is read only where the time at which the scan began does not answer it.
    pub fn holds(self, gain_ns: u64, times: &Times<'_>) -> bool {
        self.covers(gain_ns) || {
            let late = (times.clock)().saturating_sub(times.at_ns).max(0);
            let ns = self.ns.saturating_add(late.saturating_mul(self.tasks));
            Self { ns, ..self }.covers(gain_ns)
        }
    }

    /// Whether a gain was possible until the scan began, or in a whole life.
    pub fn covers(self, gain_ns: u64) -> bool {
        let gain = i64::try_from(gain_ns).unwrap_or(i64::MAX);
        gain <= self.ns.saturating_add(self.ns / 500).saturating_add(SLACK_NS)
    }
}

/// One signal whose readings were impossible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Implausible {
    pub signal: &'static str,
    pub count: u64,
    pub largest_us: i64,
    pub left_out_us: i64,
    pub reason: &'static str,
}

/// What was left out, by signal.
#[derive(Debug, Default)]
pub struct Ledger(BTreeMap<&'static str, Implausible>);

const TASK: &str = "a task cannot have gained more than the time since it last ran";
const CLOCK: &str = "a pressure clock cannot have gained more than the time between two readings";

impl Ledger {
    /// Notes a gain of tasks that was left out.
    pub fn task(&mut self, signal: &'static str, gain_ns: u64) {
        self.note(signal, i64::try_from(gain_ns / 1000).unwrap_or(i64::MAX), TASK);
    }

    fn note(&mut self, signal: &'static str, gain_us: i64, reason: &'static str) {
        let entry = self.0.entry(signal).or_insert(Implausible {
            signal,
            count: 0,
            largest_us: 0,
            left_out_us: 0,
            reason,
        });
        entry.count += 1;
        entry.largest_us = entry.largest_us.max(gain_us);
        entry.left_out_us = entry.left_out_us.saturating_add(gain_us);
    }

    /// All of them, by signal.
    pub fn entries(&self) -> impl Iterator<Item = &Implausible> {
        self.0.values()
    }
}

#[derive(Debug, Clone, Copy)]
struct Clocked {
    raw_us: i64,
    left_out_us: i64,
    at_ns: i64,
}

/// Pressure clocks, of the host (entity "") and of control groups.
#[derive(Debug, Default)]
pub struct Clocks(HashMap<(String, &'static str), Clocked>);

/// Entities that were not read for so long are forgotten.
const FORGET_NS: i64 = 600_000_000_000;

impl Clocks {
    /// The reading without what was impossible in it and in those before. A clock that falls has begun anew.
    ///
    /// A stall is accounted while it lasts, but by processor and not quite at one time: up to twice the interval is let pass.
    pub fn repair(
        &mut self,
        entity: &str,
        signal: &'static str,
        raw_us: i64,
        at_ns: i64,
        ledger: &mut Ledger,
    ) -> i64 {
        let seen = self.0.entry((entity.to_owned(), signal)).or_insert(Clocked {
            raw_us,
            left_out_us: 0,
            at_ns,
        });
        let gain = raw_us.saturating_sub(seen.raw_us);
        let elapsed_us = at_ns.saturating_sub(seen.at_ns) / 1000;
        if gain < 0 {
            seen.left_out_us = 0;
        } else if gain > elapsed_us.saturating_mul(2).saturating_add(SLACK_NS / 1000) {
            seen.left_out_us = seen.left_out_us.saturating_add(gain);
            ledger.note(signal, gain, CLOCK);
        }
        (seen.raw_us, seen.at_ns) = (raw_us, at_ns);
        raw_us.saturating_sub(seen.left_out_us)
    }

    /// Forgets what has not been read for long.
    pub fn forget(&mut self, now_ns: i64) {
        self.0
            .retain(|_, seen| now_ns.saturating_sub(seen.at_ns) < FORGET_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: i64 = 1_000_000_000;

    fn at(now_s: i64, clock: &dyn Fn() -> i64) -> Times<'_> {
        Times {
            before_ns: (now_s - 1) * SECOND,
            at_ns: now_s * SECOND,
            boot_ahead_ns: 0,
            clock,
        }
    }

    #[test]
    fn a_wait_may_be_as_long_as_the_task_has_not_run_and_no_longer() {
        let clock = || 700 * SECOND;
        let times = at(700, &clock);
        let mut one = Allowance::default();
        one.add(100 * SECOND, &times);
        assert!(one.holds(600 * SECOND as u64, &times), "hung for ten minutes");
        assert!(
            !one.holds(700 * SECOND as u64, &times),
            "as long as the host is up"
        );
        assert!(
            !Allowance::default().holds(SECOND as u64, &times),
            "none of its threads ran"
        );
        let two = one.plus(one);
        assert!(two.holds(1200 * SECOND as u64, &times) && !two.holds(1300 * SECOND as u64, &times));
    }

    #[test]
    fn a_scan_that_takes_long_allows_as_much_more() {
        let clock = || 703 * SECOND;
        let times = at(700, &clock);
        let mut one = Allowance::default();
        one.add(699 * SECOND, &times);
        assert!(one.holds(4 * SECOND as u64, &times) && !one.holds(5 * SECOND as u64, &times));
    }

    #[test]
    fn starts_are_told_in_time_that_runs_while_the_host_sleeps() {
        let clock = || 0;
        let times = Times {
            boot_ahead_ns: 5 * SECOND,
            ..at(100, &clock)
        };
        assert_eq!(times.start(300, 10_000_000), -2 * SECOND);
        assert!(times.start(u64::MAX, 10_000_000) > 0);
    }

    #[test]
    fn a_pressure_clock_that_leaps_goes_on_from_where_it_was() {
        let (mut clocks, mut ledger) = (Clocks::default(), Ledger::default());
        let mut read =
            |raw, second| clocks.repair("", "pressure_io_some_us", raw, second * SECOND, &mut ledger);
        assert_eq!(
            read(5_000_000, 10),
            5_000_000,
            "what was there before is not a gain"
        );
        assert_eq!(read(5_900_000, 11), 5_900_000);
        assert_eq!(read(705_900_000, 12), 5_900_000);
        assert_eq!(read(706_000_000, 13), 6_000_000);
        assert_eq!(read(10, 14), 10, "begun anew");
        let told: Vec<_> = ledger
            .entries()
            .map(|e| (e.signal, e.count, e.largest_us))
            .collect();
        assert_eq!(told, [("pressure_io_some_us", 1, 700_000_000)]);
        clocks.forget(700 * SECOND);
        assert!(clocks.0.is_empty());
    }

    proptest! {
        #[test]
        fn no_numbers_make_it_panic(since in any::<i64>(), gain in any::<u64>(), now in any::<i64>(), raw in any::<i64>()) {
            let clock = || now;
            let times = Times { before_ns: since, at_ns: now, boot_ahead_ns: since, clock: &clock };
            let mut allowance = Allowance::default();
            allowance.add(since, &times);
            allowance.add_ns(since);
            let _ = (allowance.holds(gain, &times), times.start(gain, gain));
            let (mut clocks, mut ledger) = (Clocks::default(), Ledger::default());
            for value in [since, raw, now] {
                let _ = clocks.repair("a", "b", value, raw, &mut ledger);
            }
        }
    }
}
