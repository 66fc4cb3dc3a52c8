//! Free storage: each doubleword is somewhere, users keep what is busy, and the time of all requests is that of paths.

use super::{Found, Simulation};
use crate::model::processor::Doing;

impl Simulation {
    pub(super) fn audit_free_storage(&self, found: &mut Found) {
        let Some(requests) = &self.requests else {
            return;
        };
        if let Err(why) = requests.storage.check() {
            found.0.push(format!("free storage: {why}"));
        }
        let counts = requests.storage.counts();
        found.same(
            "busy doublewords of free storage = kept by users",
            counts.busy.into(),
            requests.kept().into(),
        );
        if requests.most_kept() > requests.most_blocks {
            found
                .0
                .push("a user keeps more blocks than there are requests for him".into());
        }
        let suspended = self.locks.iter().flat_map(|locks| &locks.all);
        let suspended = suspended.flat_map(|lock| lock.suspended.iter().map(|(work, _)| work));
        let waits: u64 = self
            .posted
            .iter()
            .chain(suspended)
            .map(|work| work.storage.ns())
            .sum();
        let in_path = |doing: &Doing| matches!(doing, Doing::Path { .. });
        let runs = self.processors.iter().filter(|at| in_path(&at.doing));
        let runs: u64 = runs.map(|at| at.storage.ns()).sum();
        found.same(
            "time of requests of free storage = in paths that are done, under way, or to come",
            counts.time_ns.into(),
            u128::from(requests.done_ns) + u128::from(runs) + u128::from(waits),
        );
    }
}
