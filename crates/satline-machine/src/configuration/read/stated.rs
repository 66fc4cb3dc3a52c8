//! The figures of a file: each a value with what stands behind it.

use satline_program::Error;

use super::table::Table;
use super::tree::{Node, Place, Value};
use crate::engine::Span;

/// What stands behind a figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Source(String),
    /// No source was found: "unverified", or "assumed: …".
    Unverified(String),
    /// On what it was calibrated, and how well.
    Calibrated(String),
    /// A choice of who wrote the file.
    Chosen,
    /// Set for this run.
    Set,
}

/// A figure as the file gives it; the unit is the end of its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    /// The dotted path.
    pub key: String,
    pub value: String,
    pub standing: Standing,
}

/// Units of time: the end of a key, and s.
const UNITS: [(&str, f64); 3] = [("_us", 1e-6), ("_ms", 1e-3), ("_s", 1.0)];
/// A path's length in instructions, as an end of a key.
const INSTRUCTIONS: &str = "_instructions";

/// Whether a figure may stand without a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Source,
    /// A choice, as of a policy or a workload.
    Nothing,
}

impl Table<'_> {
    /// A figure within limits, if it is there.
    pub fn maybe_figure(&self, key: &str, need: Need, low: f64, high: f64) -> Result<Option<f64>, Error> {
        self.get(key)
            .map(|node| self.number(key, node, need, low, high))
            .transpose()
    }

    /// A figure within limits.
    pub fn figure(&self, key: &str, need: Need, low: f64, high: f64) -> Result<f64, Error> {
        let node = self.need(key)?;
        self.number(key, node, need, low, high)
    }

    /// A whole number within limits, if it is there.
    pub fn maybe_count(&self, key: &str, need: Need, low: u32, high: u32) -> Result<Option<u32>, Error> {
        let value = self.maybe_figure(key, need, low.into(), high.into())?;
        value.map(|value| self.whole(key, value)).transpose()
    }

    /// A whole number within limits.
    pub fn count(&self, key: &str, need: Need, low: u32, high: u32) -> Result<u32, Error> {
        let value = self.figure(key, need, low.into(), high.into())?;
        self.whole(key, value)
    }

    fn whole(&self, key: &str, value: f64) -> Result<u32, Error> {
        if value.fract() != 0.0 {
            return Err(self.wrong(key, &format!("is {value}"), "give a whole number"));
        }
        Ok(value as u32)
    }

    /// A length of time, under its name with any unit, if it is there. Limits are in s.
    pub fn maybe_time(&self, name: &str, need: Need, low: f64, high: f64) -> Result<Option<Span>, Error> {
        let Some((node, key)) = self.one_of(&keys(name, false))? else {
            return Ok(None);
        };
        let unit = unit(&key);
        let value = self.number(&key, node, need, low / unit, high / unit)?;
        Ok(Some(Span::from_seconds(value * unit)))
    }

    /// A length of time, under its name with any unit. Limits are in s.
    pub fn time(&self, name: &str, need: Need, low: f64, high: f64) -> Result<Span, Error> {
        self.maybe_time(name, need, low, high)?
            .ok_or_else(|| self.missing(&format!("{name}_ms")))
    }

    /// A path of the control program: its time, or its length in instructions and the processor's rate. Up to 1 s.
    pub fn path_time(&self, name: &str, instructions_per_s: f64) -> Result<Span, Error> {
        let Some((node, key)) = self.one_of(&keys(name, true))? else {
            return Err(self.missing(&format!("{name}{INSTRUCTIONS}")));
        };
        if !key.ends_with(INSTRUCTIONS) {
            let unit = unit(&key);
            let value = self.number(&key, node, Need::Source, 0.0, 1.0 / unit)?;
            return Ok(Span::from_seconds(value * unit));
        }
        let value = self.number(&key, node, Need::Source, 0.0, instructions_per_s)?;
        let seconds = value / instructions_per_s;
        if let Some(last) = self.notes.stated.borrow_mut().last_mut() {
            last.value = format!("{} = {} µs", last.value, plain((seconds * 1e9).round() / 1e3));
        }
        Ok(Span::from_seconds(seconds))
    }

    /// A key with its unit of time, if one is there: its value, and the unit in s.
    pub fn with_unit(&self, name: &str) -> Result<Option<(&Node, String, f64)>, Error> {
        let found = self.one_of(&keys(name, false))?;
        Ok(found.map(|(node, key)| {
            let unit = unit(&key);
            (node, key, unit)
        }))
    }

    /// True or false by choice, if it is there.
    pub fn maybe_choice(&self, key: &str) -> Result<Option<bool>, Error> {
        let flag = self.maybe_flag(key)?;
        if let (Some(flag), Some(node)) = (flag, self.get(key)) {
            let standing = match node.place {
                Place::Set => Standing::Set,
                Place::Line(_) | Place::Like(_) => Standing::Chosen,
            };
            self.state(key, flag.to_string(), standing);
        }
        Ok(flag)
    }

    fn number(&self, key: &str, node: &Node, need: Need, low: f64, high: f64) -> Result<f64, Error> {
        let (value, standing) = match &node.value {
            Value::Number(value) if node.place == Place::Set => (*value, Standing::Set),
            Value::Number(value) if need == Need::Nothing => (*value, Standing::Chosen),
            Value::Number(value) => {
                let hint = format!(
                    "write {key} = {{ value = {value}, source = \"…\" }}; without one, \"unverified\""
                );
                return Err(self.wrong(key, "has no source", &hint));
            }
            Value::Table(_) => {
                let figure = self.table(key)?;
                let Value::Number(value) = figure.need("value")?.value else {
                    return Err(figure.wrong("value", "is not a number", "give a number"));
                };
                let standing = figure.standing(need)?;
                figure.finish()?;
                (value, standing)
            }
            other => {
                let hint = format!("write {key} = {{ value = …, source = \"…\" }}");
                return Err(self.wrong(key, &format!("is {}", other.what()), &hint));
            }
        };
        if !(low..=high).contains(&value) {
            let hint = format!("give a value from {} to {}", plain(low), plain(high));
            return Err(self.wrong(key, &format!("is {value}"), &hint));
        }
        self.state(key, plain(value), standing);
        Ok(value)
    }

    /// The source or the calibration that stands in this table.
    pub fn standing(&self, need: Need) -> Result<Standing, Error> {
        let found = self.one_of(&["source".into(), "calibrated".into()])?;
        let Some((_, key)) = found else {
            return match need {
                Need::Nothing => Ok(Standing::Chosen),
                Need::Source => Err(self.missing("source")),
            };
        };
        let text = self.text(&key)?.trim().to_string();
        if text.is_empty() {
            let hint = match key == "source" {
                true => "name where it is from, or write \"unverified\"",
                false => "say on what it was calibrated, and how well",
            };
            return Err(self.wrong(&key, "is empty", hint));
        }
        Ok(match key.as_str() {
            "calibrated" => Standing::Calibrated(text),
            _ if text == "unverified" || text.starts_with("assumed") => Standing::Unverified(text),
            _ => Standing::Source(text),
        })
    }

    /// Notes a figure for who wants to see them all.
    pub fn state(&self, key: &str, value: String, standing: Standing) {
        self.notes.stated.borrow_mut().push(Stated {
            key: self.path_of(key),
            value,
            standing,
        });
    }
}

fn keys(name: &str, path: bool) -> Vec<String> {
    let units = UNITS.iter().map(|(unit, _)| *unit);
    let all = units.chain(path.then_some(INSTRUCTIONS));
    all.map(|unit| format!("{name}{unit}")).collect()
}

fn unit(key: &str) -> f64 {
    let known = UNITS.iter().find(|(end, _)| key.ends_with(end));
    known.expect("made from the units").1
}

/// A number as a person writes it, to 12 figures: 0.1 / 1e-3 is 100.
pub fn plain(value: f64) -> String {
    let short: f64 = format!("{value:.11e}").parse().unwrap_or(value);
    match short != 0.0 && !(1e-4..1e15).contains(&short.abs()) {
        true => format!("{short:e}"),
        false => short.to_string(),
    }
}
