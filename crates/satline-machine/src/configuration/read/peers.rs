//! What modern systems do beside replacement: parts of a machine file's `[paging]`.

use satline_program::Error;

use super::stated::Need;
use super::swapping::{choice, known, state};
use super::table::Table;
use super::tree::Value;
use crate::configuration::peers::{NEIGHBOURS, ORDERS, WINDOWS, compressed_frames};
use crate::configuration::{
    Compression, DeviceUnit, Migration, PageArea, Peers, Prefetch, Readahead, Sampling,
};

/// Pages of a cluster, as far as `vm.page-cluster` goes.
const MOST_CLUSTER: u32 = 64;
const MOST_PAGES: u32 = 1 << 24;
/// A machine has no fewer.
const LEAST_FRAMES: u32 = 8;
/// The policy that samples.
const SAMPLES: &str = "working-set-sampling";

/// The parts that are there.
///
/// # Errors
/// A key is missing, unknown or impossible.
pub fn read(paging: &Table<'_>, replacement: &str, instructions_per_s: f64) -> Result<Peers, Error> {
    let readahead = paging.maybe_table("readahead")?;
    let prefetch = paging.maybe_table("record_and_prefetch")?;
    let migration = paging.maybe_table("migration")?;
    let compression = paging.maybe_table("compression")?;
    let sampling = paging.maybe_table("sampling")?;
    if sampling.is_some() && replacement != SAMPLES {
        let hint = format!("choose replacement = {SAMPLES:?}, or leave it out");
        return Err(paging.wrong(
            "sampling",
            &format!("is there, and replacement is {replacement:?}"),
            &hint,
        ));
    }
    Ok(Peers {
        readahead: readahead.as_ref().map(self::readahead).transpose()?,
        prefetch: prefetch.as_ref().map(self::prefetch).transpose()?,
        migration: migration.as_ref().map(self::migration).transpose()?,
        compression: compression
            .as_ref()
            .map(|table| self::compression(table, instructions_per_s))
            .transpose()?,
        sampling: sampling
            .as_ref()
            .map(self::sampling)
            .transpose()?
            .unwrap_or_default(),
    })
}

/// Whether they go with the rest of the machine.
///
/// # Errors
/// They do not.
pub fn fit(
    paging: &Table<'_>,
    peers: &Peers,
    devices: &[DeviceUnit],
    areas: &[PageArea],
    swaps: bool,
) -> Result<(), Error> {
    let there = [
        ("readahead", peers.readahead.is_some()),
        ("record_and_prefetch", peers.prefetch.is_some()),
        ("migration", peers.migration.is_some()),
    ];
    if let Some((key, _)) = there.into_iter().find(|(_, there)| *there && swaps) {
        let hint = "leave out one of them: swap sets go and come as wholes";
        return Err(paging.wrong(key, "stands beside a table [swapping]", hint));
    }
    let compressed = areas
        .iter()
        .any(|area| devices[area.device].model.is_compressed());
    match (compressed, peers.compression.is_some()) {
        (true, false) => return Err(paging.missing("compression")),
        (false, true) => {
            let hint = "give a device of kind \"compressed\" a [[paging_area]], or leave it out";
            return Err(paging.wrong("compression", "stands where nothing is compressed", hint));
        }
        _ => {}
    }
    let tiers = areas
        .iter()
        .filter(|area| area.purpose.holds_pages())
        .map(|area| area.tier);
    let (lowest, highest) = (tiers.clone().min(), tiers.max());
    if peers.migration.is_some() && lowest == highest {
        let hint = "give the slower areas another tier, or leave it out";
        return Err(paging.wrong("migration", "has nowhere to go: all areas are of one tier", hint));
    }
    Ok(())
}

/// Whether compressed pages leave room for others.
///
/// # Errors
/// They take nearly all of storage.
pub fn frames_left(
    storage: &Table<'_>,
    peers: &Peers,
    devices: &[DeviceUnit],
    areas: &[PageArea],
    pageable_frames: u32,
) -> Result<(), Error> {
    let taken = compressed_frames(peers, devices, areas);
    if taken > u64::from(pageable_frames.saturating_sub(LEAST_FRAMES)) {
        let why = format!("is {pageable_frames}, of which compressed pages take {taken}");
        let hint = "give the device of kind \"compressed\" fewer cylinders of paging area";
        return Err(storage.wrong("pageable_frames", &why, hint));
    }
    Ok(())
}

fn compression(table: &Table<'_>, instructions_per_s: f64) -> Result<Compression, Error> {
    let plan = Compression {
        pages_per_frame: table.figure("pages_per_frame", Need::Source, 1.0, 1000.0)?,
        compress: table.path_time("compress_page", instructions_per_s)?,
        decompress: table.path_time("decompress_page", instructions_per_s)?,
    };
    table.finish()?;
    Ok(plan)
}

fn sampling(table: &Table<'_>) -> Result<Sampling, Error> {
    let plan = Sampling {
        interval: table.time("interval", Need::Nothing, 1e-3, 1e6)?,
        idle_samples: table.count("idle_samples", Need::Nothing, 1, 1_000_000)?,
    };
    table.finish()?;
    Ok(plan)
}

fn readahead(table: &Table<'_>) -> Result<Readahead, Error> {
    let plan = Readahead {
        pages: table.count("pages", Need::Nothing, 2, MOST_CLUSTER)?,
        by: choice(table, "by", NEIGHBOURS)?,
        window: choice(table, "window", WINDOWS)?,
    };
    table.finish()?;
    Ok(plan)
}

fn prefetch(table: &Table<'_>) -> Result<Prefetch, Error> {
    const KEY: &str = "most_pages";
    let most_pages = match table.need(KEY)? {
        node if matches!(node.value, Value::Text(_)) => {
            let all = known(table, KEY, node, &[("all", None)])?;
            state(table, KEY, node, "all");
            all
        }
        _ => Some(table.count(KEY, Need::Nothing, 1, MOST_PAGES)?),
    };
    table.finish()?;
    Ok(Prefetch { most_pages })
}

fn migration(table: &Table<'_>) -> Result<Migration, Error> {
    let plan = Migration {
        interval: table.time("interval", Need::Nothing, 1e-3, 1e6)?,
        pages: table.count("pages", Need::Nothing, 1, MOST_PAGES)?,
        order: choice(table, "order", ORDERS)?,
    };
    table.finish()?;
    Ok(plan)
}
