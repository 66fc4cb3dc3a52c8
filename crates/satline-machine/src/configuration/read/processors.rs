//! How fast the processors are: by model, from the table of processors, or by a figure.

use std::path::PathBuf;

use satline_program::Error;

use super::near::nearest;
use super::stated::Need;
use super::table::{Notes, Table};
use super::{find, text_of, tree};
use crate::configuration::Processors;

const TABLE: &str = "processors.toml";
const RATE: &str = "reference_instructions_per_s";
const MOST: u32 = 64;

/// The processors, instructions per second of one of them, and whether the file gives their number itself.
///
/// # Errors
/// The model is not in the table, there is no table, or a figure is impossible.
pub fn read(table: &Table<'_>, folders: &[PathBuf]) -> Result<(Processors, f64, bool), Error> {
    let model = table.get("model").map(|_| table.name("model")).transpose()?;
    let own_speed = table.maybe_figure("speed", Need::Source, 1e-3, 1e5)?;
    let own_count = table.maybe_count("count", Need::Nothing, 1, MOST)?;
    let own_rate = table.maybe_figure(RATE, Need::Source, 1.0, 1e12)?;
    if model.is_none() && own_speed.is_none() {
        let hint =
            "write model = \"3081D\", a model of processors.toml, or speed = { value = …, source = \"…\" }";
        return Err(table.wrong("model", "is missing, and speed too", hint));
    }
    let listed = match (&model, own_rate) {
        (None, Some(_)) => None,
        _ => Some(listed(table, model.as_deref(), own_rate.is_none(), folders)?),
    };
    table.finish()?;
    let speed = own_speed
        .or_else(|| listed.and_then(|listed| listed.speed))
        .expect("a model has a speed");
    let count = own_count
        .or_else(|| listed.and_then(|listed| listed.count))
        .unwrap_or(1);
    let rate = own_rate
        .or_else(|| listed.and_then(|listed| listed.rate))
        .expect("the table has a rate");
    Ok((Processors { count, speed }, rate * speed, own_count.is_some()))
}

#[derive(Debug, Clone, Copy)]
struct Listed {
    rate: Option<f64>,
    count: Option<u32>,
    speed: Option<f64>,
}

fn listed(
    machine: &Table<'_>,
    model: Option<&str>,
    with_rate: bool,
    folders: &[PathBuf],
) -> Result<Listed, Error> {
    let key = if model.is_some() { "model" } else { RATE };
    let Some(path) = find(TABLE.as_ref(), folders) else {
        let hint = "copy it there from the shipped machines, or give speed and reference_instructions_per_s";
        return Err(machine.wrong(key, "needs processors.toml beside the machine file", hint));
    };
    let name = path.display().to_string();
    let root = tree::parse(
        &text_of(&path, "machines/processors.toml is the shipped table")?,
        &name,
    )?;
    let notes = Notes {
        file: name,
        stated: Default::default(),
    };
    let file = Table::root(&root, &notes);
    file.get("note");
    let rate = file.figure(RATE, Need::Source, 1.0, 1e12)?;
    let mut found = Listed {
        rate: Some(rate),
        count: None,
        speed: None,
    };
    let processors = file.table("processor")?;
    file.finish()?;
    let models = processors.tables()?;
    // Every row is checked, so that a wrong one is found before somebody needs it.
    let mut used = vec![(RATE, with_rate)];
    for (name, row) in &models {
        let count = row.maybe_count("processors", Need::Nothing, 1, MOST)?;
        let speed = row.figure("relative_speed", Need::Source, 1e-3, 1e5)?;
        row.finish()?;
        if Some(*name) == model {
            (found.count, found.speed) = (count, Some(speed));
            used.push((name, true));
        }
    }
    if let Some(model) = model.filter(|_| found.speed.is_none()) {
        let names: Vec<&str> = models.iter().map(|(name, _)| *name).collect();
        let hint = match nearest(model, names.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("{TABLE} has {}", names.join(", ")),
        };
        return Err(machine.wrong("model", &format!("{model:?} is not in {TABLE}"), &hint));
    }
    let figures = notes.stated.borrow().clone();
    for (part, _) in used.iter().filter(|(_, used)| *used) {
        let of_it = |key: &str| key.split('.').any(|step| step == *part);
        let its = figures.iter().filter(|figure| of_it(&figure.key));
        machine.notes.stated.borrow_mut().extend(its.cloned());
    }
    Ok(found)
}
