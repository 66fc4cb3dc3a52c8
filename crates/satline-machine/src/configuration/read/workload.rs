//! A workload file.

use satline_program::Error;

use super::stated::Need;
use super::table::Table;
use super::tree::{Node, Value};
use crate::configuration::{
    Background, IoPattern, Locality, Population, Session, TransactionKind, UserClass, Workload,
};
use crate::engine::Span;

const MOST_USERS: u32 = 100_000;
const MOST_PAGES: u32 = 1 << 20;
const MOST_KINDS: usize = 100;
const MOST_CHANGES: usize = 100_000;
/// A century, s.
const LONG_S: f64 = 3.2e9;
/// Shares are written with few figures.
const SHARE_TOLERANCE: f64 = 1e-6;

/// The workload of a file.
///
/// # Errors
/// A key is missing, unknown or impossible, or things do not fit together.
pub fn read(file: &Table<'_>) -> Result<Workload, Error> {
    let name = file.name("name")?;
    let note = file.text("note")?;
    let shared_pages = file
        .maybe_count("shared_pages", Need::Nothing, 0, MOST_PAGES)?
        .unwrap_or(0);
    let population = population(&file.table("population")?)?;
    let tables = file.list("class", MOST_KINDS)?;
    let classes = tables.iter().map(|table| class(table, shared_pages));
    let classes: Vec<UserClass> = classes.collect::<Result<_, _>>()?;
    if classes.is_empty() {
        return Err(file.missing("class"));
    }
    let sum: f64 = classes.iter().map(|class| class.share).sum();
    if (sum - 1.0).abs() > SHARE_TOLERANCE {
        return Err(file.wrong("class", &format!("has shares that add up to {sum}"), "make it 1"));
    }
    let tables = file.list("background", MOST_KINDS)?;
    let background = tables.iter().map(|table| background(table, shared_pages));
    let background = background.collect::<Result<_, _>>()?;
    file.finish()?;
    Ok(Workload {
        name,
        note,
        classes,
        population,
        shared_pages,
        background,
    })
}

fn population(table: &Table<'_>) -> Result<Population, Error> {
    let ways = ["users", "users_from_hour", "users_from_s"].map(String::from);
    let Some((node, key)) = table.one_of(&ways)? else {
        return Err(table.missing("users"));
    };
    table.finish()?;
    if key == "users" {
        return Ok(Population::Constant(table.count(
            "users",
            Need::Nothing,
            1,
            MOST_USERS,
        )?));
    }
    let unit = if key == "users_from_s" { 1.0 } else { 3600.0 };
    let wrong = |why: &str| {
        let hint = "write pairs [TIME, USERS]: the first time is 0, times rise, users are whole";
        table.wrong(&key, why, hint)
    };
    let Value::List(rows) = &node.value else {
        return Err(wrong("is no list"));
    };
    if rows.is_empty() || rows.len() > MOST_CHANGES {
        return Err(wrong(&format!("has {} pairs", rows.len())));
    }
    let mut sessions: Vec<Session> = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let (from_s, users) = match pair(row) {
            Some((time, users)) => (time * unit, users),
            None => return Err(wrong(&format!("has no pair of numbers at {number}"))),
        };
        let whole = users.fract() == 0.0 && (0.0..=f64::from(MOST_USERS)).contains(&users);
        if !whole || !(0.0..=LONG_S).contains(&from_s) {
            return Err(wrong(&format!("has an impossible pair at {number}")));
        }
        let from = Span::from_seconds(from_s);
        let rises = match sessions.last() {
            Some(last) => last.from < from,
            None => from == Span::ZERO,
        };
        if !rises {
            return Err(wrong(&format!("does not rise from 0 at {number}")));
        }
        sessions.push(Session {
            from,
            users: users as u32,
        });
    }
    if sessions.iter().all(|session| session.users == 0) {
        return Err(wrong("has no users at any time"));
    }
    Ok(Population::Varying(sessions))
}

fn pair(row: &Node) -> Option<(f64, f64)> {
    let Value::List(both) = &row.value else {
        return None;
    };
    match both[..] {
        [
            Node {
                value: Value::Number(one),
                ..
            },
            Node {
                value: Value::Number(other),
                ..
            },
        ] => Some((one, other)),
        _ => None,
    }
}

fn class(table: &Table<'_>, shared_pages: u32) -> Result<UserClass, Error> {
    let space_pages = table.count("space_pages", Need::Nothing, 1, MOST_PAGES)?;
    let kinds = table.list("transaction", MOST_KINDS)?;
    if kinds.is_empty() {
        return Err(table.missing("transaction"));
    }
    let transactions = kinds.iter().map(|kind| {
        let weight = kind.figure("weight", Need::Nothing, 1e-9, 1e9)?;
        transaction(kind, weight, space_pages, shared_pages)
    });
    let class = UserClass {
        name: table.name("name")?,
        share: table.figure("share", Need::Nothing, 1e-9, 1.0 + SHARE_TOLERANCE)?,
        think: table.distribution("think")?,
        space_pages,
        transactions: transactions.collect::<Result<_, _>>()?,
    };
    table.finish()?;
    Ok(class)
}

fn background(table: &Table<'_>, shared_pages: u32) -> Result<Background, Error> {
    let space_pages = table.count("space_pages", Need::Nothing, 1, MOST_PAGES)?;
    let background = Background {
        name: table.name("name")?,
        count: table.count("count", Need::Nothing, 1, 1000)?,
        space_pages,
        kind: transaction(&table.table("transaction")?, 1.0, space_pages, shared_pages)?,
    };
    table.finish()?;
    Ok(background)
}

fn transaction(
    table: &Table<'_>,
    weight: f64,
    space_pages: u32,
    shared_pages: u32,
) -> Result<TransactionKind, Error> {
    let between = |name| table.maybe_time(name, Need::Nothing, 1e-7, LONG_S);
    let cpu = table.distribution("cpu")?;
    if cpu.mean_s() <= 0.0 {
        return Err(table.wrong(
            "cpu_ms",
            "has the mean 0",
            "a transaction takes some processor time",
        ));
    }
    let kind = TransactionKind {
        name: table.name("name")?,
        weight,
        cpu,
        cpu_between_ios: between("cpu_between_ios")?,
        cpu_between_simulations: between("cpu_between_simulations")?,
        io: io(table)?,
        locality: locality(&table.table("locality")?, space_pages, shared_pages)?,
    };
    table.finish()?;
    Ok(kind)
}

fn io(table: &Table<'_>) -> Result<IoPattern, Error> {
    let Some(io) = table.maybe_table("io")? else {
        return Ok(IoPattern {
            skew: 0.0,
            span_cylinders: 1,
            blocks: 1,
        });
    };
    let pattern = IoPattern {
        skew: io.maybe_figure("skew", Need::Nothing, 0.0, 10.0)?.unwrap_or(0.0),
        span_cylinders: io
            .maybe_count("span_cylinders", Need::Nothing, 1, 1_000_000)?
            .unwrap_or(1),
        blocks: io
            .maybe_count("blocks", Need::Nothing, 1, crate::devices::MAX_PAGES as u32)?
            .unwrap_or(1),
    };
    io.finish()?;
    Ok(pattern)
}

fn locality(table: &Table<'_>, space_pages: u32, all_shared: u32) -> Result<Locality, Error> {
    let part = |key| table.figure(key, Need::Nothing, 0.0, 1.0);
    let locality = Locality {
        working_set_pages: table.figure("working_set_pages", Need::Nothing, 1.0, f64::from(space_pages))?,
        working_set_sd: table
            .maybe_figure("working_set_sd_pages", Need::Nothing, 0.0, f64::from(space_pages))?
            .unwrap_or(0.0),
        repeatability: part("repeatability")?,
        growth: table
            .maybe_figure("growth", Need::Nothing, 0.01, 100.0)?
            .unwrap_or(1.0),
        reference_interval: table.time("reference_interval", Need::Nothing, 1e-6, LONG_S)?,
        phase: table.time("phase", Need::Nothing, 1e-6, LONG_S)?,
        changed: part("changed")?,
        shared_pages: table
            .maybe_count("shared_pages", Need::Nothing, 0, all_shared)?
            .unwrap_or(0),
    };
    table.finish()?;
    Ok(locality)
}
