//! What the monitor may cost, and which detail it leaves out when it costs more.
//!
//! Costs are shares of one processor: of the monitor's own processor time, and of what its programs in the kernel take. They are looked at
//! over windows of at least ten samples and ten seconds; after two windows in a row above the budget, whatever costs most of what
//! can be had for less is left out, or the interval doubled. Nothing is taken up again: a recording that changed to and fro would compare with
//! nothing.

use crate::ebpf::object::KernelTime;

/// What can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    Waits,
    Services,
    Terminals,
    /// Samples: every second is.
    Samples,
}

/// Costs in a window, percent of one processor.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Costs {
    /// The monitor's own.
    pub own: f64,
    /// Its programs', by the detail that they are for; those that are not known are left out.
    pub programs: Vec<(Detail, f64)>,
}

impl Costs {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.own + self.programs.iter().map(|&(_, percent)| percent).sum::<f64>()
    }
}

const WINDOW_NS: i64 = 10_000_000_000;
const WINDOW_SAMPLES: u32 = 10;
const WINDOWS: u32 = 2;

/// Watches the cost.
#[derive(Debug)]
pub struct Budget {
    percent: f64,
    /// Time and processor time at the window's begin, ns and µs; samples since.
    began: Option<(i64, i64)>,
    samples: u32,
    above: u32,
}

impl Budget {
    pub fn new(percent: f64) -> Self {
        Self {
            percent,
            began: None,
            samples: 0,
            above: 0,
        }
    }

    pub fn percent(&self) -> f64 {
        self.percent
    }

    /// Takes a sample; gives the costs when they have been above the budget for long enough. What had been looked at before is then forgotten.
    pub fn sample(&mut self, at_ns: i64, cpu_us: i64, programs: &[(Detail, f64)]) -> Option<Costs> {
        let Some((began_ns, began_us)) = self.began else {
            // Loading and the first sample are no measure of those that follow.
            self.began = Some((at_ns, cpu_us));
            return None;
        };
        self.samples += 1;
        let elapsed_ns = at_ns - began_ns;
        if elapsed_ns < WINDOW_NS || self.samples < WINDOW_SAMPLES {
            return None;
        }
        self.began = Some((at_ns, cpu_us));
        self.samples = 0;
        let costs = Costs {
            own: (cpu_us - began_us) as f64 * 1e3 / elapsed_ns as f64 * 100.0,
            programs: programs.to_vec(),
        };
        self.above = if costs.total() > self.percent {
            self.above + 1
        } else {
            0
        };
        if self.above < WINDOWS {
            return None;
        }
        // The sample in which something is left out is no measure either.
        (self.above, self.began) = (0, None);
        Some(costs)
    }
}

/// What to leave out: that which costs most. `None`: there is nothing.
pub fn left_out(costs: &Costs, samples_may_halve: bool) -> Option<Detail> {
    let own = samples_may_halve.then_some((Detail::Samples, costs.own));
    let all = costs.programs.iter().copied().chain(own);
    all.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(detail, _)| detail)
}

/// Since when the kernel keeps account, ns, and what it had counted by then, ns by detail.
type Account = (KernelTime, i64, Vec<(Detail, u64)>);

/// Measures now and then, for an interval between two samples, what programs in the kernel take. The kernel's account has a price for every
/// run of a program, so that it is not kept all the time.
#[derive(Debug, Default)]
pub struct ProgramTimes {
    account: Option<Account>,
    due_ns: i64,
    refused: bool,
    found: Vec<(Detail, f64)>,
}

const EVERY_NS: i64 = 60_000_000_000;

impl ProgramTimes {
    /// Takes the programs' times so far, ns by detail, which the kernel counts while an account is kept.
    pub fn sample(&mut self, at_ns: i64, times: impl FnOnce() -> Vec<(Detail, u64)>) {
        if let Some((_, began_ns, before)) = self.account.take() {
            let elapsed_ns = (at_ns - began_ns).max(1) as f64;
            let share = |(detail, ns): (Detail, u64)| {
                let earlier = before.iter().find(|(known, _)| *known == detail)?.1;
                Some((detail, ns.saturating_sub(earlier) as f64 / elapsed_ns * 100.0))
            };
            self.found = times().into_iter().filter_map(share).collect();
        } else if at_ns >= self.due_ns && !self.refused {
            self.due_ns = at_ns + EVERY_NS;
            match KernelTime::keep() {
                Ok(account) => self.account = Some((account, at_ns, times())),
                Err(_) => self.refused = true,
            }
        }
    }

    /// Percent of one processor by detail, as last measured.
    pub fn found(&self) -> &[(Detail, f64)] {
        &self.found
    }

    /// Of all of them; `None`: not measured.
    pub fn total(&self) -> Option<f64> {
        let shares = self.found.iter().map(|&(_, percent)| percent);
        (!self.found.is_empty()).then(|| (shares.sum::<f64>() * 1e4).round() / 1e4)
    }

    pub fn forget(&mut self, detail: Detail) {
        self.found.retain(|(known, _)| *known != detail);
    }

    /// The kernel keeps no account for this process: it needs CAP_SYS_ADMIN.
    pub fn is_refused(&self) -> bool {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// Seconds after which the budget of 2 % is found exceeded, of samples each second that take so long.
    fn exceeded(cost_us: impl Fn(i64) -> i64, programs: &[(Detail, f64)]) -> Vec<i64> {
        let mut budget = Budget::new(2.0);
        let mut cpu_us = 400_000;
        (0..60)
            .filter(|&second| {
                cpu_us += cost_us(second);
                budget.sample(second * SECOND, cpu_us, programs).is_some()
            })
            .collect()
    }

    #[test]
    fn what_costs_less_is_left_alone() {
        assert!(exceeded(|_| 19_000, &[]).is_empty());
        // A burst.
        let burst = |second| if second == 5 { 900_000 } else { 1000 };
        assert!(exceeded(burst, &[]).is_empty());
    }

    #[test]
    fn what_costs_more_for_two_windows_is_told_and_looked_at_anew() {
        assert_eq!(exceeded(|_| 21_000, &[]), [20, 41]);
        assert!(exceeded(|_| 15_000, &[(Detail::Waits, 0.4)]).is_empty());
        assert_eq!(exceeded(|_| 15_000, &[(Detail::Waits, 0.6)]), [20, 41]);
    }

    #[test]
    fn the_dearest_goes_first() {
        let costs = |own, waits, terminals| Costs {
            own,
            programs: vec![(Detail::Waits, waits), (Detail::Terminals, terminals)],
        };
        assert_eq!(left_out(&costs(1.0, 1.5, 0.1), true), Some(Detail::Waits));
        assert_eq!(left_out(&costs(1.0, 0.5, 0.1), true), Some(Detail::Samples));
        assert_eq!(left_out(&costs(1.0, 0.1, 0.5), false), Some(Detail::Terminals));
        assert_eq!(left_out(&Costs::default(), false), None);
        assert_eq!(costs(1.0, 0.25, 0.5).total(), 1.75);
    }
}
