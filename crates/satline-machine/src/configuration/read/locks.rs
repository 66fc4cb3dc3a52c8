//! `[[lock]]`: the control program's locks, and which of its work is done under them.

use satline_program::Error;

use super::near::nearest;
use super::stated::Need;
use super::swapping::choice;
use super::table::Table;
use crate::configuration::multiprocessor::{LOCK_WAITS, WORKS};
use crate::configuration::{LockPlan, LockWait, Work};

const MOST_LOCKS: usize = 16;

/// The locks of a machine file; none is the default. That of free storage need hold nothing else.
///
/// # Errors
/// Two have one name, one holds nothing, or work would be under locks for longer than it takes.
pub fn read(file: &Table<'_>, of_free_storage: Option<&str>) -> Result<Vec<LockPlan>, Error> {
    let mut locks: Vec<LockPlan> = Vec::new();
    let mut held = [0.0; WORKS.len()];
    for table in file.list("lock", MOST_LOCKS)? {
        let lock = lock(&table, of_free_storage)?;
        if locks.iter().any(|other| other.name == lock.name) {
            let why = format!("is {:?} again", lock.name);
            return Err(table.wrong("name", &why, "give locks different names"));
        }
        for &(work, part) in &lock.holds {
            held[work as usize] += part;
            // Parts are written as decimals.
            if held[work as usize] > 1.0 + 1e-9 {
                let name = WORKS[work as usize].0;
                let why = format!(
                    "makes {:.4} of {name} under locks, one after the other",
                    held[work as usize]
                );
                return Err(table.wrong("holds", &why, "the parts of one work add up to at most 1"));
            }
        }
        locks.push(lock);
    }
    Ok(locks)
}

fn lock(table: &Table<'_>, of_free_storage: Option<&str>) -> Result<LockPlan, Error> {
    let name = table.name("name")?;
    let wait = choice(table, "wait", LOCK_WAITS)?;
    if of_free_storage == Some(&name) && table.get("holds").is_none() {
        table.finish()?;
        return Ok(LockPlan {
            name,
            wait,
            holds: Vec::new(),
        });
    }
    let inner = table.table("holds")?;
    let mut holds = Vec::new();
    for &(name, work) in WORKS {
        if let Some(part) = inner.maybe_figure(name, Need::Source, 0.0, 1.0)? {
            if wait == LockWait::Suspend && work == Work::Dispatch {
                let hint = "a processor that dispatches has nobody to go to: give the lock wait = \"spin\"";
                return Err(inner.wrong(name, "is held under a lock that suspends", hint));
            }
            holds.push((work, part));
        }
    }
    inner.finish()?;
    table.finish()?;
    if holds.iter().all(|&(_, part)| part == 0.0) {
        let all: Vec<&str> = WORKS.iter().map(|(name, _)| *name).collect();
        let hint = format!("give a part above 0 of one of {}", all.join(", "));
        return Err(table.wrong("holds", "holds nothing", &hint));
    }
    Ok(LockPlan { name, wait, holds })
}

/// Work by its name in a list.
pub(super) fn work(table: &Table<'_>, key: &str, name: &str, among: &[Work]) -> Result<Work, Error> {
    let known = || WORKS.iter().filter(|(_, work)| among.contains(work));
    if let Some((_, work)) = known().find(|(known, _)| *known == name) {
        return Ok(*work);
    }
    let hint = match nearest(name, known().map(|(name, _)| *name)) {
        Some(near) => format!("did you mean {near}?"),
        None => format!(
            "it can have {}",
            known().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
        ),
    };
    let shown: String = name.chars().take(64).collect();
    Err(table.wrong(key, &format!("has {shown:?}"), &hint))
}
