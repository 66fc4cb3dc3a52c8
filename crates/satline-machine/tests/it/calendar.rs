//! The calendar against a plain sorted list.

use proptest::prelude::*;
use satline_machine::engine::{Alarm, Calendar, NORMAL, Span, Time, Token};

/// More than the calendar looks through.
const ALARMS: u32 = 6;
/// The event of the first of them.
const FIRST_ALARM: u32 = 1_000_000;

#[derive(Debug, Clone)]
enum Step {
    Schedule { after: u64, priority: u8 },
    ScheduleCancellable { after: u64, priority: u8 },
    Cancel { which: usize },
    SetAlarm { place: u32, after: u64, priority: u8 },
    CancelAlarm { place: u32 },
    Next { within: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    // Few different times and priorities, so that ties are common.
    let (after, priority) = (0..6u64, prop_oneof![Just(0u8), Just(NORMAL), Just(255u8)]);
    let alarm = (0..ALARMS, after.clone(), priority.clone());
    prop_oneof![
        3 => (after.clone(), priority.clone()).prop_map(|(after, priority)| Step::Schedule { after, priority }),
        3 => (after, priority).prop_map(|(after, priority)| Step::ScheduleCancellable { after, priority }),
        2 => any::<usize>().prop_map(|which| Step::Cancel { which }),
        3 => alarm.prop_map(|(place, after, priority)| Step::SetAlarm { place, after, priority }),
        1 => (0..ALARMS).prop_map(|place| Step::CancelAlarm { place }),
        3 => prop_oneof![Just(u64::MAX), 0..4u64].prop_map(|within| Step::Next { within }),
    ]
}

/// The reference: all events in a list, the least of (time, priority, sequence) first, and what happens.
#[derive(Default)]
struct Sorted {
    events: Vec<(u64, u8, u32, u32)>,
    now: u64,
}

impl Sorted {
    fn next(&mut self, until: u64) -> Option<u32> {
        self.events.sort_unstable();
        match self.events.first().copied() {
            Some((time, _, _, event)) if time <= until => {
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

    /// Whether it was to come.
    fn remove(&mut self, event: u32) -> bool {
        let before = self.events.len();
        self.events.retain(|&(_, _, _, other)| other != event);
        self.events.len() < before
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn events_come_as_from_a_sorted_list(steps in prop::collection::vec(step(), 1..300)) {
        let mut calendar = Calendar::default();
        let mut sorted = Sorted::default();
        let mut tokens: Vec<(Token, u32)> = Vec::new();
        let alarms: Vec<Alarm> = (0..ALARMS).map(|place| calendar.add_alarm(FIRST_ALARM + place)).collect();
        // The number of the step is its event's sequence, and mostly the event.
        for (number, step) in steps.iter().enumerate() {
            let number = number as u32;
            match *step {
                Step::Schedule { after, priority } => {
                    calendar.schedule(Span::from_ns(after), priority, number);
                    sorted.events.push((sorted.now + after, priority, number, number));
                }
                Step::ScheduleCancellable { after, priority } => {
                    tokens.push((calendar.schedule_cancellable(Span::from_ns(after), priority, number), number));
                    sorted.events.push((sorted.now + after, priority, number, number));
                }
                Step::Cancel { which } if !tokens.is_empty() => {
                    // Also tokens of events that are over: they must do nothing.
                    let (token, event) = tokens[which % tokens.len()];
                    prop_assert_eq!(calendar.cancel(token), sorted.remove(event));
                }
                Step::Cancel { .. } => {}
                Step::SetAlarm { place, after, priority } => {
                    calendar.set_alarm(alarms[place as usize], Span::from_ns(after), priority);
                    sorted.remove(FIRST_ALARM + place);
                    sorted.events.push((sorted.now + after, priority, number, FIRST_ALARM + place));
                }
                Step::CancelAlarm { place } => {
                    let was = calendar.cancel_alarm(alarms[place as usize]);
                    prop_assert_eq!(was, sorted.remove(FIRST_ALARM + place));
                }
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
