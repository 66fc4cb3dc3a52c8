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
        if !cold && self.is_left_to_kernel(rank, policy, &storage, lacking) {
            return;
        }
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

    /// Whether a user of whom nothing is known, idle for longer, has what is lacking: he is left to the kernel, which begins with
    /// what was touched longest ago. To write out others instead would have them pay for him. Not when next to nothing is free: his
    /// pages may be locked.
    fn is_left_to_kernel(
        &self,
        chosen: Rank,
        policy: &Policy,
        storage: &StorageSeen,
        lacking_bytes: u64,
    ) -> bool {
        policy.swap_out.unknown == Order::Kernel
            && !storage.pressed
            && storage.free_bytes >= storage.low_bytes / 4
            && self.users.values().any(|user| {
                user.state == State::Idle
                    && user.working_set_bytes.is_none()
                    && user.last_active_us < chosen.last_active_us
                    && user.resident_bytes >= lacking_bytes.max(LEAST_OUT_BYTES)
            })
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
#[path = "room_tests.rs"]
mod tests;
