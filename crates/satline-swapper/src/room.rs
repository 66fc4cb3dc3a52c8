//! Making room when storage is short: who is written out, and how much.
//!
//! Cold pages go up to `high`: they are hardly missed. A working set that is written out although nobody needs the room is only
//! read back. So beyond `low` room is made of the others only for users who are outside and for what has begun to grow.

use std::collections::VecDeque;

use serde::Serialize;

use crate::decision::{Action, Decisions, LEAST_OUT_BYTES, State, StorageSeen, UserId, UserState, Work};
use crate::policy::{Order, Policy};

/// For so long what was free is remembered, µs; where looks are rarer, for two of them.
const REMEMBERED_US: i64 = 2_000_000;

fn remembered_us(policy: &Policy) -> i64 {
    REMEMBERED_US.max(2000 * policy.activity.tick_ms as i64)
}

/// Free storage of the last seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Past {
    free_bytes: VecDeque<(i64, u64)>,
}

impl Past {
    /// Notes what is free now.
    fn note(&mut self, now_us: i64, free_bytes: u64, for_us: i64) {
        self.free_bytes.push_back((now_us, free_bytes));
        while self
            .free_bytes
            .front()
            .is_some_and(|(then_us, _)| now_us - then_us > for_us)
        {
            self.free_bytes.pop_front();
        }
    }

    /// By how much less is free now than at most in the last seconds.
    fn fall_bytes(&self, free_bytes: u64) -> u64 {
        let most = self.free_bytes.iter().map(|&(_, free)| free).max();
        most.unwrap_or(free_bytes).saturating_sub(free_bytes)
    }
}

/// What is done first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// What a stay is known not to have touched: it is hardly missed.
    Cold,
    /// What else is not known to be in the working set.
    Trim,
    /// A user who is partly out goes on before the next begins.
    Finish,
    Whole,
}

/// Who goes first: by stage, noninteractive users before interactive ones, then by the end of their last stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    stage: Stage,
    interactive: bool,
    last_active_us: i64,
}

impl Decisions {
    /// Begins to write somebody out where storage is short.
    pub(crate) fn swap_out(
        &mut self,
        now_us: i64,
        policy: &Policy,
        storage: StorageSeen,
        actions: &mut Vec<Action>,
    ) {
        self.past.note(now_us, storage.free_bytes, remembered_us(policy));
        self.short = storage.pressed
            || storage.free_bytes < storage.low_bytes
            || (self.short && storage.free_bytes < storage.high_bytes);
        self.swap_full = storage.swap_free_bytes <= storage.swap_reserve_bytes;
        let out = self.users.values().any(|user| user.work == Some(Work::Out));
        if !self.short || self.swap_full || out || policy.swap_out.order == Order::Kernel {
            return;
        }
        let room = storage.swap_free_bytes - storage.swap_reserve_bytes;
        let chosen = self
            .users
            .iter()
            .filter_map(|(&id, user)| Some((user.rank(now_us, policy)?, id)))
            .min();
        let Some((rank, id)) = chosen else {
            return;
        };
        let cold = rank.stage == Stage::Cold;
        let enough = if cold {
            storage.high_bytes
        } else {
            self.enough_bytes(id, now_us, policy, &storage)
        };
        if !cold {
            let begun = storage.pressed || storage.free_bytes < storage.low_bytes;
            self.making_room = begun || self.making_room && storage.free_bytes < enough;
            if !self.making_room {
                self.short = false;
                return;
            }
        }
        let lacking = enough.saturating_sub(storage.free_bytes);
        let bytes = lacking.max(LEAST_OUT_BYTES).min(room);
        if let Some(user) = self.users.get_mut(&id) {
            user.work = Some(Work::Out);
            actions.push(match rank.stage {
                Stage::Cold | Stage::Trim => Action::Trim {
                    id,
                    cold_only: cold,
                    bytes,
                },
                Stage::Finish | Stage::Whole => Action::SwapOut { id, bytes },
            });
        }
    }

    /// Free storage at which writing out ends of all but cold pages, while `chosen` is written out:
    /// least(high, most(low + (high − low) ÷ 4, what the others have outside + growth)).
    ///
    /// His own pages are not counted: to write him out so that he finds room when he comes back would be no gain to anybody.
    fn enough_bytes(&self, chosen: UserId, now_us: i64, policy: &Policy, storage: &StorageSeen) -> u64 {
        let StorageSeen {
            low_bytes,
            high_bytes,
            free_bytes,
            pressed,
            ..
        } = *storage;
        if pressed {
            return high_bytes;
        }
        let in_queue = |user: &UserState| matches!(user.state, State::Active | State::Resuming);
        let others = self
            .users
            .iter()
            .filter(|(id, user)| **id != chosen && !in_queue(user));
        let outside: u64 = others.map(|(_, user)| user.wanted_bytes).sum();
        // What those who have just come back are known to need is no growth.
        let recent = |user: &UserState| {
            user.state == State::Resuming || now_us - user.since_us <= remembered_us(policy)
        };
        let back = self.users.values().filter(|user| in_queue(user) && recent(user));
        let known: u64 = back.filter_map(|user| user.working_set_bytes).sum();
        let growth = self.past.fall_bytes(free_bytes).saturating_sub(known);
        let least = low_bytes + high_bytes.saturating_sub(low_bytes) / 4;
        outside.saturating_add(growth).max(least).min(high_bytes)
    }
}

impl UserState {
    /// His place among those who may be written out; none if he may not.
    fn rank(&self, now_us: i64, policy: &Policy) -> Option<Rank> {
        if self.work.is_some() || self.record_due || self.is_left_alone(now_us) {
            return None;
        }
        if self.working_set_bytes.is_none() && policy.swap_out.unknown == Order::Kernel {
            return None;
        }
        let trim = policy.swap_out.trim;
        let stage = match self.state {
            State::Idle | State::Trimmed if trim && self.cold_bytes >= LEAST_OUT_BYTES => Stage::Cold,
            State::Idle | State::Trimmed if trim && self.trimmable_bytes >= LEAST_OUT_BYTES => Stage::Trim,
            State::Partly if self.resident_bytes >= LEAST_OUT_BYTES => Stage::Finish,
            State::Idle | State::Trimmed if self.resident_bytes >= LEAST_OUT_BYTES => Stage::Whole,
            _ => return None,
        };
        Some(Rank {
            stage,
            interactive: self.interactive,
            last_active_us: self.last_active_us,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::{Event, UserSeen};

    const MB: u64 = 1 << 20;
    const SECOND: i64 = 1_000_000;

    fn policy() -> Policy {
        toml::from_str("[[watch]]\npid = 9\n[queue_drop]\nidle_seconds = 10.0\n").unwrap()
    }

    fn storage(free: u64) -> Option<StorageSeen> {
        Some(StorageSeen {
            total_bytes: 1000 * MB,
            free_bytes: free * MB,
            low_bytes: 100 * MB,
            high_bytes: 200 * MB,
            swap_free_bytes: 1000 * MB,
            ..StorageSeen::default()
        })
    }

    fn seen(id: UserId, faulted: bool) -> UserSeen {
        UserSeen {
            id,
            faulted,
            resident_bytes: 80 * MB,
            ..UserSeen::default()
        }
    }

    /// Idle users from 1 on, the longest idle first, who have so much of their working sets of 40 MB outside.
    fn idle(policy: &Policy, outside: &[u64]) -> Decisions {
        let mut decisions = Decisions::new();
        let ids = || 1..=outside.len() as UserId;
        for turn in ids() {
            let all: Vec<UserSeen> = ids()
                .map(|id| UserSeen {
                    active: id >= turn,
                    ..seen(id, false)
                })
                .collect();
            decisions.step(i64::from(turn) * SECOND, policy, storage(500), &all, &[]);
        }
        let all: Vec<UserSeen> = ids().map(|id| seen(id, false)).collect();
        decisions.step(30 * SECOND, policy, storage(500), &all, &[]);
        let events: Vec<Event> = ids()
            .zip(outside)
            .map(|(id, outside)| Event::Recorded {
                id,
                working_set_bytes: Some(40 * MB),
                wanted_bytes: outside * MB,
                trimmable_bytes: 0,
                cold_bytes: 0,
                resident_bytes: 80 * MB,
                prepaged_pages: 0,
                prepage_errors: 0,
            })
            .collect();
        assert_eq!(
            decisions.step(30 * SECOND, policy, storage(500), &all, &events),
            []
        );
        decisions
    }

    fn written_mb(decisions: &mut Decisions, policy: &Policy, second: i64, free: u64) -> Option<u64> {
        let all: Vec<UserSeen> = decisions.users.keys().map(|&id| seen(id, false)).collect();
        let actions = decisions.step(second * SECOND, policy, storage(free), &all, &[]);
        match actions[..] {
            [] => None,
            [Action::SwapOut { id: 1, bytes }] => Some(bytes / MB),
            ref other => panic!("{other:?}"),
        }
    }

    #[test]
    fn where_nobody_is_outside_and_nothing_grows_little_room_is_made() {
        let policy = policy();
        let mut decisions = idle(&policy, &[0, 0]);
        assert_eq!(written_mb(&mut decisions, &policy, 40, 110), None, "above low");
        assert_eq!(written_mb(&mut decisions, &policy, 50, 90), Some(125 - 90));
    }

    #[test]
    fn room_is_made_for_the_others_and_not_for_him_who_is_written_out() {
        let policy = policy();
        let mut own = idle(&policy, &[150, 0]);
        assert_eq!(written_mb(&mut own, &policy, 50, 90), Some(125 - 90));
        let mut others = idle(&policy, &[0, 150]);
        assert_eq!(written_mb(&mut others, &policy, 50, 90), Some(150 - 90));
        let mut many = idle(&policy, &[0, 150, 150]);
        assert_eq!(written_mb(&mut many, &policy, 50, 90), Some(200 - 90));
    }

    #[test]
    fn what_a_stay_did_not_touch_goes_first_and_up_to_high() {
        let policy = policy();
        let mut decisions = idle(&policy, &[0, 0]);
        let one = decisions.users.get_mut(&1).unwrap();
        one.trimmable_bytes = 70 * MB;
        let two = decisions.users.get_mut(&2).unwrap();
        (two.cold_bytes, two.trimmable_bytes) = (30 * MB, 60 * MB);
        let all = [seen(1, false), seen(2, false)];
        let mut step = |free, events: &[Event]| {
            let actions = decisions.step(50 * SECOND, &policy, storage(free), &all, events);
            (actions, decisions.users[&2].state)
        };
        let trim = |id, cold_only, mb: u64| Action::Trim {
            id,
            cold_only,
            bytes: mb * MB,
        };
        assert_eq!(step(90, &[]).0, [trim(2, true, 110)], "the cold, and no other");
        let gone = Event::Out {
            id: 2,
            asked_bytes: 30 * MB,
            freed_bytes: 30 * MB,
            left_bytes: 50 * MB,
            wanted_bytes: 0,
            trimmed_only: true,
        };
        assert_eq!(
            step(95, &[gone]),
            (vec![trim(1, false, 30)], State::Trimmed),
            "of what is not known only what is needed, of the longest idle"
        );
    }

    #[test]
    fn pages_that_the_kernel_refuses_do_not_keep_him_in_storage() {
        let policy = policy();
        let mut decisions = idle(&policy, &[0]);
        decisions.users.get_mut(&1).unwrap().trimmable_bytes = 70 * MB;
        let all = [seen(1, false)];
        let trim = Action::Trim {
            id: 1,
            cold_only: false,
            bytes: 35 * MB,
        };
        let first = decisions.step(50 * SECOND, &policy, storage(90), &all, &[]);
        assert_eq!(first, [trim]);
        let refused = Event::Out {
            id: 1,
            asked_bytes: 70 * MB,
            freed_bytes: 0,
            left_bytes: 80 * MB,
            wanted_bytes: 0,
            trimmed_only: true,
        };
        let then = decisions.step(51 * SECOND, &policy, storage(90), &all, &[refused]);
        assert_eq!(then, [], "left alone for a minute");
        assert_eq!(written_mb(&mut decisions, &policy, 112, 90), Some(35));
    }

    #[test]
    fn who_is_in_the_queue_needs_no_room_outside() {
        let policy = policy();
        let mut decisions = idle(&policy, &[0, 150]);
        let two = decisions.users.get_mut(&2).unwrap();
        (two.state, two.last_active_us) = (State::Active, 45 * SECOND);
        assert_eq!(written_mb(&mut decisions, &policy, 50, 90), Some(125 - 90));
    }

    #[test]
    fn room_is_made_for_what_grows() {
        let policy = policy();
        let mut fast = idle(&policy, &[0, 0]);
        assert_eq!(written_mb(&mut fast, &policy, 49, 260), None);
        assert_eq!(written_mb(&mut fast, &policy, 50, 90), Some(170 - 90));
        let mut slow = idle(&policy, &[0, 0]);
        assert_eq!(written_mb(&mut slow, &policy, 40, 260), None);
        assert_eq!(written_mb(&mut slow, &policy, 50, 90), Some(125 - 90));
    }

    #[test]
    fn under_pressure_all_of_it_is_made() {
        let policy = policy();
        let mut decisions = idle(&policy, &[0, 0]);
        let all = [seen(1, false), seen(2, false)];
        let pressed = storage(150).map(|seen| StorageSeen {
            pressed: true,
            ..seen
        });
        let actions = decisions.step(50 * SECOND, &policy, pressed, &all, &[]);
        assert_eq!(
            actions,
            [Action::SwapOut {
                id: 1,
                bytes: 50 * MB
            }]
        );
    }

    #[test]
    fn what_somebody_reads_back_is_no_growth() {
        let policy = policy();
        let mut decisions = idle(&policy, &[0, 0]);
        let back = [seen(1, false), seen(2, true)];
        decisions.step(49 * SECOND, &policy, storage(130), &back, &[]);
        assert_eq!(written_mb(&mut decisions, &policy, 50, 90), Some(125 - 90));
    }
}
