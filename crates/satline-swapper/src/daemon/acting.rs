//! What follows from a decision, and what comes of it.

use std::time::Duration;

use super::{Daemon, RESUME_TICK_MS};
use crate::decision::{Action, Event, State, UserId, UserSeen};
use crate::jobs::{Part, Surroundings, Written};
use crate::policy::{FaultEvent, Rest};
use crate::sentry::Sentry;
use crate::user::User;
use crate::workers::{Ended, Outcome, Task};

impl Daemon {
    /// Notes what a job came to, and tells the decisions.
    pub(super) fn settle(&mut self, ended: Ended) -> Option<Event> {
        let page_bytes = self.surroundings.page_bytes;
        let id = ended.user;
        let user = self.users.get_mut(&id)?;
        Some(match ended.outcome {
            Outcome::Recorded(recorded) => {
                user.totals.stays += 1;
                user.totals.prepage_errors += recorded.drop.prepage_errors as i64;
                user.working_set_runs = recorded.working_set_runs;
                user.outside = recorded.outside;
                Event::Recorded {
                    id,
                    working_set_bytes: recorded.working_set_pages.map(|pages| pages * page_bytes),
                    wanted_bytes: recorded.wanted_pages * page_bytes,
                    trimmable_bytes: recorded.trimmable_pages * page_bytes,
                    cold_bytes: recorded.cold_pages * page_bytes,
                    resident_bytes: recorded.resident_pages * page_bytes,
                    prepaged_pages: recorded.drop.prepaged_pages,
                    prepage_errors: recorded.drop.prepage_errors,
                }
            }
            Outcome::Written {
                written,
                trimmed_only,
            } => {
                let Written {
                    asked_pages,
                    freed_pages,
                    left_pages,
                    wanted_pages,
                    sets,
                    outside,
                } = written;
                user.totals.swapped_out_pages += freed_pages as i64;
                user.totals.swap_sets_out += sets as i64;
                user.outside = outside;
                self.storage.wrote(freed_pages * page_bytes);
                let event = if trimmed_only { "trimmed" } else { "swapped-out" };
                self.face.event(event, Some(freed_pages as f64), &user.found.name);
                Event::Out {
                    id,
                    asked_bytes: asked_pages * page_bytes,
                    freed_bytes: freed_pages * page_bytes,
                    left_bytes: left_pages * page_bytes,
                    wanted_bytes: wanted_pages * page_bytes,
                    trimmed_only,
                }
            }
            Outcome::Read(read) => {
                user.totals.prepaged_pages += read.pages as i64;
                user.totals.prepaged_at_once_pages += read.pages_at_once as i64;
                user.totals.swap_sets_in += read.sets as i64;
                self.face
                    .event("prepaged", Some(read.pages as f64), &user.found.name);
                Event::In { id }
            }
        })
    }

    /// Does what was decided.
    pub(super) fn act(&mut self, action: Action, now_ns: i64) {
        let (id, task) = match action {
            Action::Stop { id } => {
                self.workers.stop(id);
                return;
            }
            Action::Hold { id } => {
                let policy = &self.surroundings.policy;
                let longest = Duration::from_secs_f64(policy.admission.hold_seconds);
                if let Some(user) = self.users.get(&id).filter(|_| !self.surroundings.dry_run) {
                    self.holds
                        .hold(&self.surroundings.roots, id, &user.found, longest);
                }
                return;
            }
            Action::Release { id } => {
                self.holds.release(id);
                return;
            }
            Action::Record { id } => (id, Task::Record),
            Action::Trim { id, cold_only, bytes } => {
                let last = if cold_only { Part::Cold } else { Part::Unknown };
                (id, Task::Out { last, bytes })
            }
            Action::SwapOut { id, bytes } => (
                id,
                Task::Out {
                    last: Part::Working,
                    bytes,
                },
            ),
            Action::Prepage { id } => {
                let sentry = self.users.get(&id).and_then(|user| user.sentry.as_ref());
                (
                    id,
                    Task::In {
                        first_pid: sentry.and_then(|sentry| sentry.touched_by),
                        free_bytes: self.seen_storage.map_or(0, |storage| storage.free_bytes),
                    },
                )
            }
        };
        let Some(user) = self.users.get(&id) else {
            return;
        };
        if task == Task::Record {
            user.keep_books(&self.surroundings.roots);
        }
        if !self.workers.begin(id, &user.books, task, now_ns) {
            let policy = &self.surroundings.policy;
            let failed = [Event::Failed { id }];
            // What it decides about the others is decided again at the next look.
            let _ = self
                .decisions
                .step(now_ns / 1000, policy, None, &self.nobody_new(), &failed);
        }
    }

    /// All users as if nothing had been seen of them.
    fn nobody_new(&self) -> Vec<UserSeen> {
        let seen = |user: &User| UserSeen {
            id: user.id,
            interactive: user.found.interactive,
            resident_bytes: user.resident_bytes(self.surroundings.page_bytes),
            ..UserSeen::default()
        };
        self.users.values().map(seen).collect()
    }

    /// Posts and withdraws sentries.
    pub(super) fn entered(&mut self, id: UserId, before: Option<State>, state: State, now_ns: i64) {
        let Surroundings {
            roots,
            policy,
            page_bytes,
            ..
        } = &*self.surroundings;
        let Some(user) = self.users.get_mut(&id) else {
            return;
        };
        match state {
            State::Active => {
                user.sentry = None;
                if matches!(before, Some(State::Partly | State::Swapped)) {
                    user.come_back(roots, now_ns);
                    self.next_tick_ns = self.next_tick_ns.min(now_ns + RESUME_TICK_MS * 1_000_000);
                }
            }
            State::Idle | State::Trimmed => {
                user.resume = None;
                user.sentry = Some(Sentry::post(
                    roots,
                    &user.found,
                    None,
                    FaultEvent::Major,
                    *page_bytes,
                ));
            }
            State::Partly | State::Swapped => {
                let outside = user.outside.clone();
                let event = policy.activity.fault_event;
                user.sentry = Some(Sentry::post(
                    roots,
                    &user.found,
                    Some(outside),
                    event,
                    *page_bytes,
                ));
            }
            State::Eligible | State::Resuming => {
                // Only where touched sets are read must his faults go on waking us.
                if policy.prepage.rest != Rest::Touched {
                    user.sentry = None;
                }
                if before != Some(State::Eligible) {
                    user.come_back(roots, now_ns);
                }
                self.next_tick_ns = self.next_tick_ns.min(now_ns + RESUME_TICK_MS * 1_000_000);
            }
        }
        if let Some(before) = before {
            self.face.transition(&user.found.name, before, state);
        }
    }
}
