//! `[free_storage]` and `[[free_storage.request]]`: what the control program asks of its own storage.

use satline_program::Error;

use super::stated::Need;
use super::swapping::{choice, known};
use super::table::Table;
use crate::configuration::free_storage::KEPT;
use crate::configuration::{
    FreeStoragePlan, LockPlan, LockWait, Moment, SUBPOOLS, StorageFigures, StorageRequest,
};

const MOST_REQUESTS: usize = 64;
const MOST_BLOCKS: u32 = 1000;
const DOUBLEWORD_BYTES: u64 = 8;
const PAGE_BYTES: u64 = 4096;
/// A block that is given back within the path that got it.
const AT_ONCE: &str = "at_once";

/// What the file says of free storage, if it does; `locks` are the machine's.
///
/// # Errors
/// A key is unknown or impossible, the lock is not there or suspends, or a block could be kept for ever.
pub fn read(
    file: &Table<'_>,
    storage: &StorageFigures,
    locks: &[LockPlan],
    instructions_per_s: f64,
) -> Result<Option<FreeStoragePlan>, Error> {
    let Some(table) = file.maybe_table("free_storage")? else {
        return Ok(None);
    };
    let left = storage.bytes - u64::from(storage.pageable_frames) * PAGE_BYTES;
    let doublewords = table.count("doublewords", Need::Source, 64, 1 << 30)?;
    if u64::from(doublewords) * DOUBLEWORD_BYTES > left {
        let why = format!("is {doublewords}: main storage less the pageable frames is {left} bytes");
        return Err(table.wrong(
            "doublewords",
            &why,
            "give fewer, or fewer storage.pageable_frames",
        ));
    }
    let path = |name| table.path_time(name, instructions_per_s);
    let plan = FreeStoragePlan {
        doublewords,
        subpools: choice(&table, "subpools", &SUBPOOLS.map(|name| (name, name)))?.into(),
        lock: lock(&table, locks)?,
        subpool_request: path("subpool_request")?,
        main_request: path("main_request")?,
        block_searched: path("block_searched")?,
        requests: requests(&table, doublewords)?,
    };
    table.finish()?;
    Ok(Some(plan))
}

/// The name of the lock that free storage has, if it has one.
///
/// # Errors
/// It is no name.
pub fn lock_name(file: &Table<'_>) -> Result<Option<String>, Error> {
    match file.maybe_table("free_storage")? {
        Some(table) if table.get("lock").is_some() => table.name("lock").map(Some),
        _ => Ok(None),
    }
}

fn lock(table: &Table<'_>, locks: &[LockPlan]) -> Result<Option<usize>, Error> {
    if table.get("lock").is_none() {
        return Ok(None);
    }
    let name = table.name("lock")?;
    let Some(place) = locks.iter().position(|lock| lock.name == name) else {
        let why = format!("is {name:?}, and no [[lock]] has that name");
        return Err(table.wrong("lock", &why, "add the lock, or leave this out"));
    };
    if locks[place].wait == LockWait::Suspend {
        let why = format!("is {name:?}, which suspends");
        let hint = "a block is needed before the path goes on: give the lock wait = \"spin\"";
        return Err(table.wrong("lock", &why, hint));
    }
    Ok(Some(place))
}

fn requests(table: &Table<'_>, all: u32) -> Result<Vec<StorageRequest>, Error> {
    let requests: Result<Vec<StorageRequest>, Error> = table
        .list("request", MOST_REQUESTS)?
        .iter()
        .map(|request| self::request(request, all))
        .collect();
    match requests {
        Ok(requests) if requests.is_empty() => Err(table.wrong(
            "request",
            "is missing",
            "nothing is asked of free storage: add [[free_storage.request]]",
        )),
        requests => requests,
    }
}

fn request(table: &Table<'_>, all: u32) -> Result<StorageRequest, Error> {
    let moments: Vec<(&str, Moment)> = KEPT.iter().map(|(at, _)| *at).collect();
    let at = known(table, "at", table.need("at")?, &moments)?;
    let end = KEPT
        .iter()
        .find(|(word, _)| word.1 == at)
        .and_then(|(_, end)| *end);
    let mut ends = vec![(AT_ONCE, None)];
    ends.extend(end.map(|(name, moment)| (name, Some(moment))));
    let until = known(table, "until", table.need("until")?, &ends)?;
    let least = table.count("doublewords", Need::Source, 1, all)?;
    let most = table.maybe_count("most_doublewords", Need::Source, 1, all)?;
    if most.is_some_and(|most| most < least) {
        let why = format!("is less than doublewords = {least}");
        return Err(table.wrong(
            "most_doublewords",
            &why,
            "it is the largest block: give at least as many",
        ));
    }
    let blocks = table.maybe_count("blocks", Need::Source, 1, MOST_BLOCKS)?;
    table.finish()?;
    Ok(StorageRequest {
        at,
        until,
        blocks: blocks.unwrap_or(1),
        doublewords: (least, most.unwrap_or(least)),
    })
}
