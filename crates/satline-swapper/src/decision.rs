//! The decisions: a pure function of the time, what was seen, and the policy. It looks at nothing and does nothing itself.
//!
//! States of a user: active → idle (logically swapped: everything is kept) → trimmed → partly swapped → swapped → eligible → resuming.
//! Reference: [T87], prepage prototype.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::policy::{Policy, Rest};
use crate::room::Past;
pub use crate::seen::{Action, Event, State, StorageSeen, UserId, UserSeen, Work};

/// What is remembered of a user.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UserState {
    pub state: State,
    /// Since when, µs.
    pub since_us: i64,
    pub last_active_us: i64,
    pub work: Option<Work>,
    pub interactive: bool,
    pub resident_bytes: u64,
    pub working_set_bytes: Option<u64>,
    /// Of it, outside storage when last looked. Of no account while he is in the queue.
    pub wanted_bytes: u64,
    pub trimmable_bytes: u64,
    /// Of these, what a stay is known not to have touched.
    pub cold_bytes: u64,
    /// Nothing is done for him until then, and why.
    pub left_alone: Option<(i64, &'static str)>,
    prepaged_pages: f64,
    prepage_errors: f64,
    judged_stays: u64,
    /// A queue-drop waits until the work under way has ended.
    pub(crate) record_due: bool,
    /// A prepaging waits likewise.
    pub(crate) read_due: bool,
    /// His processes are stopped.
    pub(crate) held: bool,
    stopping: bool,
}

/// Least that a page-out is begun for, bytes: less is not worth a scan of the page tables.
pub(crate) const LEAST_OUT_BYTES: u64 = 256 << 10;
/// How long a user is left alone after a page-out that brought next to nothing, µs.
const FRUITLESS_US: i64 = 60_000_000;
/// Weight of the past in the share of prepage errors.
const MEMORY: f64 = 0.7;

/// All users and whether storage is short.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decisions {
    pub users: BTreeMap<UserId, UserState>,
    /// Below `low` it becomes true, at `high` false.
    pub short: bool,
    pub swap_full: bool,
    /// Room is being made by writing out more than cold pages: begun below `low`, it goes on until there is enough.
    pub(crate) making_room: bool,
    pub(crate) past: Past,
}

impl Default for Decisions {
    fn default() -> Self {
        Self::new()
    }
}

impl Decisions {
    /// Nobody is known yet.
    pub fn new() -> Self {
        Decisions {
            users: BTreeMap::new(),
            short: false,
            swap_full: false,
            making_room: false,
            past: Past::default(),
        }
    }

    /// Decides. `seen` holds every user there is; others are forgotten. `events` are what ended since the last call.
    pub fn step(
        &mut self,
        now_us: i64,
        policy: &Policy,
        storage: Option<StorageSeen>,
        seen: &[UserSeen],
        events: &[Event],
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        for event in events {
            self.hear(now_us, policy, event);
        }
        let mut present = BTreeMap::new();
        for user in seen {
            let state = self
                .users
                .remove(&user.id)
                .unwrap_or_else(|| UserState::new(now_us));
            present.insert(user.id, state);
        }
        self.users = present;
        for user in seen {
            if let Some(state) = self.users.get_mut(&user.id) {
                state.look(now_us, policy, user, &mut actions);
            }
        }
        self.admit(now_us, policy, storage, &mut actions);
        for (&id, user) in &mut self.users {
            user.go_on(id, now_us, policy, &mut actions);
        }
        if let Some(storage) = storage {
            self.swap_out(now_us, policy, storage, &mut actions);
        }
        actions
    }

    fn hear(&mut self, now_us: i64, policy: &Policy, event: &Event) {
        let (Event::Recorded { id, .. } | Event::Out { id, .. } | Event::In { id } | Event::Failed { id }) =
            *event;
        let Some(user) = self.users.get_mut(&id) else {
            return;
        };
        user.work = None;
        user.stopping = false;
        match *event {
            Event::Recorded {
                working_set_bytes,
                wanted_bytes,
                trimmable_bytes,
                cold_bytes,
                resident_bytes,
                prepaged_pages,
                prepage_errors,
                ..
            } => {
                user.working_set_bytes = working_set_bytes;
                user.wanted_bytes = wanted_bytes;
                user.trimmable_bytes = trimmable_bytes;
                user.cold_bytes = cold_bytes;
                user.resident_bytes = resident_bytes;
                user.judge(now_us, policy, prepaged_pages, prepage_errors);
            }
            Event::Out {
                asked_bytes,
                freed_bytes,
                left_bytes,
                wanted_bytes,
                trimmed_only,
                ..
            } => {
                user.resident_bytes = left_bytes;
                user.wanted_bytes = wanted_bytes;
                user.trimmable_bytes = user.trimmable_bytes.saturating_sub(asked_bytes.max(freed_bytes));
                user.cold_bytes = user.cold_bytes.saturating_sub(asked_bytes);
                let is_back = matches!(user.state, State::Eligible | State::Resuming);
                if !is_back && freed_bytes * 8 < asked_bytes {
                    user.left_alone = Some((now_us + FRUITLESS_US, "writing him out freed next to nothing"));
                }
                if is_back {
                    // He came back in the middle of it: read what went.
                    user.read_due = user.state == State::Resuming;
                } else if user.state != State::Active {
                    let all = asked_bytes == 0 || left_bytes < LEAST_OUT_BYTES;
                    let state = match trimmed_only {
                        true if user.state == State::Idle => State::Trimmed,
                        true => user.state,
                        false if all => State::Swapped,
                        false => State::Partly,
                    };
                    if trimmed_only && asked_bytes == 0 {
                        if user.cold_bytes == 0 {
                            user.trimmable_bytes = 0;
                        }
                        user.cold_bytes = 0;
                    }
                    user.enter(state, now_us);
                }
            }
            Event::In { .. } => {
                if user.state == State::Resuming {
                    user.enter(State::Active, now_us);
                }
            }
            Event::Failed { .. } => {
                let until = now_us + seconds(policy.give_up.retry_seconds);
                user.left_alone = Some((until, "an action failed or took too long"));
                if user.state == State::Resuming {
                    user.enter(State::Active, now_us);
                }
            }
        }
    }
}

impl UserState {
    fn new(now_us: i64) -> Self {
        UserState {
            state: State::Active,
            since_us: now_us,
            last_active_us: now_us,
            work: None,
            interactive: false,
            resident_bytes: 0,
            working_set_bytes: None,
            wanted_bytes: 0,
            trimmable_bytes: 0,
            cold_bytes: 0,
            left_alone: None,
            prepaged_pages: 0.0,
            prepage_errors: 0.0,
            judged_stays: 0,
            record_due: false,
            read_due: false,
            held: false,
            stopping: false,
        }
    }

    pub(crate) fn enter(&mut self, state: State, now_us: i64) {
        if self.state != state {
            self.state = state;
            self.since_us = now_us;
        }
    }

    /// Whether nothing is to be done for him now.
    pub fn is_left_alone(&self, now_us: i64) -> bool {
        self.left_alone.is_some_and(|(until, _)| now_us < until)
    }

    /// Share of prepaged pages that were not touched, over the last stays; none before there were any.
    pub fn prepage_error_share(&self) -> Option<f64> {
        (self.prepaged_pages > 0.0).then(|| self.prepage_errors / self.prepaged_pages)
    }

    /// Whether he leaves the queue now unless he is seen to work.
    pub fn would_drop(&self, now_us: i64, policy: &Policy) -> bool {
        matches!(self.state, State::Active | State::Resuming)
            && now_us - self.last_active_us >= seconds(policy.queue_drop.idle_seconds)
    }

    /// What is seen of him moves him between states.
    fn look(&mut self, now_us: i64, policy: &Policy, seen: &UserSeen, actions: &mut Vec<Action>) {
        self.interactive = seen.interactive;
        // A page-out counts what it leaves; what was seen may be older.
        if matches!(self.state, State::Active | State::Resuming) {
            self.resident_bytes = seen.resident_bytes;
        } else if self.state == State::Idle && self.working_set_bytes.is_none() {
            // The kernel writes him out, and tells nobody.
            self.resident_bytes = self.resident_bytes.min(seen.resident_bytes);
        }
        if self.left_alone.is_some_and(|(until, _)| now_us >= until) {
            self.left_alone = None;
            self.judged_stays = 0;
        }
        if seen.active || seen.faulted || seen.announced {
            self.last_active_us = now_us;
            self.record_due = false;
            match self.state {
                State::Active | State::Eligible | State::Resuming => {}
                State::Idle | State::Trimmed
                    if !seen.faulted && !seen.announced && self.work != Some(Work::Out) =>
                {
                    self.enter(State::Active, now_us);
                }
                State::Idle | State::Trimmed | State::Partly | State::Swapped => {
                    self.enter(State::Eligible, now_us);
                    if self.work == Some(Work::Out) {
                        self.stop(seen.id, actions);
                    }
                }
            }
        } else if self.would_drop(now_us, policy) {
            self.enter(State::Idle, now_us);
            self.record_due = true;
            self.read_due = false;
            if self.work.is_some() {
                self.stop(seen.id, actions);
            }
        }
    }

    /// Begins what was to be done once the work under way has ended.
    fn go_on(&mut self, id: UserId, now_us: i64, policy: &Policy, actions: &mut Vec<Action>) {
        if self.record_due && self.work.is_none() {
            self.record(id, actions);
        }
        if self.read_due && self.work != Some(Work::Out) {
            self.begin_in(id, now_us, policy, actions);
        }
    }

    fn record(&mut self, id: UserId, actions: &mut Vec<Action>) {
        self.record_due = false;
        self.work = Some(Work::Recording);
        actions.push(Action::Record { id });
    }

    fn stop(&mut self, id: UserId, actions: &mut Vec<Action>) {
        if !self.stopping {
            self.stopping = true;
            actions.push(Action::Stop { id });
        }
    }

    /// Begins to read his sets, unless the policy or his record says not to, or something is still being done for him.
    fn begin_in(&mut self, id: UserId, now_us: i64, policy: &Policy, actions: &mut Vec<Action>) {
        self.read_due = false;
        let wanted = policy.prepage.sets > 0 || policy.prepage.rest != Rest::Demand;
        if self.work.is_some() || self.left_alone.is_some() || !wanted {
            self.enter(State::Active, now_us);
            return;
        }
        self.work = Some(Work::In);
        actions.push(Action::Prepage { id });
    }

    /// Judges his prepage errors at a queue-drop.
    fn judge(&mut self, now_us: i64, policy: &Policy, prepaged_pages: u64, prepage_errors: u64) {
        if prepaged_pages == 0 {
            return;
        }
        self.prepaged_pages = MEMORY * self.prepaged_pages + prepaged_pages as f64;
        self.prepage_errors = MEMORY * self.prepage_errors + prepage_errors as f64;
        self.judged_stays += 1;
        let too_many = self
            .prepage_error_share()
            .is_some_and(|share| share > policy.give_up.prepage_error_share);
        if too_many && self.judged_stays >= policy.give_up.stays {
            let until = now_us + seconds(policy.give_up.retry_seconds);
            self.left_alone = Some((until, "too many of his prepaged pages were not touched"));
        }
    }
}

/// In µs.
pub(crate) fn seconds(seconds: f64) -> i64 {
    (seconds * 1e6) as i64
}

#[cfg(test)]
#[path = "decision_tests.rs"]
mod tests;
