//! Distributions in a file: `think_s = { exponential = 15.0 }`.

use satline_program::Error;

use super::stated::{Need, plain};
use super::table::Table;
use super::tree::{Node, Value};
use crate::engine::Distribution;

const FORMS: [&str; 6] = [
    "fixed",
    "exponential",
    "uniform",
    "lognormal",
    "hyperexponential",
    "empirical",
];
const HINT: &str = "write { exponential = MEAN }, { fixed = VALUE }, { uniform = [LOW, HIGH] }, { lognormal = { mean = …, \
                    sd = … } }, { hyperexponential = { first = SHARE, means = [ONE, OTHER] } } or { empirical = \
                    [[0.0, …], …, [1.0, …]] }, in the unit at the end of the key";
/// A measured distribution of more rows is no table any more.
const MOST_ROWS: usize = 10_000;

impl Table<'_> {
    /// A distribution of times, under its name with any unit.
    pub fn distribution(&self, name: &str) -> Result<Distribution, Error> {
        let Some((node, key, unit)) = self.with_unit(name)? else {
            return Err(self.missing(&format!("{name}_s")));
        };
        let Value::Table(_) = &node.value else {
            return Err(self.wrong(&key, &format!("is {}", node.value.what()), HINT));
        };
        let table = self.table(&key)?;
        let Some((node, form)) = table.one_of(&FORMS.map(String::from))? else {
            return Err(self.wrong(&key, "names no distribution", HINT));
        };
        let standing = table.standing(Need::Nothing)?;
        table.finish()?;
        let made = table.make(&form, node, unit)?;
        let distribution =
            made.map_err(|error| table.wrong(&form, &format!("makes none: {}", error.message), &error.hint))?;
        let value = match form.as_str() {
            "fixed" | "exponential" => format!("{form} {}", shown(node)),
            _ => format!(
                "{form} {}, mean {}",
                shown(node),
                plain(distribution.mean_s() / unit)
            ),
        };
        self.state(&key, value, standing);
        Ok(distribution)
    }

    /// The distribution, or what its maker says against it.
    fn make(&self, form: &str, node: &Node, unit: f64) -> Result<Result<Distribution, Error>, Error> {
        let number = |node: &Node| match node.value {
            Value::Number(value) => Ok(value),
            _ => Err(self.wrong(form, &format!("has {} for a number", node.value.what()), HINT)),
        };
        let pair = |node: &Node| match &node.value {
            Value::List(both) if both.len() == 2 => Ok((number(&both[0])?, number(&both[1])?)),
            _ => Err(self.wrong(form, "is not a pair", HINT)),
        };
        Ok(match form {
            "fixed" => Distribution::fixed(number(node)? * unit),
            "exponential" => Distribution::exponential(number(node)? * unit),
            "uniform" => {
                let (low, high) = pair(node)?;
                Distribution::uniform(low * unit, high * unit)
            }
            "lognormal" => {
                let of = self.table(form)?;
                let (mean, sd) = (number(of.need("mean")?)?, number(of.need("sd")?)?);
                of.finish()?;
                Distribution::lognormal(mean * unit, sd * unit)
            }
            "hyperexponential" => {
                let of = self.table(form)?;
                let (first, means) = (number(of.need("first")?)?, pair(of.need("means")?)?);
                of.finish()?;
                Distribution::hyperexponential(first, [means.0 * unit, means.1 * unit])
            }
            _ => {
                let Value::List(rows) = &node.value else {
                    return Err(self.wrong(form, "is not a list of [share, value]", HINT));
                };
                if rows.len() > MOST_ROWS {
                    let why = format!("has {} rows", rows.len());
                    return Err(self.wrong(form, &why, &format!("at most {MOST_ROWS} are possible")));
                }
                let rows = rows.iter().map(|row| {
                    let (share, value) = pair(row)?;
                    Ok((share, value * unit))
                });
                Distribution::empirical(&rows.collect::<Result<Vec<_>, Error>>()?)
            }
        })
    }
}

/// The parameters as a person reads them.
fn shown(node: &Node) -> String {
    match &node.value {
        Value::Number(number) => plain(*number),
        Value::List(rows) if rows.len() > 2 => format!("of {} rows", rows.len()),
        Value::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Table(entries) => {
            let parts = entries
                .iter()
                .map(|(key, value)| format!("{key} {}", shown(value)));
            parts.collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    }
}
