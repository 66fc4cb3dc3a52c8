//! Rules that hold whatever is seen.

use super::*;
use proptest::prelude::*;

#[derive(Debug, Clone)]
struct Moment {
    pass_ms: i64,
    free: u64,
    users: Vec<(bool, bool, bool)>,
    end_work: bool,
    freed_share: u64,
}

fn moments() -> impl Strategy<Value = Vec<Moment>> {
    let user = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.1));
    let moment = (
        0i64..8000,
        0u64..400,
        prop::collection::vec(user, 4),
        any::<bool>(),
        0u64..=4,
    );
    let made = moment.prop_map(|(pass_ms, free, users, end_work, freed_share)| Moment {
        pass_ms,
        free,
        users,
        end_work,
        freed_share,
    });
    prop::collection::vec(made, 1..120)
}

/// 60 MB lie outside his working set of 20; so many twelfths of them were not touched.
fn part_cold(id: UserId, share: u64) -> Event {
    match recorded(id, Some(20), 0, 60) {
        Event::Recorded {
            working_set_bytes,
            trimmable_bytes,
            resident_bytes,
            ..
        } => Event::Recorded {
            id,
            working_set_bytes,
            wanted_bytes: share * 5 * MB,
            trimmable_bytes,
            cold_bytes: share * 5 * MB,
            resident_bytes,
            prepaged_pages: 0,
            prepage_errors: 0,
        },
        other => other,
    }
}

fn swapped(id: UserId, share: u64) -> Event {
    match out(id, 20 * share, 80 - 20 * share, false) {
        Event::Out {
            asked_bytes,
            freed_bytes,
            left_bytes,
            ..
        } => Event::Out {
            id,
            asked_bytes,
            freed_bytes,
            left_bytes,
            wanted_bytes: share * 5 * MB,
            trimmed_only: false,
        },
        other => other,
    }
}

proptest! {
    /// Whatever is seen: one action at a time for a user, one page-out at a time for all, none for a user in a stay, none
    /// while storage is ample or the swap devices are full. Who is held is released once, in time, and nothing is read for him before.
    #[test]
    fn whatever_is_seen_the_rules_hold(moments in moments(), hold_seconds in prop::sample::select(vec![0.0, 2.0, 20.0])) {
        let policy = policy(&format!("[admission]\nhold_seconds = {hold_seconds:?}\nstorage_share = 0.05\n"));
        let mut held: BTreeMap<UserId, i64> = BTreeMap::new();
        let mut decisions = Decisions::new();
        let mut under_way: BTreeMap<UserId, Action> = BTreeMap::new();
        let (mut now, mut short) = (0, false);
        for moment in moments {
            now += moment.pass_ms * 1000;
            let seen: Vec<UserSeen> = (1..).zip(&moment.users).map(|(id, &(active, faulted, _))| UserSeen {
                active: active && moment.end_work,
                faulted: faulted && !moment.end_work && moment.free % 3 == 0,
                ..quiet(id)
            }).collect();
            let mut events = Vec::new();
            if moment.end_work {
                for (id, action) in std::mem::take(&mut under_way) {
                    events.push(match action {
                        Action::Record { .. } => part_cold(id, moment.freed_share),
                        Action::Trim { .. } => out(id, 15 * moment.freed_share, 80 - 15 * moment.freed_share, true),
                        Action::SwapOut { .. } => swapped(id, moment.freed_share),
                        Action::Prepage { .. } => Event::In { id },
                        Action::Stop { .. } | Action::Hold { .. } | Action::Release { .. } => unreachable!(),
                    });
                }
            }
            let free = storage(moment.free);
            short = moment.free < 100 || short && moment.free < 200;
            for action in decisions.step(now, &policy, free, &seen, &events) {
                let id = match action {
                    Action::Stop { id } => {
                        prop_assert!(under_way.contains_key(&id), "nothing to stop");
                        continue;
                    }
                    Action::Hold { id } => {
                        prop_assert!(hold_seconds > 0.0);
                        prop_assert!(held.insert(id, now).is_none(), "{} is held twice", id);
                        continue;
                    }
                    Action::Release { id } => {
                        prop_assert!(held.remove(&id).is_some(), "{} is not held", id);
                        continue;
                    }
                    Action::Record { id } | Action::Trim { id, .. } | Action::SwapOut { id, .. } | Action::Prepage { id } => id,
                };
                prop_assert!(under_way.insert(id, action).is_none(), "two things at once for {}", id);
                let user = &decisions.users[&id];
                match action {
                    Action::Trim { .. } | Action::SwapOut { .. } => {
                        prop_assert!(short);
                        prop_assert!(now - user.last_active_us >= 10 * SECOND);
                        let outs = under_way.values().filter(|a| matches!(a, Action::Trim { .. } | Action::SwapOut { .. }));
                        prop_assert_eq!(outs.count(), 1);
                    }
                    Action::Prepage { id } => {
                        prop_assert_eq!(user.state, State::Resuming);
                        prop_assert!(!held.contains_key(&id));
                    }
                    Action::Record { .. } => prop_assert!(!matches!(user.state, State::Active | State::Resuming)),
                    Action::Stop { .. } | Action::Hold { .. } | Action::Release { .. } => {}
                }
            }
            for (id, since) in &held {
                prop_assert!(now - since < seconds(hold_seconds), "{} is held too long", id);
                prop_assert_eq!(decisions.users[id].state, State::Eligible);
            }
            for (id, action) in &under_way {
                prop_assert!(decisions.users[id].work.is_some(), "{:?} is forgotten", action);
            }
        }
    }

    /// The same things seen give the same actions.
    #[test]
    fn it_is_a_function_of_what_is_seen(moments in moments()) {
        let policy = policy("");
        let run = || {
            let mut decisions = Decisions::new();
            let (mut now, mut all) = (0, Vec::new());
            for moment in &moments {
                now += moment.pass_ms * 1000;
                let seen: Vec<UserSeen> = (1..).zip(&moment.users).map(|(id, &(active, faulted, announced))| UserSeen {
                    active, faulted, announced, ..quiet(id)
                }).collect();
                all.extend(decisions.step(now, &policy, storage(moment.free), &seen, &[]));
            }
            (all, decisions)
        };
        prop_assert_eq!(run(), run());
    }
}
