//! Paths of devices: control unit and channel.

use std::collections::{BTreeMap, BTreeSet};

use satline_program::Error;

use super::table::Table;
use super::tree::{Node, Value};

const MOST_PATHS: usize = 8;
const MOST_NUMBER: u16 = 255;
const HINT: &str =
    "write paths = [[CONTROL UNIT, CHANNEL], …] with numbers from 0 to 255, the preferred first";

/// The paths of a `[[device]]`, the preferred first.
///
/// # Errors
/// They are no list of pairs of numbers.
pub fn read(table: &Table<'_>) -> Result<Vec<(u16, u16)>, Error> {
    let wrong = |why: &str| table.wrong("paths", why, HINT);
    let Value::List(list) = &table.need("paths")?.value else {
        return Err(wrong("is no list"));
    };
    if !(1..=MOST_PATHS).contains(&list.len()) {
        return Err(wrong(&format!("has {} paths, not 1 to {MOST_PATHS}", list.len())));
    }
    let number = |node: &Node| match node.value {
        Value::Number(number)
            if number.fract() == 0.0 && (0.0..=f64::from(MOST_NUMBER)).contains(&number) =>
        {
            Ok(number as u16)
        }
        _ => Err(wrong("has something that is no such number")),
    };
    let paths = list.iter().map(|path| match &path.value {
        Value::List(both) if both.len() == 2 => Ok((number(&both[0])?, number(&both[1])?)),
        _ => Err(wrong("has something that is no pair")),
    });
    paths.collect()
}

/// Numbers of control units and channels that no device of the file has.
#[derive(Debug, Default)]
pub struct FreePaths {
    control_units: BTreeSet<u16>,
    channels: BTreeSet<u16>,
}

impl FreePaths {
    /// These are taken.
    pub fn taken(&mut self, paths: &[(u16, u16)]) {
        self.control_units.extend(paths.iter().map(|path| path.0));
        self.channels.extend(paths.iter().map(|path| path.1));
    }

    /// Paths like these with control units and channels of their own.
    ///
    /// # Errors
    /// There are no more numbers.
    pub fn like(&mut self, paths: &[(u16, u16)], table: &Table<'_>) -> Result<Vec<(u16, u16)>, Error> {
        let (mut units, mut channels) = (BTreeMap::new(), BTreeMap::new());
        let own = paths.iter().map(|&(unit, channel)| {
            let unit = own(&mut self.control_units, &mut units, unit)?;
            Some((unit, own(&mut self.channels, &mut channels, channel)?))
        });
        own.collect::<Option<_>>().ok_or_else(|| {
            table.wrong(
                "own_paths",
                "needs numbers beyond 255",
                "give fewer devices own paths",
            )
        })
    }
}

/// The lowest free number for a unit or channel, the same one whenever it occurs in the device's paths.
fn own(taken: &mut BTreeSet<u16>, given: &mut BTreeMap<u16, u16>, number: u16) -> Option<u16> {
    if let Some(&own) = given.get(&number) {
        return Some(own);
    }
    let own = (0..=MOST_NUMBER).find(|other| !taken.contains(other))?;
    taken.insert(own);
    given.insert(number, own);
    Some(own)
}
