//! `--set KEY=VALUE`: a value changed for one run, before the file is checked.

use std::collections::BTreeMap;

use satline_program::Error;

use super::tree::{Node, Place, Value, parse_set};

/// Puts a value at a dotted path. A part of the path that meets a list is an entry's number from 0, or its `name`.
///
/// A key that is not in the file is made: whether it is known is checked with all others.
///
/// # Errors
/// The path leads through a value that has no keys, or to an entry that is not there.
pub fn apply(root: &mut Node, key: &str, value: &str) -> Result<(), Error> {
    let mut parts: Vec<&str> = key.split('.').collect();
    if parts.iter().any(|part| part.is_empty()) {
        return Err(wrong(
            key,
            "is not a path",
            "write KEY.KEY=VALUE, as in storage.pageable_frames=200",
        ));
    }
    // A figure's value is the figure: its source must not stay behind.
    if parts.len() > 1 && parts.last() == Some(&"value") {
        parts.pop();
    }
    let mut at = root;
    let last = parts.len() - 1;
    for (depth, part) in parts.iter().enumerate() {
        let place = match &mut at.value {
            Value::Table(entries) => entries.entry((*part).into()).or_insert_with(|| Node {
                place: Place::Set,
                value: Value::Table(BTreeMap::new()),
            }),
            Value::List(entries) => entry(entries, part, key)?,
            other => {
                let before = parts[..depth].join(".");
                let why = format!("leads into {before}, which is {}", other.what());
                return Err(wrong(key, &why, &format!("set {before} itself")));
            }
        };
        if depth == last {
            *place = parse_set(value);
        }
        at = place;
    }
    Ok(())
}

fn entry<'a>(entries: &'a mut [Node], part: &str, key: &str) -> Result<&'a mut Node, Error> {
    let names: Vec<&str> = entries.iter().filter_map(name).collect();
    let number = match part.parse::<usize>() {
        Ok(number) => Some(number).filter(|&number| number < entries.len()),
        Err(_) => entries.iter().position(|entry| name(entry) == Some(part)),
    };
    let Some(number) = number else {
        let why = format!("has no entry {part:?} to go to");
        let hint = match (names.is_empty(), entries.len()) {
            (_, 0) => "the list is empty".into(),
            (true, count) => format!("its entries are 0 to {}", count - 1),
            (false, count) => format!("its entries are 0 to {}, or {}", count - 1, names.join(", ")),
        };
        return Err(wrong(key, &why, &hint));
    };
    Ok(&mut entries[number])
}

fn name(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Table(entries) => match &entries.get("name")?.value {
            Value::Text(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

fn wrong(key: &str, why: &str, hint: &str) -> Error {
    Error::input(format!("--set {key:?} {why}"), hint)
}
