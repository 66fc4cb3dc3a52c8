use super::*;
use crate::decision::{Event, UserSeen};
use crate::decision_examples::{MB, SECOND, policy, recorded, storage};

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
        .map(|(id, outside)| recorded(id, Some(40), *outside, 0))
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
    let policy = policy("");
    let mut decisions = idle(&policy, &[0, 0]);
    assert_eq!(written_mb(&mut decisions, &policy, 40, 110), None, "above low");
    assert_eq!(written_mb(&mut decisions, &policy, 50, 90), Some(125 - 90));
}

#[test]
fn room_is_made_for_the_others_and_not_for_him_who_is_written_out() {
    let policy = policy("");
    let mut own = idle(&policy, &[150, 0]);
    assert_eq!(written_mb(&mut own, &policy, 50, 90), Some(125 - 90));
    let mut others = idle(&policy, &[0, 150]);
    assert_eq!(written_mb(&mut others, &policy, 50, 90), Some(150 - 90));
    let mut many = idle(&policy, &[0, 150, 150]);
    assert_eq!(written_mb(&mut many, &policy, 50, 90), Some(200 - 90));
}

#[test]
fn what_a_stay_did_not_touch_goes_first_and_up_to_high() {
    let policy = policy("");
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
    let policy = policy("");
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
    let policy = policy("");
    let mut decisions = idle(&policy, &[0, 150]);
    let two = decisions.users.get_mut(&2).unwrap();
    (two.state, two.last_active_us) = (State::Active, 45 * SECOND);
    assert_eq!(written_mb(&mut decisions, &policy, 50, 90), Some(125 - 90));
}

#[test]
fn room_is_made_for_what_grows() {
    let policy = policy("");
    let mut fast = idle(&policy, &[0, 0]);
    assert_eq!(written_mb(&mut fast, &policy, 49, 260), None);
    assert_eq!(written_mb(&mut fast, &policy, 50, 90), Some(170 - 90));
    let mut slow = idle(&policy, &[0, 0]);
    assert_eq!(written_mb(&mut slow, &policy, 40, 260), None);
    assert_eq!(written_mb(&mut slow, &policy, 50, 90), Some(125 - 90));
}

#[test]
fn under_pressure_all_of_it_is_made() {
    let policy = policy("");
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
    let policy = policy("");
    let mut decisions = idle(&policy, &[0, 0]);
    let back = [seen(1, false), seen(2, true)];
    decisions.step(49 * SECOND, &policy, storage(130), &back, &[]);
    assert_eq!(written_mb(&mut decisions, &policy, 50, 90), Some(125 - 90));
}

#[test]
fn of_whom_nothing_is_known_the_kernel_takes_the_pages_before_others_pay_for_him() {
    let policy = policy("");
    let mut decisions = idle(&policy, &[0, 0]);
    let write = |decisions: &mut Decisions, second: i64, listed: u64| {
        let mut all = [seen(1, false), seen(2, false)];
        all[0].resident_bytes = listed * MB;
        decisions.step(second * SECOND, &policy, storage(90), &all, &[])
    };
    decisions.users.get_mut(&1).unwrap().working_set_bytes = None;
    assert_eq!(
        write(&mut decisions, 50, 80),
        [],
        "his 80 MB are more than the 35 that lack"
    );
    assert_eq!(write(&mut decisions, 51, 50), [], "30 have gone");
    let out = Action::SwapOut {
        id: 2,
        bytes: 35 * MB,
    };
    assert_eq!(write(&mut decisions, 52, 30), [out]);
}

#[test]
fn when_next_to_nothing_is_free_nobody_waits_for_the_kernel() {
    let policy = policy("");
    for (free, written) in [(26, None), (24, Some(125 - 24))] {
        let mut decisions = idle(&policy, &[0, 0]);
        // The longest idle is the second now.
        let two = decisions.users.get_mut(&2).unwrap();
        (two.last_active_us, two.working_set_bytes, two.resident_bytes) = (0, None, 500 * MB);
        let mut all = [seen(1, false), seen(2, false)];
        all[1].resident_bytes = 500 * MB;
        let out = written.map(|mb: u64| Action::SwapOut {
            id: 1,
            bytes: mb * MB,
        });
        let actions = decisions.step(50 * SECOND, &policy, storage(free), &all, &[]);
        assert_eq!(actions, Vec::from_iter(out));
    }
}

#[test]
fn who_has_been_idle_for_longer_goes_before_him_of_whom_nothing_is_known() {
    let policy = policy("");
    let mut decisions = idle(&policy, &[0, 0]);
    decisions.users.get_mut(&2).unwrap().working_set_bytes = None;
    assert_eq!(written_mb(&mut decisions, &policy, 50, 90), Some(35));
}

#[test]
fn what_the_process_list_says_late_of_a_page_out_is_not_taken_off_twice() {
    let mut policy = policy("");
    policy.swap_out.unknown = crate::policy::Order::Address;
    let mut decisions = idle(&policy, &[0]);
    decisions.users.get_mut(&1).unwrap().working_set_bytes = None;
    assert_eq!(written_mb(&mut decisions, &policy, 50, 90), Some(35));
    let gone = Event::Out {
        id: 1,
        asked_bytes: 35 * MB,
        freed_bytes: 35 * MB,
        left_bytes: 45 * MB,
        wanted_bytes: 0,
        trimmed_only: false,
    };
    let listed = [UserSeen {
        resident_bytes: 40 * MB,
        ..seen(1, false)
    }];
    decisions.step(51 * SECOND, &policy, storage(125), &[seen(1, false)], &[gone]);
    decisions.step(52 * SECOND, &policy, storage(125), &listed, &[]);
    assert_eq!(decisions.users[&1].resident_bytes, 45 * MB);
    assert_eq!(written_mb(&mut decisions, &policy, 53, 90), Some(35));
}
