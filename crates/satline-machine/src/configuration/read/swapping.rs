//! Table `[swapping]` of a machine file, and the words of an area's purpose.

use satline_program::Error;

use super::near::nearest;
use super::stated::{Need, Standing};
use super::table::Table;
use super::tree::{Node, Place, Value};
use crate::configuration::swapping::{FAULTS, MOST_SET_PAGES, ORDERS, PURPOSES, Word, word};
use crate::configuration::{DeviceUnit, PageArea, Prepage, Purpose, SwappingPlan};

/// A user has no more sets.
const MOST_SETS: u32 = 1_000_000;

/// What the file says of swapping, for areas of these purposes; every key has a default, and stands among the figures.
///
/// # Errors
/// A key is unknown or impossible, or an area is for swapping where nothing swaps.
pub fn read(
    file: &Table<'_>,
    devices: &[DeviceUnit],
    areas: &[PageArea],
    instructions_per_s: f64,
) -> Result<Option<SwappingPlan>, Error> {
    let for_sets = areas.iter().any(|area| area.purpose.holds_sets());
    let Some(table) = file.maybe_table("swapping")? else {
        return match for_sets {
            true => Err(file.wrong(
                "paging_area",
                "has a purpose that needs swapping, and there is no table [swapping]",
                "add [swapping], or give the area purpose = \"paging\"",
            )),
            false => Ok(None),
        };
    };
    let set_pages = count(&table, "set_pages", 8, 1, MOST_SET_PAGES)?;
    let minimum = count(&table, "minimum_working_set_pages", 2 * set_pages, 0, MOST_SETS)?;
    let plan = SwappingPlan {
        set_pages,
        minimum_working_set: minimum,
        trim: flag(&table, "trim")?,
        logical: flag(&table, "logical")?,
        physical_order: choice(&table, "physical_order", ORDERS)?,
        prepage_interactive: prepage(&table, "prepage_interactive_sets", 2)?,
        prepage_noninteractive: prepage(&table, "prepage_noninteractive_sets", 0)?,
        swap_faults: choice(&table, "swap_faults", FAULTS)?,
        set_page: table.path_time("set_page", instructions_per_s)?,
    };
    table.finish()?;
    let too_small = areas.iter().find(|area| {
        area.purpose.holds_sets() && devices[area.device].model.slots_per_cylinder() < set_pages
    });
    if let Some(area) = too_small {
        let unit = &devices[area.device];
        let slots = unit.model.slots_per_cylinder();
        let why = format!("is {set_pages}: a cylinder of {} has {slots} slots", unit.name);
        return Err(table.wrong("set_pages", &why, "give fewer, or another device for swapping"));
    }
    Ok(Some(plan))
}

/// What an area is for.
pub fn purpose(table: &Table<'_>) -> Result<Purpose, Error> {
    match table.get("purpose") {
        Some(node) => known(table, "purpose", node, PURPOSES),
        None => Ok(Purpose::default()),
    }
}

fn count(table: &Table<'_>, key: &str, default: u32, low: u32, high: u32) -> Result<u32, Error> {
    let given = table.maybe_count(key, Need::Nothing, low, high)?;
    if given.is_none() {
        by_default(table, key, default);
    }
    Ok(given.unwrap_or(default))
}

fn flag(table: &Table<'_>, key: &str) -> Result<bool, Error> {
    match (table.maybe_flag(key)?, table.get(key)) {
        (Some(flag), Some(node)) => {
            state(table, key, node, flag);
            Ok(flag)
        }
        _ => {
            by_default(table, key, true);
            Ok(true)
        }
    }
}

/// One of some words; the first is the default.
pub(super) fn choice<T: Copy + PartialEq>(
    table: &Table<'_>,
    key: &str,
    words: &[Word<T>],
) -> Result<T, Error> {
    let Some(node) = table.get(key) else {
        by_default(table, key, words[0].0);
        return Ok(words[0].1);
    };
    let value = known(table, key, node, words)?;
    state(table, key, node, word(words, &value));
    Ok(value)
}

pub(super) fn known<T: Copy>(
    table: &Table<'_>,
    key: &str,
    node: &Node,
    words: &[Word<T>],
) -> Result<T, Error> {
    let names = || words.iter().map(|(name, _)| *name);
    let all = || names().collect::<Vec<_>>().join(", ");
    let Value::Text(text) = &node.value else {
        let why = format!("is {}", node.value.what());
        return Err(table.wrong(key, &why, &format!("give one of {}, in quotes", all())));
    };
    match words.iter().find(|(name, _)| name == text) {
        Some((_, value)) => Ok(*value),
        None => {
            let shown: String = text.chars().take(64).collect();
            let hint = match nearest(text, names()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("give one of {}", all()),
            };
            Err(table.wrong(key, &format!("is {shown:?}"), &hint))
        }
    }
}

/// A number of sets, or "all".
fn prepage(table: &Table<'_>, key: &str, default: u32) -> Result<Prepage, Error> {
    match table.get(key) {
        Some(node) if matches!(node.value, Value::Text(_)) => {
            let all = known(table, key, node, &[("all", Prepage::All)])?;
            state(table, key, node, "all");
            Ok(all)
        }
        _ => Ok(Prepage::Sets(count(table, key, default, 0, MOST_SETS)?)),
    }
}

pub(super) fn state(table: &Table<'_>, key: &str, node: &Node, value: impl ToString) {
    let standing = match node.place {
        Place::Set => Standing::Set,
        Place::Line(_) | Place::Like(_) => Standing::Chosen,
    };
    table.state(key, value.to_string(), standing);
}

fn by_default(table: &Table<'_>, key: &str, value: impl ToString) {
    table.state(key, value.to_string(), Standing::Source("the default".into()));
}
