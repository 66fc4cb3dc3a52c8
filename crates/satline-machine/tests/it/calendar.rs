//! The calendar against a plain sorted list.

use proptest::prelude::*;
use satline_machine::engine::{Calendar, NORMAL, Span, Time, Token};

#[derive(Debug, Clone)]
enum Step {
    Schedule { after: u64, priority: u8 },
    ScheduleCancellable { after: u64, priority: u8 },
    Cancel { which: usize },
    Next { within: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    // Few different times and priorities, so that ties are common.
    let (after, priority) = (0..6u64, prop_oneof![Just(0u8), Just(NORMAL), Just(255u8)]);
    prop_oneof![
        3 => (after.clone(), priority.clone()).prop_map(|(after, priority)| Step::Schedule { after, priority }),
        3 => (after, priority).prop_map(|(after, priority)| Step::ScheduleCancellable { after, priority }),
        2 => any::<usize>().prop_map(|which| Step::Cancel { which }),
        3 => prop_oneof![Just(u64::MAX), 0..4u64].prop_map(|within| Step::Next { within }),
    ]
}

/// The reference: all events in a list, the least of (time, priority, sequence) first.
#[derive(Default)]
struct Sorted {
    events: Vec<(u64, u8, u32)>,
    now: u64,
}

impl Sorted {
    fn next(&mut self, until: u64) -> Option<u32> {
        self.events.sort_unstable();
        match self.events.first().copied() {
            Some((time, _, event)) if time <= until => {
                self.events.remove(0);
                self.now = time;
                Some(event)
            }
            _ => {
                self.now = self.now.max(until);
                None
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn events_come_as_from_a_sorted_list(steps in prop::collection::vec(step(), 1..300)) {
        let mut calendar = Calendar::default();
        let mut sorted = Sorted::default();
        let mut tokens: Vec<(Token, u32)> = Vec::new();
        // The number of the event is its sequence too.
        for (number, step) in steps.iter().enumerate() {
            let number = number as u32;
            match *step {
                Step::Schedule { after, priority } => {
                    calendar.schedule(Span::from_ns(after), priority, number);
                    sorted.events.push((sorted.now + after, priority, number));
                }
                Step::ScheduleCancellable { after, priority } => {
                    tokens.push((calendar.schedule_cancellable(Span::from_ns(after), priority, number), number));
                    sorted.events.push((sorted.now + after, priority, number));
                }
                Step::Cancel { which } if !tokens.is_empty() => {
                    // Also tokens of events that are over: they must do nothing.
                    let (token, event) = tokens[which % tokens.len()];
                    let before = sorted.events.len();
                    sorted.events.retain(|&(_, _, other)| other != event);
                    prop_assert_eq!(calendar.cancel(token), sorted.events.len() < before);
                }
                Step::Cancel { .. } => {}
                Step::Next { within } => {
                    // Not to the end of time: the clock could not go on.
                    let until = if within == u64::MAX { sorted.now + 10 } else { sorted.now + within };
                    prop_assert_eq!(calendar.next(Time::from_ns(until)), sorted.next(until));
                    prop_assert_eq!(calendar.now(), Time::from_ns(sorted.now));
                }
            }
            prop_assert_eq!(calendar.len(), sorted.events.len());
        }
        while let Some(event) = sorted.next(u64::MAX) {
            prop_assert_eq!(calendar.next(Time::NEVER), Some(event));
        }
        prop_assert_eq!(calendar.next(Time::NEVER), None);
        prop_assert!(calendar.is_empty());
    }
}

#[test]
fn a_thousand_cancelled_events_are_swept_and_the_others_come() {
    let mut calendar = Calendar::default();
    let tokens: Vec<Token> = (0..1000u32)
        .map(|n| calendar.schedule_cancellable(Span::from_ns(u64::from(n)), NORMAL, n))
        .collect();
    assert_eq!(calendar.next(Time::NEVER), Some(0));
    for (n, token) in tokens.iter().enumerate() {
        assert_eq!(calendar.cancel(*token), n != 0 && n % 100 != 7, "{n}");
        if n % 100 == 6 && n + 1 < tokens.len() {
            // Spared: the loop's next token is cancelled here and scheduled anew.
            assert!(calendar.cancel(tokens[n + 1]));
            calendar.schedule(Span::from_ns(5000 + n as u64), NORMAL, n as u32);
        }
    }
    assert_eq!(calendar.len(), 10);
    let left: Vec<u32> = std::iter::from_fn(|| calendar.next(Time::NEVER)).collect();
    assert_eq!(left, (0..10).map(|n| n * 100 + 6).collect::<Vec<_>>());
}

#[test]
fn a_token_does_not_cancel_the_event_that_took_its_place() {
    let mut calendar = Calendar::default();
    let old = calendar.schedule_cancellable(Span::ZERO, NORMAL, 'a');
    assert_eq!(calendar.next(Time::NEVER), Some('a'));
    calendar.schedule_cancellable(Span::ZERO, NORMAL, 'b');
    assert!(!calendar.cancel(old));
    assert_eq!(calendar.next(Time::NEVER), Some('b'));
}
