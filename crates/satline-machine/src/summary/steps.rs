//! The steps of a run: how many users are wanted when, and what part of each is measured.

use satline_program::Error;

use crate::configuration::Session;
use crate::engine::{Span, Time};

/// A stretch with one number of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunStep {
    /// From 1.
    pub number: u32,
    pub users: u32,
    pub from: Time,
    pub to: Time,
    /// From the first sample after the warm-up to the last one of the step: whole sample periods.
    pub window_from: Time,
    pub window_to: Time,
}

/// All steps of a run, in order, without a gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    steps: Vec<RunStep>,
    /// The windows are measured ones, as those of a study; else the load changes as the workload says.
    pub measured: bool,
}

impl Steps {
    /// One step for each number of users.
    ///
    /// # Errors
    /// There is none, or the window of a step holds no whole sample period.
    pub fn of_loads(users: &[u32], length: Span, warmup: Span, every: Span) -> Result<Self, Error> {
        let starts: Vec<(Span, u32)> = users
            .iter()
            .enumerate()
            .map(|(k, &users)| (length * k as u64, users))
            .collect();
        let steps = Self::new(&starts, length * users.len() as u64, warmup, every, true)?;
        match steps.steps.iter().find(|step| step.window_to <= step.window_from) {
            None => Ok(steps),
            Some(step) => Err(Error::input(
                format!(
                    "step {} of {} s has no sample period of {} s after {} s of warm-up",
                    step.number,
                    length.seconds(),
                    every.seconds(),
                    warmup.seconds()
                ),
                "give a longer --step-seconds, or a shorter --warmup-seconds or --sample-seconds",
            )),
        }
    }

    /// One step for each session of a population; the warm-up is left out of the first only.
    ///
    /// # Errors
    /// There is none, or they are not in rising order before the end.
    pub fn of_schedule(sessions: &[Session], length: Span, warmup: Span, every: Span) -> Result<Self, Error> {
        let mut starts: Vec<(Span, u32)> = sessions.iter().map(|s| (s.from, s.users)).collect();
        if starts.first().is_some_and(|first| first.0 > Span::ZERO) {
            starts.insert(0, (Span::ZERO, 0));
        }
        starts.retain(|start| start.0 < length);
        Self::new(&starts, length, warmup, every, false)
    }

    fn new(
        starts: &[(Span, u32)],
        length: Span,
        warmup: Span,
        every: Span,
        measured: bool,
    ) -> Result<Self, Error> {
        if starts.is_empty() || every == Span::ZERO || length == Span::ZERO {
            return Err(Error::input(
                "the run has no time in which anything could happen",
                "give numbers of users, and lengths above 0",
            ));
        }
        if starts.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return Err(Error::input(
                "the sessions of the population do not rise in time",
                "sort them by `from`, and give each time once",
            ));
        }
        let ends = starts.iter().skip(1).map(|next| next.0).chain([length]);
        let steps = starts
            .iter()
            .zip(ends)
            .enumerate()
            .map(|(k, (&(from, users), to))| {
                let warm = if measured || k == 0 { warmup } else { Span::ZERO };
                let window_from = (from.ns().saturating_add(warm.ns())).div_ceil(every.ns()) * every.ns();
                RunStep {
                    number: k as u32 + 1,
                    users,
                    from: Time::START + from,
                    to: Time::START + to,
                    window_from: Time::from_ns(window_from),
                    window_to: Time::from_ns(to.ns() / every.ns() * every.ns()),
                }
            });
        Ok(Self {
            steps: steps.collect(),
            measured,
        })
    }

    pub fn all(&self) -> &[RunStep] {
        &self.steps
    }

    /// The step of a time; an instant between two belongs to the earlier, as its sample ends that one's last period.
    pub fn at(&self, time: Time) -> &RunStep {
        let after = self.steps.partition_point(|step| step.from < time);
        &self.steps[after.max(1) - 1]
    }

    /// When the run ends.
    pub fn end(&self) -> Time {
        self.steps[self.steps.len() - 1].to
    }

    /// The most users of any step.
    pub fn most_users(&self) -> u32 {
        self.steps.iter().map(|step| step.users).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn steps_follow_each_other_and_windows_lie_within(
            users in prop::collection::vec(0u32..50, 1..8),
            length in 1u64..10_000,
            warmup in 0u64..12_000,
            every in 1u64..3_000,
        ) {
            let span = Span::from_ns;
            match Steps::of_loads(&users, span(length), span(warmup), span(every)) {
                Ok(steps) => {
                    let mut before = Time::START;
                    for step in steps.all() {
                        prop_assert_eq!(step.from, before);
                        prop_assert!(step.from <= step.window_from && step.window_to <= step.to);
                        prop_assert!(step.window_from < step.window_to);
                        prop_assert!(step.window_from - step.from >= span(warmup));
                        prop_assert_eq!((step.window_from.ns() % every, step.window_to.ns() % every), (0, 0));
                        prop_assert_eq!(steps.at(step.to).number, step.number);
                        before = step.to;
                    }
                    prop_assert_eq!(before, steps.end());
                }
                // Only where some step is too short.
                Err(_) => prop_assert!(length < warmup + 2 * every),
            }
        }
    }

    fn s(seconds: u64) -> Span {
        Span::from_ns(seconds * 1_000_000_000)
    }

    #[test]
    fn windows_are_whole_sample_periods() {
        let steps = Steps::of_loads(&[5, 10], s(95), s(12), s(10)).unwrap();
        let windows: Vec<_> = steps
            .all()
            .iter()
            .map(|step| (step.window_from.seconds(), step.window_to.seconds()))
            .collect();
        assert_eq!(windows, [(20.0, 90.0), (110.0, 190.0)]);
        assert_eq!((steps.end().seconds(), steps.most_users()), (190.0, 10));
    }

    #[test]
    fn an_instant_between_two_steps_belongs_to_the_earlier() {
        let steps = Steps::of_loads(&[5, 10], s(100), s(0), s(10)).unwrap();
        let at = |seconds: u64| steps.at(Time::START + s(seconds)).number;
        assert_eq!((at(0), at(1), at(100), at(101), at(500)), (1, 1, 1, 2, 2));
    }

    #[test]
    fn a_schedule_begins_with_nobody_and_ends_when_told() {
        let sessions = [(60, 3), (120, 7), (900, 9)].map(|(from, users)| Session { from: s(from), users });
        let steps = Steps::of_schedule(&sessions, s(300), s(60), s(60)).unwrap();
        let users: Vec<_> = steps.all().iter().map(|step| step.users).collect();
        assert_eq!(users, [0, 3, 7]);
        assert_eq!(steps.end().seconds(), 300.0);
        assert!(!steps.measured);
    }

    #[test]
    fn a_step_without_a_sample_period_is_refused() {
        let error = Steps::of_loads(&[1], s(10), s(5), s(6)).unwrap_err();
        assert!(
            error.message.contains("step 1") && error.hint.contains("--step-seconds"),
            "{error}"
        );
        assert!(Steps::of_loads(&[], s(10), s(0), s(1)).is_err());
    }
}
