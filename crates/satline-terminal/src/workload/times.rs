//! Think times, typing and arrivals.

use satline_program::Error;
use serde::Deserialize;

use super::check::Place;
use super::{DistributionKey, ThinkKey, TypingKey};
use crate::draws::Draws;
use crate::random::Seconds;

/// `arrivals = { … }`: an open system, whose commands begin when they are due and not when somebody has thought.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrivalsKey {
    /// Commands a second in all, whatever the step's sessions.
    pub per_second: Option<f64>,
    /// Commands a second for each of the step's sessions.
    pub per_second_per_user: Option<f64>,
    #[serde(default)]
    pub distribution: GapKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GapKey {
    Fixed,
    #[default]
    Exponential,
}

/// Open arrivals, checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrivals {
    per_second: f64,
    per_user: bool,
    gaps: GapKey,
}

impl Arrivals {
    /// Commands a second in a step of so many sessions.
    pub fn rate(&self, users: usize) -> f64 {
        self.per_second * if self.per_user { users as f64 } else { 1.0 }
    }

    /// Time between two arrivals in such a step.
    pub fn gap(&self, users: usize) -> Seconds {
        let mean = 1.0 / self.rate(users);
        match self.gaps {
            GapKey::Fixed => Seconds::Fixed(mean),
            GapKey::Exponential => Seconds::exponential(mean).unwrap_or(Seconds::Fixed(mean)),
        }
    }
}

pub(super) fn arrivals(key: &ArrivalsKey, place: &Place<'_>) -> Result<Arrivals, Error> {
    let hint = "for example arrivals = { per_second = 20.0, distribution = \"exponential\" }";
    let (per_second, per_user) = match (key.per_second, key.per_second_per_user) {
        (Some(rate), None) => (rate, false),
        (None, Some(rate)) => (rate, true),
        _ => {
            let what = "one of per_second and per_second_per_user is needed";
            return Err(place.wrong("arrivals", what, hint));
        }
    };
    if !(1e-4..=1e5).contains(&per_second) {
        let what = format!("{per_second} is not between 0.0001 and 100000");
        return Err(place.wrong("arrivals.per_second", what, hint));
    }
    Ok(Arrivals {
        per_second,
        per_user,
        gaps: key.distribution,
    })
}

/// A think time distribution, s, cut at both ends.
#[derive(Debug, Clone)]
pub struct Think {
    pub distribution: Seconds,
    pub minimum: f64,
    pub maximum: f64,
}

impl Think {
    /// One draw, s.
    pub fn draw(&self, draws: &mut Draws) -> f64 {
        self.distribution.of(draws).clamp(self.minimum, self.maximum)
    }
}

pub(super) fn think(key: &ThinkKey, place: &Place<'_>) -> Result<Think, Error> {
    let hint = "for example think = { distribution = \"exponential\", mean_seconds = 2.0, minimum_seconds = 0.1, maximum_seconds = 20.0 }";
    let is_table = key.distribution == DistributionKey::Table;
    if key.quantiles_seconds.is_some() != is_table || key.mean_seconds.is_some() == is_table {
        let what = "a table has quantiles_seconds, every other distribution mean_seconds";
        return Err(place.wrong("think", what, hint));
    }
    let mean = key.mean_seconds.unwrap_or(0.0);
    if !(0.0..=86_400.0).contains(&mean) {
        return Err(place.wrong(
            "think.mean_seconds",
            format!("{mean} is not between 0 and 86400"),
            hint,
        ));
    }
    let minimum = key.minimum_seconds.unwrap_or(0.0);
    let maximum = key.maximum_seconds.unwrap_or(86_400.0);
    if !(minimum >= 0.0 && minimum <= maximum && maximum <= 86_400.0) {
        let what = format!("{minimum} to {maximum} (maximum_seconds) is no range of times");
        return Err(place.wrong("think.minimum_seconds", what, hint));
    }
    if key.sd_seconds.is_some() != (key.distribution == DistributionKey::Lognormal) {
        return Err(place.wrong("think.sd_seconds", "belongs to lognormal, which needs it", hint));
    }
    let sd = key.sd_seconds.unwrap_or(0.0);
    let distribution = match key.distribution {
        DistributionKey::Fixed => Some(Seconds::Fixed(mean)),
        DistributionKey::Exponential => Seconds::exponential(mean),
        DistributionKey::Table => {
            let quantiles = key.quantiles_seconds.as_deref().unwrap_or_default();
            let table =
                Seconds::table(quantiles).filter(|_| quantiles.iter().all(|&value| value <= 86_400.0));
            return table
                .map(|distribution| Think {
                    distribution,
                    minimum,
                    maximum,
                })
                .ok_or_else(|| {
                    let what = "needs two or more times that do not fall, from 0 to 86400";
                    place.wrong(
                        "think.quantiles_seconds",
                        what,
                        "for example quantiles_seconds = [0.1, 2.0, 9.5, 60.0]",
                    )
                });
        }
        DistributionKey::Lognormal => Seconds::lognormal(mean, sd).filter(|_| sd >= 0.0),
    };
    let distribution = distribution
        .ok_or_else(|| place.wrong("think.sd_seconds", format!("{sd} is no standard deviation"), hint))?;
    Ok(Think {
        distribution,
        minimum,
        maximum,
    })
}

pub(super) fn typing(key: &TypingKey, place: &Place<'_>) -> Result<Option<Seconds>, Error> {
    let hint = "for example typing = { characters_per_second = 8.0, variation = 0.3 }; 0 characters per second pastes at once";
    let rate = key.characters_per_second;
    if !(0.0..=1e6).contains(&rate) {
        return Err(place.wrong(
            "typing.characters_per_second",
            format!("{rate} is not between 0 and 1000000"),
            hint,
        ));
    }
    if !(0.0..=10.0).contains(&key.variation) {
        return Err(place.wrong(
            "typing.variation",
            format!("{} is not between 0 and 10", key.variation),
            hint,
        ));
    }
    Ok(if rate == 0.0 {
        None
    } else {
        Seconds::lognormal(1.0 / rate, key.variation / rate)
    })
}
