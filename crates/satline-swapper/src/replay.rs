//! The decisions, run over what a daemon saw: what would another policy have done?

use std::io::{BufRead, Write};

use satline_program::Error;
use serde::{Deserialize, Serialize};

use crate::decision::{Action, Decisions, Event, State, StorageSeen, UserId, UserSeen};
use crate::policy::Policy;

/// What was seen at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    pub time_us: i64,
    pub storage: Option<StorageSeen>,
    pub users: Vec<UserObserved>,
}

/// One user in it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct UserObserved {
    #[serde(flatten)]
    pub seen: UserSeen,
    /// What was known of his working set.
    pub working_set_bytes: Option<u64>,
    /// What of him was out in the recorded run.
    pub outside_bytes: u64,
}

/// What was decided at one time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decided {
    pub time_us: i64,
    pub short: bool,
    pub free_bytes: Option<u64>,
    pub actions: Vec<Action>,
    pub states: Vec<(UserId, State)>,
}

/// What a user has in the replay.
#[derive(Debug, Clone, Copy, Default)]
struct Replayed {
    whole_bytes: u64,
    working_bytes: Option<u64>,
    outside_bytes: u64,
}

impl Replayed {
    /// The working set is the last that goes.
    fn wanted_bytes(&self) -> u64 {
        let set = self.working_bytes.unwrap_or(0);
        set.saturating_sub(self.whole_bytes - self.outside_bytes)
            .min(self.outside_bytes)
    }
}

/// Reads observations, one JSON object a line, and writes what is decided, likewise.
///
/// Work takes no time. Free storage is the recorded one, plus what the replayed policy has outside beyond the recorded policy.
/// A user returns when he returned in the recording.
///
/// # Errors
/// A line that is no observation, by its number; a pipe that closes.
pub fn replay(policy: &Policy, input: impl BufRead, output: &mut impl Write) -> Result<(), Error> {
    let mut run = Replay::new(policy.clone());
    for (index, line) in input.lines().enumerate() {
        let line = line.map_err(|error| Error::system("standard input", &error, "it must stay open"))?;
        if line.trim().is_empty() {
            continue;
        }
        let observation: Observation = serde_json::from_str(&line).map_err(|error| {
            Error::input(
                format!("observation {}: {error}", index + 1),
                "`satline swapper replay RECORDING POLICY` makes them from a recording",
            )
        })?;
        let decided = run.step(&observation);
        let text = serde_json::to_string(&decided)
            .map_err(|error| Error::input(error.to_string(), "report this"))?;
        writeln!(output, "{text}")
            .map_err(|error| Error::system("standard output", &error, "it must stay open"))?;
    }
    Ok(())
}

/// A replay under way.
#[derive(Debug)]
pub struct Replay {
    policy: Policy,
    decisions: Decisions,
    users: std::collections::BTreeMap<UserId, Replayed>,
    events: Vec<Event>,
}

impl Replay {
    /// Nothing was seen yet.
    pub fn new(policy: Policy) -> Self {
        Replay {
            policy,
            decisions: Decisions::new(),
            users: std::collections::BTreeMap::new(),
            events: Vec::new(),
        }
    }

    /// Decides on one observation.
    pub fn step(&mut self, observation: &Observation) -> Decided {
        let mut recorded_out = 0;
        let mut replayed_out = 0;
        for one in &observation.users {
            let user = self.users.entry(one.seen.id).or_default();
            user.whole_bytes = one.seen.resident_bytes + one.outside_bytes;
            user.working_bytes = one.working_set_bytes;
            user.outside_bytes = user.outside_bytes.min(user.whole_bytes);
            recorded_out += one.outside_bytes;
            replayed_out += user.outside_bytes;
        }
        let storage = observation.storage.map(|storage| StorageSeen {
            free_bytes: (storage.free_bytes + replayed_out).saturating_sub(recorded_out),
            low_bytes: self.policy.storage.low.bytes(storage.total_bytes),
            high_bytes: self.policy.storage.high.bytes(storage.total_bytes),
            ..storage
        });
        let seen: Vec<UserSeen> = observation
            .users
            .iter()
            .map(|one| {
                let user = self.users.get(&one.seen.id).copied().unwrap_or_default();
                UserSeen {
                    resident_bytes: user.whole_bytes - user.outside_bytes,
                    // Who was out in the recording and touched a page may not be out here: he works all the same.
                    active: one.seen.active || one.seen.faulted,
                    faulted: (one.seen.active || one.seen.faulted) && user.outside_bytes > 0,
                    ..one.seen
                }
            })
            .collect();
        let events = std::mem::take(&mut self.events);
        let actions = self
            .decisions
            .step(observation.time_us, &self.policy, storage, &seen, &events);
        for action in &actions {
            let event = self.carry_out(*action);
            self.events.extend(event);
        }
        Decided {
            time_us: observation.time_us,
            short: self.decisions.short,
            free_bytes: storage.map(|storage| storage.free_bytes),
            actions,
            states: self
                .decisions
                .users
                .iter()
                .map(|(&id, user)| (id, user.state))
                .collect(),
        }
    }

    fn carry_out(&mut self, action: Action) -> Option<Event> {
        match action {
            Action::Record { id } => {
                let user = self.users.get(&id)?;
                let resident = user.whole_bytes - user.outside_bytes;
                Some(Event::Recorded {
                    id,
                    working_set_bytes: user.working_bytes,
                    wanted_bytes: user.wanted_bytes(),
                    trimmable_bytes: user.working_bytes.map_or(0, |set| resident.saturating_sub(set)),
                    // A recording does not tell which pages these are.
                    cold_bytes: 0,
                    resident_bytes: resident,
                    prepaged_pages: 0,
                    prepage_errors: 0,
                })
            }
            Action::Trim { id, bytes, .. } | Action::SwapOut { id, bytes } => {
                let trimmed_only = matches!(action, Action::Trim { .. });
                let user = self.users.get_mut(&id)?;
                let resident = user.whole_bytes - user.outside_bytes;
                let most = if trimmed_only {
                    resident.saturating_sub(user.working_bytes.unwrap_or(resident))
                } else {
                    resident
                };
                let gone = most.min(bytes);
                user.outside_bytes += gone;
                Some(Event::Out {
                    id,
                    asked_bytes: gone,
                    freed_bytes: gone,
                    left_bytes: resident - gone,
                    wanted_bytes: user.wanted_bytes(),
                    trimmed_only,
                })
            }
            Action::Prepage { id } => {
                let user = self.users.get_mut(&id)?;
                let back = user.working_bytes.unwrap_or(0).min(user.outside_bytes);
                user.outside_bytes -= back;
                Some(Event::In { id })
            }
            // Whoever is held returns in the replay when he did in the recording.
            Action::Stop { .. } | Action::Hold { .. } | Action::Release { .. } => None,
        }
    }
}
