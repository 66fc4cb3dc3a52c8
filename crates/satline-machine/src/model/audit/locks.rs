//! Locks: who holds one is in a path that says so, who spins is counted by his processor, and nobody is forgotten.

use super::{Found, Simulation};
use crate::model::accounts::ProcessorTime;
use crate::model::processor::Doing;
use crate::readings::LockReading;

impl Simulation {
    pub(super) fn audit_locks(&self, found: &mut Found) {
        let Some(locks) = &self.locks else {
            return;
        };
        let mut read: Vec<LockReading> = Vec::new();
        self.read_locks(&mut read);
        let (count, now) = (self.processors.len(), u128::from(self.calendar.now().ns()));
        for processor in 0..count {
            let of_locks = read.iter().skip(processor).step_by(count);
            found.same(
                format_args!("spin time of processor {processor} = before locks"),
                self.read_processor(processor).spin_ns.into(),
                of_locks.map(|lock| u128::from(lock.spin_ns)).sum(),
            );
            let at = &self.processors[processor];
            let spins = locks
                .all
                .iter()
                .filter(|lock| lock.spinners.contains(&processor))
                .count();
            let holds = locks
                .all
                .iter()
                .filter(|lock| lock.holder.is_some_and(|(holder, _)| holder == processor));
            let in_path = matches!(at.doing, Doing::Path { .. });
            let right = holds.count() == usize::from(at.holding.is_some())
                && spins == usize::from(at.account.now_as == ProcessorTime::Spin)
                && (in_path || at.holding.is_none() && spins == 0);
            if !right {
                found.0.push(format!(
                    "processor {processor} and the locks say different things of it"
                ));
            }
        }
        for (number, lock) in locks.all.iter().enumerate() {
            let own = &read[number * count..(number + 1) * count];
            let held: u128 = own.iter().map(|on| u128::from(on.hold_ns)).sum();
            if held > now {
                found
                    .0
                    .push(format!("lock {number} was held for longer than time went by"));
            }
            if lock.holder.is_none() {
                found.same(
                    format_args!("processors that spin before free lock {number}"),
                    lock.spinners.len() as u128,
                    0,
                );
                // When it became free the first was posted, and takes it or goes back: then it is held.
                let asks = self.posted.iter().any(|work| locks.asks(work, number));
                if !lock.suspended.is_empty() && !asks {
                    found.0.push(format!(
                        "work waits for free lock {number}, and none of it is to come"
                    ));
                }
            }
        }
    }
}
