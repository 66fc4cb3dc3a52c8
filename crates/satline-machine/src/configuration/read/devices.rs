//! Devices with their paths, and the paging areas on them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use satline_program::Error;

use super::find;
use super::near::nearest;
use super::paths::{self, FreePaths};
use super::stated::Need;
use super::swapping;
use super::table::Table;
use super::tree::Value;
use crate::configuration::{DeviceUnit, PageArea, Role};
use crate::devices::DeviceModel;

const MOST_DEVICES: usize = 1000;
const ROLES: [(&str, Role); 3] = [
    ("paging", Role::Paging),
    ("files", Role::Files),
    ("both", Role::Both),
];

/// Devices, and which of them an entry of the file made.
struct Units {
    devices: Vec<DeviceUnit>,
    groups: BTreeMap<String, std::ops::Range<usize>>,
    free: FreePaths,
}

/// All devices and paging areas of a machine file.
///
/// # Errors
/// A device file is wrong, or devices, paths and areas do not fit together.
pub fn read(file: &Table<'_>, folders: &[PathBuf]) -> Result<(Vec<DeviceUnit>, Vec<PageArea>), Error> {
    let mut units = Units {
        devices: Vec::new(),
        groups: BTreeMap::new(),
        free: FreePaths::default(),
    };
    let mut models = BTreeMap::new();
    let tables = file.list("device", MOST_DEVICES)?;
    // All paths of the file first: what a device gets of its own is nobody else's, nor of one further down.
    for table in &tables {
        units.free.taken(&paths::read(table)?);
    }
    for table in tables {
        group(&table, &mut units, &mut models, folders)?;
    }
    let mut areas: Vec<PageArea> = Vec::new();
    for table in file.list("paging_area", MOST_DEVICES)? {
        area(&table, &units, &mut areas)?;
    }
    if areas.is_empty() {
        return Err(file.missing("paging_area"));
    }
    if !areas.iter().any(|area| area.purpose.holds_pages()) {
        let hint = "give one purpose = \"paging\" or \"any\": single pages need a place";
        return Err(file.wrong("paging_area", "has only areas for swapping", hint));
    }
    let without =
        units.devices.iter().enumerate().find(|(number, unit)| {
            unit.role != Role::Files && areas.iter().all(|area| area.device != *number)
        });
    if let Some((_, unit)) = without {
        let why = format!("leaves {} out, whose role is paging", unit.name);
        let hint = "give it a [[paging_area]], or role = \"files\"";
        return Err(file.wrong("paging_area", &why, hint));
    }
    Ok((units.devices, areas))
}

fn group(
    table: &Table<'_>,
    units: &mut Units,
    models: &mut BTreeMap<String, DeviceModel>,
    folders: &[PathBuf],
) -> Result<(), Error> {
    let name = table.name("name")?;
    if name.contains('.') {
        return Err(table.wrong("name", "has a dot", "--set parts paths at dots: leave it out"));
    }
    let role = role(table)?;
    let paths = paths::read(table)?;
    let count = table.maybe_count("count", Need::Nothing, 1, MOST_DEVICES as u32)?;
    let own_paths = table.maybe_flag("own_paths")?.unwrap_or(false);
    let kind = table.text("type")?;
    if !models.contains_key(&kind) {
        models.insert(kind.clone(), model(table, &kind, folders)?);
    }
    let model = &driven(table, &models[&kind])?;
    table.finish()?;
    let first = units.devices.len();
    for number in 1..=count.unwrap_or(1) {
        let unit = match count {
            Some(_) => format!("{name}-{number}"),
            None => name.clone(),
        };
        if units.devices.iter().any(|other| other.name == unit) || units.groups.contains_key(&unit) {
            return Err(table.wrong(
                "name",
                &format!("makes a second {unit:?}"),
                "give devices different names",
            ));
        }
        let paths = match own_paths && number > 1 {
            true => units.free.like(&paths, table)?,
            false => paths.clone(),
        };
        units.devices.push(DeviceUnit {
            name: unit,
            model: model.clone(),
            role,
            paths,
        });
    }
    if units.devices.len() > MOST_DEVICES {
        return Err(table.wrong(
            "count",
            "makes too many devices",
            &format!("at most {MOST_DEVICES} are possible"),
        ));
    }
    if units
        .groups
        .insert(name.clone(), first..units.devices.len())
        .is_some()
    {
        return Err(table.wrong(
            "name",
            &format!("is {name:?} again"),
            "give devices different names",
        ));
    }
    Ok(())
}

/// The device as the control program drives it.
fn driven(table: &Table<'_>, model: &DeviceModel) -> Result<DeviceModel, Error> {
    let exposures = table.maybe_count("exposures", Need::Nothing, 1, 64)?;
    let exposures = exposures.map_or(model.exposures(), |count| count as usize);
    if exposures > model.exposures() {
        let why = format!("is more than the {} of its type", model.exposures());
        return Err(table.wrong("exposures", &why, "give fewer, or leave it out"));
    }
    let across = table.maybe_flag("chain_across_cylinders")?.unwrap_or(false);
    if across && !model.can_chain_across_cylinders() {
        let why = "is true, but its type has an arm or more than 65535 pages";
        return Err(table.wrong("chain_across_cylinders", why, "leave it out"));
    }
    Ok(model.driven(exposures, across))
}

/// A type is a name of `devices/`, or a path.
fn model(table: &Table<'_>, kind: &str, folders: &[PathBuf]) -> Result<DeviceModel, Error> {
    let is_path = kind.ends_with(".toml") || kind.contains('/');
    let wanted = match is_path {
        true => PathBuf::from(kind),
        false => Path::new("devices").join(format!("{kind}.toml")),
    };
    let Some(path) = find(&wanted, folders) else {
        let known = known_types(folders);
        let hint = match nearest(kind, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean {near}?"),
            None if known.is_empty() => {
                "copy the folder devices beside the machine file, or give a path".into()
            }
            None => format!("give one of {}, or a path to a device file", known.join(", ")),
        };
        return Err(table.wrong("type", &format!("is {kind:?}, which has no file"), &hint));
    };
    DeviceModel::read(&path)
}

fn known_types(folders: &[PathBuf]) -> Vec<String> {
    let files = folders
        .iter()
        .filter_map(|folder| folder.join("devices").read_dir().ok());
    let names = files
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut types: Vec<String> = names
        .filter_map(|name| Some(name.strip_suffix(".toml")?.to_string()))
        .collect();
    types.sort_unstable();
    types.dedup();
    types
}

fn role(table: &Table<'_>) -> Result<Role, Error> {
    let text = table.text("role")?;
    let known = ROLES.iter().find(|(name, _)| *name == text);
    let Some((_, role)) = known else {
        return Err(table.wrong("role", &format!("is {text:?}"), "give paging, files or both"));
    };
    Ok(*role)
}

fn area(table: &Table<'_>, units: &Units, areas: &mut Vec<PageArea>) -> Result<(), Error> {
    let on = on(table, units)?;
    let limit = 1_000_000;
    let first_cylinder = table
        .maybe_count("first_cylinder", Need::Nothing, 0, limit)?
        .unwrap_or(0);
    let cylinders = table.maybe_count("cylinders", Need::Nothing, 1, limit)?;
    let tier = table.maybe_count("tier", Need::Nothing, 0, 15)?.unwrap_or(0);
    let purpose = swapping::purpose(table)?;
    table.finish()?;
    for device in on {
        let unit = &units.devices[device];
        let name = &unit.name;
        if unit.role == Role::Files {
            let why = format!("names {name}, whose role is files");
            return Err(table.wrong("device", &why, "give it role = \"paging\" or \"both\""));
        }
        let all = unit.model.cylinders();
        let cylinders = cylinders.unwrap_or(all.saturating_sub(first_cylinder));
        if cylinders == 0 || first_cylinder + cylinders > all {
            let why = format!("goes beyond {name}, which has {all}");
            return Err(table.wrong("cylinders", &why, "give fewer, or an earlier first_cylinder"));
        }
        let meets = |area: &PageArea| {
            area.device == device
                && area.first_cylinder < first_cylinder + cylinders
                && first_cylinder < area.first_cylinder + area.cylinders
        };
        if areas.iter().any(meets) {
            let why = format!("meets another paging area on {name}");
            return Err(table.wrong("cylinders", &why, "areas of a device lie beside each other"));
        }
        areas.push(PageArea {
            device,
            first_cylinder,
            cylinders,
            tier,
            purpose,
        });
    }
    Ok(())
}

/// The devices that an area is on: `device` names one, or all that one entry made; `devices` lists such names.
fn on(table: &Table<'_>, units: &Units) -> Result<Vec<usize>, Error> {
    let Some((node, key)) = table.one_of(&["device".into(), "devices".into()])? else {
        return Err(table.missing("device"));
    };
    let names = match &node.value {
        Value::List(names) if key == "devices" => names.iter().collect(),
        _ => vec![node],
    };
    let mut on = Vec::new();
    for node in names {
        let Value::Text(name) = &node.value else {
            return Err(table.wrong(
                &key,
                &format!("has {}", node.value.what()),
                "name devices, in quotes",
            ));
        };
        let found = match units.groups.get(name) {
            Some(group) => group.clone(),
            None => match units.devices.iter().position(|unit| unit.name == *name) {
                Some(device) => device..device + 1,
                None => {
                    let known = units.groups.keys().map(String::as_str);
                    let hint = match nearest(name, known.clone()) {
                        Some(near) => format!("did you mean {near}?"),
                        None => format!("the devices are {}", known.collect::<Vec<_>>().join(", ")),
                    };
                    return Err(table.wrong(&key, &format!("names {name:?}, which is no device"), &hint));
                }
            },
        };
        on.extend(found);
    }
    Ok(on)
}
