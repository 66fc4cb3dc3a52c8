use super::*;
use crate::decision::{Event, UserSeen};
use crate::decision_examples::{self, MB, SECOND, recorded};

const HOLD: &str = "hold_seconds = 3.0\nstorage_share = 0.7";

fn policy(admission: &str) -> Policy {
    decision_examples::policy(&format!("[admission]\n{admission}\n"))
}

/// Ample, so that nobody is written out meanwhile.
fn storage() -> Option<StorageSeen> {
    Some(StorageSeen {
        total_bytes: 100 * MB,
        free_bytes: 100 * MB,
        ..StorageSeen::default()
    })
}

fn seen(id: UserId, faulted: bool) -> UserSeen {
    UserSeen {
        id,
        faulted,
        ..UserSeen::default()
    }
}

/// Users from 1 on who have left the queue, with these working sets, MB.
fn dropped(policy: &Policy, sets: &[Option<u64>]) -> Decisions {
    let mut decisions = Decisions::new();
    let all: Vec<UserSeen> = (1..).zip(sets).map(|(id, _)| seen(id, false)).collect();
    decisions.step(0, policy, storage(), &all, &[]);
    decisions.step(10 * SECOND, policy, storage(), &all, &[]);
    let events: Vec<Event> = (1..)
        .zip(sets)
        .map(|(id, set)| recorded(id, *set, 0, 0))
        .collect();
    decisions.step(10 * SECOND, policy, storage(), &all, &events);
    decisions
}

/// A step in which these users of `n` touch pages that are out.
fn touch(
    decisions: &mut Decisions,
    policy: &Policy,
    second: i64,
    n: u32,
    who: &[UserId],
    events: &[Event],
) -> Vec<Action> {
    let all: Vec<UserSeen> = (1..=n).map(|id| seen(id, who.contains(&id))).collect();
    decisions.step(second * SECOND, policy, storage(), &all, events)
}

#[test]
fn who_does_not_fit_is_held_and_all_behind_him_until_another_leaves_the_queue() {
    let policy = policy("hold_seconds = 30.0\nstorage_share = 0.7");
    let mut decisions = dropped(&policy, &[Some(40), Some(40), Some(10)]);
    let actions = touch(&mut decisions, &policy, 20, 3, &[1], &[]);
    assert_eq!(
        actions,
        [Action::Prepage { id: 1 }],
        "nobody else is in the queue"
    );
    let actions = touch(&mut decisions, &policy, 21, 3, &[2], &[]);
    assert_eq!(actions, [Action::Hold { id: 2 }], "40 + 40 MB of 70");
    let actions = touch(&mut decisions, &policy, 22, 3, &[3], &[]);
    assert_eq!(actions, [Action::Hold { id: 3 }], "he would fit, and came later");
    let ended = [Event::In { id: 1 }];
    assert_eq!(
        touch(&mut decisions, &policy, 23, 3, &[2], &ended),
        [],
        "told once"
    );
    let actions = touch(&mut decisions, &policy, 31, 3, &[], &[]);
    let expected = [
        Action::Release { id: 2 },
        Action::Release { id: 3 },
        Action::Record { id: 1 },
        Action::Prepage { id: 2 },
        Action::Prepage { id: 3 },
    ];
    assert_eq!(actions, expected, "user 1 left the queue");
    assert_eq!(decisions.users[&2].state, State::Resuming);
    assert_eq!(
        decisions.users[&2].last_active_us,
        31 * SECOND,
        "being held is no idleness"
    );
}

#[test]
fn nobody_is_held_longer_than_the_policy_says() {
    let policy = policy(HOLD);
    let mut decisions = dropped(&policy, &[Some(60), Some(60)]);
    touch(&mut decisions, &policy, 20, 2, &[1], &[]);
    let held = touch(&mut decisions, &policy, 21, 2, &[1, 2], &[]);
    assert_eq!(held, [Action::Hold { id: 2 }]);
    assert_eq!(touch(&mut decisions, &policy, 23, 2, &[1], &[]), []);
    let released = touch(&mut decisions, &policy, 24, 2, &[1], &[]);
    assert_eq!(released, [Action::Release { id: 2 }, Action::Prepage { id: 2 }]);
}

#[test]
fn by_default_nobody_is_held() {
    let policy = policy("");
    let mut decisions = dropped(&policy, &[Some(60), Some(60)]);
    let actions = touch(&mut decisions, &policy, 20, 2, &[1, 2], &[]);
    assert_eq!(actions, [Action::Prepage { id: 1 }, Action::Prepage { id: 2 }]);
}

#[test]
fn of_whom_no_working_set_is_known_he_is_let_in_while_there_is_room() {
    let policy = policy(HOLD);
    let mut decisions = dropped(&policy, &[Some(60), None, Some(60), None]);
    touch(&mut decisions, &policy, 20, 4, &[1], &[]);
    let actions = touch(&mut decisions, &policy, 21, 4, &[2], &[]);
    assert_eq!(actions, [Action::Prepage { id: 2 }]);
    let actions = touch(&mut decisions, &policy, 22, 4, &[3], &[]);
    assert_eq!(actions, [Action::Hold { id: 3 }]);
    let actions = touch(&mut decisions, &policy, 23, 4, &[4], &[]);
    assert_eq!(actions, [Action::Hold { id: 4 }], "behind another");
}

#[test]
fn where_storage_cannot_be_told_nobody_is_held() {
    let policy = policy(HOLD);
    let mut decisions = dropped(&policy, &[Some(60), Some(60)]);
    let both = [seen(1, true), seen(2, true)];
    let actions = decisions.step(20 * SECOND, &policy, None, &both, &[]);
    assert_eq!(actions, [Action::Prepage { id: 1 }, Action::Prepage { id: 2 }]);
}
