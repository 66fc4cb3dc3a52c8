//! A machine file.

use std::path::PathBuf;

use satline_program::Error;

use super::devices;
use super::free_storage;
use super::locks;
use super::multiprocessor;
use super::peers;
use super::processors;
use super::stated::{Need, plain};
use super::swapping;
use super::table::Table;
use crate::configuration::{
    Costs, INVOLUNTARY_DROPS, Machine, PagingPlan, PagingRate, PeriodicScan, Policies, QUEUE_DROP_DEFAULT,
    SchedulerFigures, StorageFigures,
};
use crate::devices::MAX_PAGES;
use crate::engine::Span;

/// A machine has no more frames: 64 GiB.
const MOST_FRAMES: u32 = 1 << 24;
const PAGE_BYTES: u64 = 4096;
/// The limit of the paging rate, in table `[scheduler]`.
const LIMIT: &str = "paging_rate_limit_per_s";

/// The machine of a file; device files and the table of processors are looked for in these folders.
///
/// # Errors
/// A key is missing, unknown or impossible, or things do not fit together.
pub fn read(file: &Table<'_>, folders: &[PathBuf]) -> Result<Machine, Error> {
    let name = file.name("name")?;
    let note = file.text("note")?;
    let (mut processors, instructions_per_s, counted) =
        processors::read(&file.table("processors")?, folders)?;
    let storage = storage(&file.table("storage")?)?;
    let (scheduler, involuntary_drop) = scheduler(&file.table("scheduler")?)?;
    if scheduler.minimum_working_set > storage.pageable_frames {
        let why = format!("is more than the {} pageable frames", storage.pageable_frames);
        let table = file.table("scheduler")?;
        return Err(table.wrong(
            "minimum_working_set_pages",
            &why,
            "nobody would be admitted: give less",
        ));
    }
    let costs = costs(&file.table("costs")?, instructions_per_s)?;
    paths_fit(&file.table("scheduler")?, &scheduler, &costs)?;
    let policies = policies(&file.table("policies")?, involuntary_drop)?;
    rate_is_used(&file.table("scheduler")?, &scheduler, &policies)?;
    let paging = file.table("paging")?;
    let most_pages_per_sio = paging.count("most_pages_per_sio", Need::Nothing, 1, MAX_PAGES as u32)?;
    let write_unchanged = paging.maybe_choice("write_unchanged")?;
    let periodic_scan = paging.maybe_table("periodic_scan")?;
    let periodic_scan = periodic_scan.as_ref().map(self::periodic_scan).transpose()?;
    let peers = peers::read(&paging, &policies.replacement, instructions_per_s)?;
    paging.finish()?;
    let (devices, areas) = devices::read(file, folders)?;
    let multiprocessor =
        multiprocessor::read(file, (&mut processors, counted), &devices, instructions_per_s)?;
    let locks = locks::read(file, free_storage::lock_name(file)?.as_deref())?;
    let free_storage = free_storage::read(file, &storage, &locks, instructions_per_s)?;
    let swapping = swapping::read(file, &devices, &areas, instructions_per_s)?;
    peers::fit(&paging, &peers, &devices, &areas, swapping.is_some())?;
    peers::frames_left(
        &file.table("storage")?,
        &peers,
        &devices,
        &areas,
        storage.pageable_frames,
    )?;
    file.finish()?;
    Ok(Machine {
        name,
        note,
        processors,
        multiprocessor,
        locks,
        free_storage,
        storage,
        scheduler,
        costs,
        paging: PagingPlan {
            areas,
            most_pages_per_sio,
            write_unchanged: write_unchanged.unwrap_or(false),
            periodic_scan,
            peers,
        },
        swapping,
        policies,
        devices,
        unverified: Vec::new(),
    })
}

fn storage(table: &Table<'_>) -> Result<StorageFigures, Error> {
    let most_bytes = f64::from(MOST_FRAMES) * PAGE_BYTES as f64;
    let bytes = table.figure("bytes", Need::Source, PAGE_BYTES as f64, most_bytes)? as u64;
    let pageable_frames = table.count("pageable_frames", Need::Source, 8, MOST_FRAMES)?;
    if u64::from(pageable_frames) * PAGE_BYTES > bytes {
        let why = format!(
            "is {pageable_frames}: more than the {} that {bytes} bytes have",
            bytes / PAGE_BYTES
        );
        return Err(table.wrong("pageable_frames", &why, "raise storage.bytes too, or give fewer"));
    }
    let free_list_minimum = table.count("free_list_minimum_frames", Need::Source, 0, pageable_frames / 2)?;
    table.finish()?;
    Ok(StorageFigures {
        pageable_frames,
        bytes,
        free_list_minimum,
    })
}

/// The figures, and the name of the policy that drops users against their will.
fn scheduler(table: &Table<'_>) -> Result<(SchedulerFigures, String), Error> {
    let slice = |name| table.time(name, Need::Source, 1e-6, 1e6);
    let cap = |key| table.maybe_count(key, Need::Nothing, 1, 1_000_000);
    let figures = SchedulerFigures {
        q1_slice: slice("q1_slice")?,
        q2_slice: slice("q2_slice")?,
        quantum: slice("quantum")?,
        compute_bound_factor: table.count("compute_bound_factor", Need::Source, 1, 1000)?,
        compute_bound_after: table
            .maybe_count("compute_bound_after_quanta", Need::Nothing, 1, 1000)?
            .unwrap_or(1),
        q1_frames_factor: table.figure("q1_frames_factor", Need::Source, 0.1, 100.0)?,
        mpl_cap: cap("mpl_cap_users")?,
        q2_cap: cap("q2_cap_users")?,
        minimum_working_set: table.count("minimum_working_set_pages", Need::Source, 1, MOST_FRAMES)?,
        projection_factor: table.figure("projection_factor", Need::Nothing, 0.001, 1000.0)?,
        paging_rate: paging_rate(table)?,
    };
    let words = INVOLUNTARY_DROPS.map(|name| (name, name));
    let involuntary_drop = swapping::choice(table, "involuntary_drop", &words)?;
    table.finish()?;
    Ok((figures, involuntary_drop.into()))
}

/// The rate by which users are admitted, if its limit is there.
fn paging_rate(table: &Table<'_>) -> Result<Option<PagingRate>, Error> {
    let limit = table.maybe_figure(LIMIT, Need::Source, 0.0, 1e9)?;
    let interval = table.maybe_time("paging_rate_interval", Need::Nothing, 1e-3, 1e6)?;
    let divided = table.maybe_choice("paging_rate_divided")?;
    let Some(limit_per_s) = limit else {
        return match interval.is_some() || divided.is_some() {
            true => Err(table.missing(LIMIT)),
            false => Ok(None),
        };
    };
    Ok(Some(PagingRate {
        limit_per_s,
        interval: interval.unwrap_or(Span::from_seconds(1.0)),
        divided: divided.unwrap_or(false),
    }))
}

/// A limit is there where the policy looks at it, and nowhere else.
fn rate_is_used(table: &Table<'_>, scheduler: &SchedulerFigures, policies: &Policies) -> Result<(), Error> {
    const NAME: &str = "paging-rate";
    match (scheduler.paging_rate.is_some(), policies.admission == NAME) {
        (true, false) => {
            let why = format!("is there, and policies.admission is {:?}", policies.admission);
            Err(table.wrong(LIMIT, &why, "give admission = \"paging-rate\", or leave it out"))
        }
        (false, true) => Err(table.missing(LIMIT)),
        _ => Ok(()),
    }
}

/// Slices and the quantum are longer than the control program's own work in them.
fn paths_fit(table: &Table<'_>, scheduler: &SchedulerFigures, costs: &Costs) -> Result<(), Error> {
    for (name, length, least) in scheduler.least(costs, 0) {
        if length <= least {
            let key = table.with_unit(name)?.map_or(name.into(), |(_, key, _)| key);
            let ms = |span: Span| plain(span.ns() as f64 * 1e-6);
            let why = format!(
                "is {} ms: the control program's paths alone take {} ms",
                ms(length),
                ms(least)
            );
            return Err(table.wrong(
                &key,
                &why,
                "users would get nowhere: give more, or shorter paths in [costs]",
            ));
        }
    }
    Ok(())
}

fn costs(table: &Table<'_>, instructions_per_s: f64) -> Result<Costs, Error> {
    let path = |name| table.path_time(name, instructions_per_s);
    let costs = Costs {
        dispatch: path("dispatch")?,
        page_fault: path("page_fault")?,
        page_in_end: path("page_in_end")?,
        page_out: path("page_out")?,
        user_io_start: path("user_io_start")?,
        user_io_end: path("user_io_end")?,
        queue_add: path("queue_add")?,
        queue_drop: path("queue_drop")?,
        queue_page: path("queue_page")?,
        scan_frame: path("scan_frame")?,
        reclaim: path("reclaim")?,
        shared_page_check: path("shared_page_check")?,
        simulation: path("simulation")?,
    };
    table.finish()?;
    Ok(costs)
}

fn periodic_scan(table: &Table<'_>) -> Result<PeriodicScan, Error> {
    let scan = PeriodicScan {
        interval: table.time("interval", Need::Nothing, 1e-3, 1e6)?,
        part: table.figure("part", Need::Nothing, 1e-6, 1.0)?,
    };
    table.finish()?;
    Ok(scan)
}

fn policies(table: &Table<'_>, involuntary_drop: String) -> Result<Policies, Error> {
    // The base's, so that a machine file need not speak of experiments with it.
    let queue_drop = match table.get("queue_drop") {
        Some(_) => table.name("queue_drop")?,
        None => QUEUE_DROP_DEFAULT.into(),
    };
    let policies = Policies {
        replacement: table.name("replacement")?,
        page_out_device: table.name("page_out_device")?,
        slot: table.name("slot")?,
        queue_drop,
        admission: table.name("admission")?,
        dispatch: table.name("dispatch")?,
        involuntary_drop,
    };
    table.finish()?;
    Ok(policies)
}
