//! What a run is: how many users when, how often it is sampled, and how long.

use satline_program::Error;

use crate::engine::{Span, Time};

/// From a time on so many users are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub from: Time,
    pub users: u32,
}

/// A run's plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The most users there ever are.
    pub users: u32,
    /// In rising order of time; before the first there is nobody. User k is logged on while more than k are wanted; one
    /// who is no longer wanted ends his transaction before he logs off.
    pub steps: Vec<Step>,
    pub sample_every: Span,
    /// The run ends here, whatever is asked of it.
    pub end: Time,
    /// Whether every sample is audited.
    pub audit: bool,
}

impl Plan {
    /// So many users from the start to the end.
    pub fn constant(users: u32, end: Time) -> Self {
        Self {
            users,
            steps: vec![Step {
                from: Time::START,
                users,
            }],
            sample_every: Span::from_seconds(10.0),
            end,
            audit: true,
        }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let wrong = |what: String, hint: &str| Err(Error::input(what, hint));
        if self.sample_every == Span::ZERO {
            return wrong("the time between samples is 0".into(), "sample every 10 s, say");
        }
        if self.steps.windows(2).any(|pair| pair[1].from <= pair[0].from) {
            return wrong(
                "the steps of the population are not in rising order of time".into(),
                "give every step a later beginning than the one before",
            );
        }
        if let Some(step) = self.steps.iter().find(|step| step.users > self.users) {
            return wrong(
                format!("a step wants {} users, the run has {}", step.users, self.users),
                "raise the run's number of users",
            );
        }
        Ok(())
    }
}
