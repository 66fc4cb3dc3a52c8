//! Admission: whoever comes back is held back while the working sets of those in the queue leave no room for his.
//!
//! Without it more users may work at one time than fit. Then each waits for pages that the others take from him, no stay
//! ends, and nobody is idle who could be written out: the host does not come back by itself. The classic rule: a user is
//! admitted while his projected working set and those of the users in the queue fit into storage.

use crate::decision::{Action, Decisions, State, StorageSeen, UserId, UserState, seconds};
use crate::policy::Policy;

impl Decisions {
    /// Those who came back are let in, in the order in which they came; who does not fit is held, and all behind him. The first is let
    /// in where nobody is in the queue, and everybody after `hold_seconds`.
    pub(super) fn admit(
        &mut self,
        now_us: i64,
        policy: &Policy,
        storage: Option<StorageSeen>,
        actions: &mut Vec<Action>,
    ) {
        let mut waiting: Vec<(i64, UserId)> = self
            .users
            .iter()
            .filter(|(_, user)| user.state == State::Eligible)
            .map(|(&id, user)| (user.since_us, id))
            .collect();
        if waiting.is_empty() {
            return;
        }
        waiting.sort_unstable();
        let in_queue: Vec<u64> = self
            .users
            .values()
            .filter_map(UserState::in_queue_bytes)
            .collect();
        let (mut filled, mut anybody) = (in_queue.iter().sum::<u64>(), !in_queue.is_empty());
        // Where storage cannot be told nobody can be said not to fit.
        let most = storage.map(|storage| policy.admission.storage_share * storage.total_bytes as f64);
        let mut blocked = false;
        for (since_us, id) in waiting {
            let Some(user) = self.users.get_mut(&id) else {
                continue;
            };
            let needed = user.working_set_bytes.unwrap_or(0);
            let fits = !anybody || most.is_none_or(|most| (filled + needed) as f64 <= most);
            let late = now_us - since_us >= seconds(policy.admission.hold_seconds);
            if late || user.is_left_alone(now_us) || fits && !blocked {
                user.let_in(id, now_us, actions);
                filled += needed;
                anybody = true;
            } else {
                blocked = true;
                user.hold(id, actions);
            }
        }
    }
}

impl UserState {
    /// What a user in the queue needs of storage: his working set, or what he has where none is known. None: he is not in the queue.
    fn in_queue_bytes(&self) -> Option<u64> {
        matches!(self.state, State::Active | State::Resuming)
            .then(|| self.working_set_bytes.unwrap_or(self.resident_bytes))
    }

    /// Admitted: his processes go on, and his sets are read.
    fn let_in(&mut self, id: UserId, now_us: i64, actions: &mut Vec<Action>) {
        if std::mem::take(&mut self.held) {
            actions.push(Action::Release { id });
        }
        self.last_active_us = now_us;
        self.enter(State::Resuming, now_us);
        self.read_due = true;
    }

    /// Not admitted.
    fn hold(&mut self, id: UserId, actions: &mut Vec<Action>) {
        if !std::mem::replace(&mut self.held, true) {
            actions.push(Action::Hold { id });
        }
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
