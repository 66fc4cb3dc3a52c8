//! `[multiprocessor]` and `[[processor]]`: processors that differ.

use satline_program::Error;

use super::locks::work;
use super::stated::Need;
use super::swapping::{choice, known};
use super::table::Table;
use super::tree::{Node, Value};
use crate::configuration::multiprocessor::{INTERRUPTS, PROCESSOR_ROLES};
use crate::configuration::{
    DeviceUnit, MOST_PROCESSORS, Multiprocessor, ProcessorRole, ProcessorUnit, Processors, Work,
};

const MOST_CHANNEL: u16 = 255;

/// What the file says of processors that differ; their number is that of `[processors]`.
///
/// # Errors
/// A key is unknown or impossible, the numbers of processors differ, or a device has no path.
pub fn read(
    file: &Table<'_>,
    (processors, counted): (&mut Processors, bool),
    devices: &[DeviceUnit],
    instructions_per_s: f64,
) -> Result<Option<Multiprocessor>, Error> {
    let groups = file.list("processor", MOST_PROCESSORS)?;
    let Some(table) = file.maybe_table("multiprocessor")? else {
        return match groups.is_empty() {
            true => Ok(None),
            false => Err(file.wrong(
                "processor",
                "is there, and no table [multiprocessor]",
                "add it: it says what the processors cost each other",
            )),
        };
    };
    let mut channels: Vec<u16> = devices
        .iter()
        .flat_map(|unit| unit.paths.iter().map(|path| path.1))
        .collect();
    channels.sort_unstable();
    channels.dedup();
    let mut units = Vec::new();
    for group in &groups {
        let (unit, count) = self::group(group, &channels)?;
        if unit.role == ProcessorRole::Main && (count > 1 || units.iter().any(is_main)) {
            return Err(group.wrong("role", "makes a second main one", "one processor is the main one"));
        }
        units.extend(std::iter::repeat_n(unit, count));
    }
    if groups.is_empty() {
        let alike = ProcessorUnit {
            role: ProcessorRole::Symmetric,
            channels,
        };
        units = vec![alike; processors.count as usize];
    } else if !counted {
        processors.count = units.len() as u32;
    }
    if units.len() > MOST_PROCESSORS {
        let why = format!("has {} processors", units.len());
        return Err(file.wrong(
            "multiprocessor",
            &why,
            &format!("at most {MOST_PROCESSORS} can differ"),
        ));
    }
    if units.len() != processors.count as usize {
        let why = format!(
            "makes {} processors, and [processors] has {}",
            units.len(),
            processors.count
        );
        return Err(file.wrong("processor", &why, "make them as many: count in either"));
    }
    let main = units.iter().any(is_main);
    if !main && units.iter().any(|unit| unit.role == ProcessorRole::Attached) {
        return Err(file.wrong(
            "processor",
            "has an attached one and no main one",
            "give one role = \"main\"",
        ));
    }
    let main_only = main_only(&table)?;
    if !main && !main_only.is_empty() {
        return Err(table.wrong("main_only", "needs a main processor", "give one role = \"main\""));
    }
    let path = |name| table.path_time(name, instructions_per_s);
    let found = Multiprocessor {
        units,
        interrupts: choice(&table, "interrupts", INTERRUPTS)?,
        signal: table.maybe_choice("signal")?.unwrap_or(false),
        redispatch: table.maybe_choice("redispatch_interrupted_q1")?.unwrap_or(false),
        main_only,
        deferred_start: path("deferred_start")?,
        signalled: path("signalled")?,
        cache_reload: path("cache_reload")?,
        cache_move: path("cache_move")?,
    };
    table.finish()?;
    let nobodys = devices
        .iter()
        .find(|device| !(0..found.units.len()).any(|processor| found.reaches(processor, device)));
    if let Some(device) = nobodys {
        let why = format!("leaves {} without a processor that has a path to it", device.name);
        return Err(file.wrong("processor", &why, "give a processor one of the device's channels"));
    }
    Ok(Some(found))
}

fn is_main(unit: &ProcessorUnit) -> bool {
    unit.role == ProcessorRole::Main
}

/// Processors alike: one, and how many.
fn group(table: &Table<'_>, all: &[u16]) -> Result<(ProcessorUnit, usize), Error> {
    let role = known(table, "role", table.need("role")?, PROCESSOR_ROLES)?;
    let count = table.maybe_count("count", Need::Nothing, 1, MOST_PROCESSORS as u32)?;
    let given = table.get("channels");
    let channels = match (role, given) {
        (ProcessorRole::Attached, Some(_)) => {
            let hint = "leave channels out, or make it role = \"symmetric\"";
            return Err(table.wrong("channels", "are given to an attached processor", hint));
        }
        (ProcessorRole::Attached, None) => Vec::new(),
        (_, None) => all.to_vec(),
        (_, Some(node)) => self::channels(table, node, all)?,
    };
    table.finish()?;
    Ok((ProcessorUnit { role, channels }, count.unwrap_or(1) as usize))
}

fn channels(table: &Table<'_>, node: &Node, all: &[u16]) -> Result<Vec<u16>, Error> {
    let hint = "write channels = [0, 1, …], channels of the devices' paths";
    let Value::List(list) = &node.value else {
        return Err(table.wrong("channels", "is no list", hint));
    };
    let number = |node: &Node| match node.value {
        Value::Number(number) if (0.0..=f64::from(MOST_CHANNEL)).contains(&number) => all
            .iter()
            .copied()
            .find(|&channel| f64::from(channel) == number)
            .ok_or_else(|| table.wrong("channels", &format!("has {number}, which no device has"), hint)),
        _ => Err(table.wrong("channels", "has something that is no number of a channel", hint)),
    };
    list.iter().map(number).collect()
}

/// The list of work that is left to the main processor.
fn main_only(table: &Table<'_>) -> Result<Vec<Work>, Error> {
    const KEY: &str = "main_only";
    let Some(node) = table.get(KEY) else {
        return Ok(Vec::new());
    };
    let hint = "write main_only = [\"user_io_start\", …]";
    let Value::List(list) = &node.value else {
        return Err(table.wrong(KEY, "is no list", hint));
    };
    let mut found = Vec::new();
    for entry in list {
        let Value::Text(name) = &entry.value else {
            return Err(table.wrong(KEY, "has something that is no text", hint));
        };
        found.push(work(table, KEY, name, &Work::MOVABLE)?);
    }
    Ok(found)
}
