use super::*;
use crate::decision_examples::{self, MB, SECOND, recorded, storage};
use crate::policy::Order;

#[path = "decision_properties.rs"]
mod properties;

/// In most tests no working set is known, and users are written out all the same.
fn policy(more: &str) -> Policy {
    let mut policy = decision_examples::policy(more);
    policy.swap_out.unknown = Order::Address;
    policy
}

fn quiet(id: UserId) -> UserSeen {
    UserSeen {
        id,
        resident_bytes: 80 * MB,
        interactive: true,
        ..UserSeen::default()
    }
}

fn working(id: UserId) -> UserSeen {
    UserSeen {
        active: true,
        ..quiet(id)
    }
}

fn faulting(id: UserId) -> UserSeen {
    UserSeen {
        faulted: true,
        ..quiet(id)
    }
}

fn out(id: UserId, freed: u64, left: u64, trimmed_only: bool) -> Event {
    Event::Out {
        id,
        asked_bytes: freed * MB,
        freed_bytes: freed * MB,
        left_bytes: left * MB,
        wanted_bytes: 0,
        trimmed_only,
    }
}

/// Users 1 to `n`, idle since 10 s for user 1, 11 s for user 2, …, recorded without a known working set.
fn idle(policy: &Policy, n: u32) -> (Decisions, i64) {
    let mut decisions = Decisions::new();
    let all: Vec<UserSeen> = (1..=n).map(quiet).collect();
    for second in 0..i64::from(n) {
        let seen: Vec<UserSeen> = (1..=n)
            .map(|id| {
                if i64::from(id) >= i64::from(n) - second {
                    working(n + 1 - id)
                } else {
                    quiet(n + 1 - id)
                }
            })
            .collect();
        decisions.step(second * SECOND, policy, storage(500), &seen, &[]);
    }
    let now = (i64::from(n) + 30) * SECOND;
    decisions.step(now, policy, storage(500), &all, &[]);
    let events: Vec<Event> = (1..=n).map(|id| recorded(id, None, 0, 0)).collect();
    assert_eq!(decisions.step(now, policy, storage(500), &all, &events), []);
    (decisions, now)
}

#[test]
fn while_storage_is_ample_an_idle_user_is_swapped_logically_only() {
    let policy = policy("");
    let mut decisions = Decisions::new();
    assert_eq!(decisions.step(0, &policy, storage(500), &[working(1)], &[]), []);
    assert_eq!(
        decisions.step(9 * SECOND, &policy, storage(500), &[quiet(1)], &[]),
        []
    );
    let actions = decisions.step(10 * SECOND, &policy, storage(500), &[quiet(1)], &[]);
    assert_eq!(actions, [Action::Record { id: 1 }]);
    let events = [recorded(1, Some(20), 0, 60)];
    assert_eq!(
        decisions.step(11 * SECOND, &policy, storage(500), &[quiet(1)], &events),
        []
    );
    assert_eq!(decisions.users[&1].state, State::Idle);
    assert_eq!(
        decisions.step(12 * SECOND, &policy, storage(500), &[working(1)], &[]),
        []
    );
    assert_eq!(
        decisions.users[&1].state,
        State::Active,
        "all was kept: nothing to read"
    );
}

#[test]
fn trimming_comes_before_swapping_out_and_high_ends_both() {
    let policy = policy("");
    let (mut decisions, now) = idle(&policy, 2);
    let all = [quiet(1), quiet(2)];
    decisions.users.get_mut(&2).unwrap().trimmable_bytes = 30 * MB;
    let actions = decisions.step(now, &policy, storage(50), &all, &[]);
    let wanted = Action::Trim {
        id: 2,
        cold_only: false,
        bytes: 150 * MB,
    };
    assert_eq!(actions, [wanted]);
    assert_eq!(
        decisions.step(now, &policy, storage(50), &all, &[]),
        [],
        "one at a time"
    );
    let actions = decisions.step(now, &policy, storage(80), &all, &[out(2, 30, 50, true)]);
    assert_eq!(decisions.users[&2].state, State::Trimmed);
    let wanted = Action::SwapOut {
        id: 1,
        bytes: 120 * MB,
    };
    assert_eq!(actions, [wanted], "the longest idle");
    let actions = decisions.step(now, &policy, storage(160), &all, &[out(1, 80, 0, false)]);
    assert_eq!(decisions.users[&1].state, State::Swapped);
    let wanted = Action::SwapOut {
        id: 2,
        bytes: 40 * MB,
    };
    assert_eq!(actions, [wanted], "above low, but high is not reached");
    let actions = decisions.step(now, &policy, storage(200), &all, &[out(2, 40, 10, false)]);
    assert_eq!((actions, decisions.users[&2].state), (vec![], State::Partly));
    assert_eq!(
        decisions.step(now, &policy, storage(150), &all, &[]),
        [],
        "above low"
    );
    let actions = decisions.step(now, &policy, storage(90), &all, &[]);
    let wanted = Action::SwapOut {
        id: 2,
        bytes: 110 * MB,
    };
    assert_eq!(actions, [wanted], "who is partly out is finished first");
}

#[test]
fn a_user_of_whom_no_working_set_is_known_is_left_to_the_kernel() {
    let mut policy = policy("");
    policy.swap_out.unknown = Order::Kernel;
    let (mut decisions, now) = idle(&policy, 2);
    let events = [recorded(1, None, 0, 0), recorded(2, Some(20), 0, 0)];
    let actions = decisions.step(now + SECOND, &policy, storage(50), &[quiet(1), quiet(2)], &events);
    assert!(
        matches!(actions[..], [Action::SwapOut { id: 2, .. }]),
        "{actions:?}"
    );
}

#[test]
fn noninteractive_users_go_first() {
    let policy = policy("");
    let (mut decisions, now) = idle(&policy, 2);
    let all = [
        quiet(1),
        UserSeen {
            interactive: false,
            ..quiet(2)
        },
    ];
    let actions = decisions.step(now, &policy, storage(50), &all, &[]);
    assert!(
        matches!(actions[..], [Action::SwapOut { id: 2, .. }]),
        "{actions:?}"
    );
}

#[test]
fn a_return_reads_sets_and_a_return_in_the_middle_stops_the_page_out_first() {
    let policy = policy("");
    let (mut decisions, now) = idle(&policy, 1);
    decisions.step(now, &policy, storage(50), &[quiet(1)], &[]);
    let actions = decisions.step(now, &policy, storage(50), &[working(1)], &[]);
    assert_eq!(actions, [Action::Stop { id: 1 }]);
    assert_eq!(decisions.users[&1].state, State::Resuming);
    let actions = decisions.step(now, &policy, storage(50), &[working(1)], &[]);
    assert_eq!(actions, [], "told once");
    let actions = decisions.step(now, &policy, storage(50), &[quiet(1)], &[out(1, 20, 60, false)]);
    assert_eq!(actions, [Action::Prepage { id: 1 }]);
    decisions.step(now, &policy, storage(50), &[quiet(1)], &[Event::In { id: 1 }]);
    assert_eq!(decisions.users[&1].state, State::Active);
}

#[test]
fn announced_users_are_read_before_they_touch_anything() {
    let policy = policy("");
    let (mut decisions, now) = idle(&policy, 1);
    decisions.step(now, &policy, storage(50), &[quiet(1)], &[]);
    decisions.step(now, &policy, storage(300), &[quiet(1)], &[out(1, 80, 0, false)]);
    let announced = UserSeen {
        announced: true,
        ..quiet(1)
    };
    let actions = decisions.step(now, &policy, storage(300), &[announced], &[]);
    assert_eq!(actions, [Action::Prepage { id: 1 }]);
}

#[test]
fn nothing_is_read_where_the_policy_says_so() {
    let policy = policy("[prepage]\nsets = 0\nrest = \"demand\"\n");
    let (mut decisions, now) = idle(&policy, 1);
    decisions.step(now, &policy, storage(50), &[quiet(1)], &[]);
    decisions.step(now, &policy, storage(300), &[quiet(1)], &[out(1, 80, 0, false)]);
    assert_eq!(
        decisions.step(now, &policy, storage(300), &[faulting(1)], &[]),
        []
    );
    assert_eq!(decisions.users[&1].state, State::Active);
}

#[test]
fn the_kernels_order_writes_nothing_out() {
    let policy = policy("[swap_out]\norder = \"kernel\"\n");
    let (mut decisions, now) = idle(&policy, 1);
    assert_eq!(decisions.step(now, &policy, storage(0), &[quiet(1)], &[]), []);
    let actions = decisions.step(now, &policy, storage(0), &[faulting(1)], &[]);
    assert_eq!(
        actions,
        [Action::Prepage { id: 1 }],
        "what the kernel took is read all the same"
    );
}

#[test]
fn swap_that_is_full_and_a_fruitless_page_out_end_it() {
    let policy = policy("");
    let (mut decisions, now) = idle(&policy, 1);
    let mut full = storage(0).unwrap();
    full.swap_free_bytes = 10 * MB;
    assert_eq!(decisions.step(now, &policy, Some(full), &[quiet(1)], &[]), []);
    assert!(decisions.swap_full);
    assert_eq!(
        decisions.step(now, &policy, storage(0), &[quiet(1)], &[]).len(),
        1
    );
    let fruitless = Event::Out {
        id: 1,
        asked_bytes: 80 * MB,
        freed_bytes: MB,
        left_bytes: 79 * MB,
        wanted_bytes: 0,
        trimmed_only: false,
    };
    assert_eq!(
        decisions.step(now, &policy, storage(0), &[quiet(1)], &[fruitless]),
        []
    );
    let later = now + FRUITLESS_US;
    assert_eq!(
        decisions.step(later, &policy, storage(0), &[quiet(1)], &[]).len(),
        1
    );
}

#[test]
fn too_many_prepage_errors_and_he_is_left_alone_for_a_time() {
    let policy = policy("[give_up]\nprepage_error_share = 0.5\nstays = 2\nretry_seconds = 100.0\n");
    let (mut decisions, now) = idle(&policy, 1);
    let errors = Event::Recorded {
        id: 1,
        working_set_bytes: Some(MB),
        wanted_bytes: 0,
        trimmable_bytes: 70 * MB,
        cold_bytes: 0,
        resident_bytes: 80 * MB,
        prepaged_pages: 100,
        prepage_errors: 60,
    };
    decisions.step(now, &policy, storage(500), &[quiet(1)], &[errors]);
    assert!(!decisions.users[&1].is_left_alone(now));
    decisions.step(now, &policy, storage(500), &[quiet(1)], &[errors]);
    assert!(decisions.users[&1].is_left_alone(now));
    assert_eq!(decisions.step(now, &policy, storage(0), &[quiet(1)], &[]), []);
    let later = now + 100 * SECOND;
    assert_eq!(
        decisions.step(later, &policy, storage(0), &[quiet(1)], &[]).len(),
        1
    );
}

#[test]
fn who_is_gone_is_forgotten_and_late_news_of_him_do_no_harm() {
    let policy = policy("");
    let (mut decisions, now) = idle(&policy, 2);
    decisions.step(now, &policy, storage(500), &[quiet(2)], &[]);
    assert_eq!(decisions.users.len(), 1);
    assert_eq!(
        decisions.step(now, &policy, storage(500), &[quiet(2)], &[out(1, 5, 5, false)]),
        []
    );
}
