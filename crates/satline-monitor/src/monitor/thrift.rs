//! The monitor's own cost, and what it leaves out above its budget.

use crate::abilities::{KERNEL_LOCKS, SERVICES, TERMINALS, WAITS};
use crate::budget::{Costs, Detail, left_out};
use crate::clockwork::Clock;
use crate::missing::Missing;
use crate::recorder::Stamp;

use super::Monitor;

/// Samples come no more seldom than this, whatever they cost.
const LONGEST_NS: i64 = 60_000_000_000;

impl<C: Clock> Monitor<C> {
    /// Looks at what the monitor costs; leaves out a detail where that has been above the budget.
    pub(super) fn mind_budget(&mut self, at: Stamp, cpu_us: i64) {
        let Some(mut budget) = self.budget.take() else {
            return;
        };
        let mut shares = std::mem::take(&mut self.program_shares);
        shares.sample(at.monotonic_ns, || self.program_times());
        self.program_shares = shares;
        let costs = budget.sample(at.monotonic_ns, cpu_us, self.program_shares.found());
        if let Some(costs) = costs {
            self.reduce(at, &costs, budget.percent());
        }
        self.budget = Some(budget);
    }

    /// Time of the programs at tracepoints, ns, by what they are for. What iterators take is the monitor's own.
    fn program_times(&self) -> Vec<(Detail, u64)> {
        let contention = self.contention.as_ref().map_or(0, |one| one.run_time_ns());
        let waits = self.table.waits_run_time_ns().map(|ns| ns + contention);
        let lines = self.lines.as_ref().map(|lines| lines.run_time_ns());
        let requests = self.requests.as_ref().map(|requests| requests.run_time_ns());
        [
            (Detail::Waits, waits),
            (Detail::Terminals, lines),
            (Detail::Services, requests),
        ]
        .into_iter()
        .filter_map(|(detail, ns)| Some((detail, ns?)))
        .collect()
    }

    fn reduce(&mut self, at: Stamp, costs: &Costs, percent: f64) {
        let may_halve = self.schedule.interval_ns() <= LONGEST_NS / 2;
        let detail = left_out(costs, may_halve);
        let told = format!("{:.2} % of one processor, budget {percent} %", costs.total());
        let what = match detail {
            Some(Detail::Waits) => {
                self.table.drop_waits();
                (self.known.waits, self.known.throttling) = (false, false);
                self.contention = None;
                self.lacks(&[WAITS, KERNEL_LOCKS], &told);
                "--waits is left out".to_owned()
            }
            Some(Detail::Services) => {
                self.take_requests(at, true);
                self.requests = None;
                self.lacks(&[SERVICES], &told);
                "--services is left out".to_owned()
            }
            Some(Detail::Terminals) => {
                self.take_lines(at, true);
                self.lines = None;
                self.lacks(&[TERMINALS], &told);
                "--terminals is left out".to_owned()
            }
            Some(Detail::Samples) => {
                self.schedule.double();
                let interval_ns = self.schedule.interval_ns();
                self.options.interval = std::time::Duration::from_nanos(interval_ns.unsigned_abs());
                format!("a sample every {} ms from now on", interval_ns / 1_000_000)
            }
            None if self.over_budget_told => return,
            None => {
                self.over_budget_told = true;
                "nothing more can be left out".to_owned()
            }
        };
        if let Some(detail) = detail {
            self.program_shares.forget(detail);
        }
        let programs = if self.program_shares.is_refused() {
            "; without its programs in the kernel, whose time only CAP_SYS_ADMIN may read"
        } else {
            ""
        };
        let text = format!("{told}{programs}: {what}");
        self.recorder
            .event(at, "detail-reduced", Some(costs.total()), Some(&text));
    }

    fn lacks(&mut self, signals: &[&str], told: &str) {
        for signal in signals {
            let need = "a greater --budget, or 0 for none";
            let reason = format!("left out from some time on, since the monitor took {told}");
            self.missing.push(Missing::new(*signal, reason, need));
        }
    }
}
