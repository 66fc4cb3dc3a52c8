//! A run in numbers: the measures of every sample period and of every step's window.

mod measures;
mod steps;
mod totals;

use std::collections::BTreeMap;

use serde::Serialize;

pub use self::measures::{MEASURES, Measure, Period, SWAPPING};
use self::measures::{names, values};
pub use self::steps::{RunStep, Steps};
pub use self::totals::{Completed, IoService, Totals, UserTotals};
use crate::engine::Time;
use crate::readings::{Observer, Reading, TransactionRecord};

/// A time in s, so that whole seconds are whole numbers.
pub fn seconds(time: Time) -> f64 {
    time.ns() as f64 / 1e9
}

/// Measures by name; null where one is not defined.
pub type Measures = BTreeMap<String, Option<f64>>;

/// A step as it was; of a run that was cut short, as far as it came.
#[derive(Debug, Clone, Serialize)]
pub struct StepResult {
    pub users: u32,
    pub from_s: f64,
    pub window_from_s: f64,
    pub to_s: f64,
    pub measures: Measures,
}

/// One value for every sample period.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Series {
    /// End of the period.
    pub time_s: Vec<f64>,
    /// Step that it belongs to, from 1.
    pub step: Vec<u32>,
    #[serde(flatten)]
    pub measures: BTreeMap<String, Vec<Option<f64>>>,
}

/// Gathers measures while a run goes on.
#[derive(Debug)]
pub struct Summary {
    steps: Steps,
    devices: Vec<String>,
    locks: Vec<String>,
    names: Vec<String>,
    series: Vec<Vec<Option<f64>>>,
    time_s: Vec<f64>,
    step: Vec<u32>,
    completed: Completed,
    last: Option<Totals>,
    spare: Totals,
    windows: Vec<(Option<Totals>, Option<Totals>)>,
}

impl Summary {
    /// Nothing yet; `devices` are the machine's, in its order.
    pub fn new(steps: Steps, devices: Vec<String>) -> Self {
        Self {
            windows: vec![(None, None); steps.all().len()],
            steps,
            devices,
            locks: Vec::new(),
            names: Vec::new(),
            series: Vec::new(),
            time_s: Vec::new(),
            step: Vec::new(),
            completed: Completed::default(),
            last: None,
            spare: Totals::default(),
        }
    }

    /// Of a machine with these locks, in its order.
    pub fn with_locks(self, locks: Vec<String>) -> Self {
        Self { locks, ..self }
    }

    /// The steps with the measures of their windows; a step that was not reached is left out.
    pub fn steps(&self) -> Vec<StepResult> {
        let windows = self.steps.all().iter().zip(&self.windows);
        let known = windows.filter_map(|(step, window)| match window {
            (Some(before), Some(after)) if before.time < after.time => {
                let period = Period { before, after };
                Some(StepResult {
                    users: step.users,
                    from_s: seconds(step.from),
                    window_from_s: seconds(before.time),
                    to_s: seconds(after.time),
                    measures: self.names.iter().cloned().zip(values(&period)).collect(),
                })
            }
            _ => None,
        });
        known.collect()
    }

    /// All sample periods.
    pub fn series(&self) -> Series {
        Series {
            time_s: self.time_s.clone(),
            step: self.step.clone(),
            measures: self
                .names
                .iter()
                .cloned()
                .zip(self.series.iter().cloned())
                .collect(),
        }
    }

    /// Events of the calendar so far.
    pub fn events(&self) -> u64 {
        self.last.as_ref().map_or(0, |totals| totals.system.events)
    }

    /// When the last sample was taken.
    pub fn time(&self) -> Time {
        self.last.as_ref().map_or(Time::START, |totals| totals.time)
    }

    fn keep_windows(&mut self, now: &Totals) {
        // Windows overlap at their ends only: at most two steps are concerned.
        let number = self.steps.at(now.time).number as usize;
        for k in number - 1..(number + 1).min(self.windows.len()) {
            let step = self.steps.all()[k];
            if step.window_from == now.time {
                self.windows[k].0 = Some(now.clone());
            }
            if step.window_from < now.time && now.time <= step.window_to {
                // A run that was cut short has the window so far.
                match &mut self.windows[k].1 {
                    Some(kept) => kept.clone_from(now),
                    none => *none = Some(now.clone()),
                }
            }
        }
    }
}

impl Observer for Summary {
    fn sample(&mut self, reading: &Reading) {
        if self.last.as_ref().is_some_and(|last| last.time == reading.time) {
            return;
        }
        let mut now = std::mem::take(&mut self.spare);
        if let Some(last) = &self.last {
            now.io_service.clone_from(&last.io_service);
        }
        now.take(reading);
        now.completed = self.completed;
        match &self.last {
            None => {
                self.names = names(&now, &self.devices, &self.locks);
                self.series = vec![Vec::new(); self.names.len()];
            }
            Some(before) => {
                let period = Period { before, after: &now };
                for (series, value) in self.series.iter_mut().zip(values(&period)) {
                    series.push(value);
                }
                self.time_s.push(seconds(now.time));
                self.step.push(self.steps.at(now.time).number);
            }
        }
        self.keep_windows(&now);
        self.spare = self.last.replace(now).unwrap_or_default();
    }

    fn transaction(&mut self, record: &TransactionRecord) {
        self.completed.add(record);
    }
}
