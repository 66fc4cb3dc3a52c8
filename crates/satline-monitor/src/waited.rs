//! Children that a parent has waited for, where the kernel does not tell of the ends of tasks.
//!
//! What a parent's `cutime`, `cstime`, `cminflt` and `cmajflt` rise by is what its children used in
//! their whole lives. What was counted of them while they could be seen is owed: it is taken off.

use crate::by_pid::ByPid;
use crate::counters::{Children, Totals};
use crate::process::Process;

/// Of each parent: what was counted of its ended children and has not come to it yet, and until which scan it may.
#[derive(Debug, Default)]
pub struct WaitedChildren {
    owed: ByPid<(Children, u64)>,
}

impl WaitedChildren {
    /// What of the rise in a parent's totals was not counted while its children could be seen.
    pub fn unaccounted(&mut self, parent: i32, rise: Children, ns_per_tick: u64) -> Totals {
        if rise == Children::default() {
            return Totals::default();
        }
        let (owed, until) = self.owed.remove(&parent).unwrap_or_default();
        let extra = rise.since(owed);
        let still_owed = owed.since(rise);
        if still_owed != Children::default() {
            self.owed.insert(parent, (still_owed, until));
        }
        let ns = |ticks: u64| ticks.saturating_mul(ns_per_tick);
        Totals {
            cpu_ns: ns(extra.user_ticks.saturating_add(extra.system_ticks)),
            system_ns: ns(extra.system_ticks),
            minor_faults: extra.minor_faults,
            major_faults: extra.major_faults,
            ..Totals::default()
        }
    }

    /// Notes what was counted of an ended process, itself and its own waited-for children. Its parent may have it from
    /// this scan, if the parent was read before, in the next.
    pub fn owe(&mut self, process: &Process, scan: u64) {
        let own = Children {
            user_ticks: process.ticks.0,
            system_ticks: process.ticks.1,
            minor_faults: process.counted.minor_faults,
            major_faults: process.counted.major_faults,
        };
        let (owed, until) = self.owed.entry(process.parent).or_default();
        *owed = owed.plus(process.children).plus(own);
        *until = scan + 1;
    }

    /// A child whose parent does not wait for it is never charged to anyone else.
    pub fn forget(&mut self, scan: u64) {
        self.owed.retain(|_, (_, until)| *until >= scan);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(user_ticks: u64, minor_faults: u64) -> Children {
        Children {
            user_ticks,
            minor_faults,
            ..Children::default()
        }
    }

    #[test]
    fn what_was_seen_of_a_child_is_not_counted_again() {
        let mut waited = WaitedChildren::default();
        let mut child = Process::new(20);
        (child.parent, child.ticks, child.counted.minor_faults) = (10, (3, 0), 40);
        waited.owe(&child, 5);
        let rest = waited.unaccounted(10, used(7, 50), 1000);
        assert_eq!((rest.cpu_ns, rest.minor_faults), (4000, 10));
        let other = waited.unaccounted(10, used(2, 5), 1000);
        assert_eq!((other.cpu_ns, other.minor_faults), (2000, 5), "owed once only");
    }

    #[test]
    fn what_a_parent_never_has_is_forgotten() {
        let mut waited = WaitedChildren::default();
        let mut child = Process::new(20);
        (child.parent, child.ticks) = (10, (3, 0));
        waited.owe(&child, 5);
        waited.forget(6);
        assert_eq!(
            waited.unaccounted(10, used(1, 0), 1000).cpu_ns,
            0,
            "still owed in the scan after"
        );
        waited.forget(7);
        assert_eq!(waited.unaccounted(10, used(4, 0), 1000).cpu_ns, 4000);
    }
}
