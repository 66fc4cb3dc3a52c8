//! The tables of a simulated machine's recording, and the names in them.

use satline_program::Error;
use satline_recording::{ColumnId, RecordingWriter, TableId};

use super::columns::{
    CHANNEL, Column, DEVICE, DeviceRow, LOCK, PROCESSOR, SPIN, SYSTEM, SystemRow, TRANSACTION, USER,
};
use crate::configuration::programs;
use crate::configuration::{Machine, Role, Workload};
use crate::readings::{ChannelReading, LockReading, ProcessorReading, TransactionRecord, UserReading};

/// A user or background program, as the recording calls it.
#[derive(Debug)]
pub struct User {
    pub name: String,
    pub class: String,
    /// Kinds of its transactions.
    pub kinds: Vec<String>,
    /// It is a user: background programs are none.
    pub counts: bool,
}

/// Columns, and how the value of each is found.
type Found<R> = Vec<(ColumnId, fn(&R) -> Option<i64>)>;

/// A table of readings: `names` say whose a row is.
#[derive(Debug)]
pub struct Table<R: 'static> {
    pub id: TableId,
    pub names: Vec<ColumnId>,
    columns: Found<R>,
}

/// Table transaction.
#[derive(Debug, Clone)]
pub struct TransactionTable {
    pub id: TableId,
    pub user: ColumnId,
    pub step: ColumnId,
    pub users: ColumnId,
    pub phase: ColumnId,
    pub script: ColumnId,
    pub class: ColumnId,
    pub outcome: ColumnId,
    pub columns: Found<TransactionRecord>,
}

/// Table event.
#[derive(Debug, Clone, Copy)]
pub struct EventTable {
    pub id: TableId,
    pub source: ColumnId,
    pub event: ColumnId,
    pub step: ColumnId,
    pub users: ColumnId,
    pub value: ColumnId,
    pub text: ColumnId,
}

/// Table transition.
#[derive(Debug, Clone, Copy)]
pub struct TransitionTable {
    pub id: TableId,
    pub user: ColumnId,
    pub from: ColumnId,
    pub to: ColumnId,
}

/// All tables.
#[derive(Debug)]
pub struct Tables {
    pub system: Table<SystemRow>,
    pub processor: Table<ProcessorReading>,
    /// Of a machine with locks.
    pub lock: Option<Table<LockReading>>,
    pub device: Table<DeviceRow>,
    pub channel: Table<ChannelReading>,
    pub user: Table<UserReading>,
    pub transaction: TransactionTable,
    pub transition: TransitionTable,
    pub event: EventTable,
}

impl Tables {
    /// Asks for all of them, so that a catalogue that lacks a column shows at once.
    ///
    /// # Errors
    /// The catalogue lacks a table or column.
    pub fn open(writer: &mut RecordingWriter, locks: bool) -> Result<Self, Error> {
        let w = writer;
        let (transaction, transition, event) =
            (w.table("transaction")?, w.table("transition")?, w.table("event")?);
        let lock = match locks {
            true => Some(open(w, "lock", &["lock"], LOCK)?),
            false => None,
        };
        let mut processor = open(w, "processor", &["processor"], PROCESSOR)?;
        if locks {
            processor.columns.extend(columns(w, processor.id, SPIN)?);
        }
        Ok(Self {
            system: open(w, "system", &[], SYSTEM)?,
            processor,
            lock,
            device: open(w, "device", &["device", "device_kind"], DEVICE)?,
            channel: open(w, "channel", &["channel"], CHANNEL)?,
            user: open(w, "user", &["user", "state", "class"], USER)?,
            transaction: TransactionTable {
                id: transaction,
                user: w.column(transaction, "user")?,
                step: w.column(transaction, "step")?,
                users: w.column(transaction, "users")?,
                phase: w.column(transaction, "phase")?,
                script: w.column(transaction, "script")?,
                class: w.column(transaction, "class")?,
                outcome: w.column(transaction, "outcome")?,
                columns: columns(w, transaction, TRANSACTION)?,
            },
            transition: TransitionTable {
                id: transition,
                user: w.column(transition, "user")?,
                from: w.column(transition, "from_state")?,
                to: w.column(transition, "to_state")?,
            },
            event: EventTable {
                id: event,
                source: w.column(event, "source")?,
                event: w.column(event, "event")?,
                step: w.column(event, "step")?,
                users: w.column(event, "users")?,
                value: w.column(event, "value")?,
                text: w.column(event, "text")?,
            },
        })
    }
}

fn open<R>(
    writer: &mut RecordingWriter,
    table: &str,
    names: &[&str],
    wanted: &[Column<R>],
) -> Result<Table<R>, Error> {
    let id = writer.table(table)?;
    let names = names
        .iter()
        .map(|name| writer.column(id, name))
        .collect::<Result<_, _>>()?;
    Ok(Table {
        id,
        names,
        columns: columns(writer, id, wanted)?,
    })
}

fn columns<R>(writer: &RecordingWriter, id: TableId, wanted: &[Column<R>]) -> Result<Found<R>, Error> {
    wanted
        .iter()
        .map(|&(name, value)| Ok((writer.column(id, name)?, value)))
        .collect()
}

/// Sets the figures of a row that has begun, and ends it.
pub fn put<R>(writer: &mut RecordingWriter, table: &Table<R>, reading: &R) {
    for &(column, value) in &table.columns {
        writer.set_option(column, value(reading));
    }
    writer.end_row(table.id);
}

/// What everybody is called: users by number, background programs with the mark of those who are no users.
pub fn users(workload: &Workload, most: u32) -> Vec<User> {
    let mut background = 0;
    let named = programs(workload, most)
        .into_iter()
        .enumerate()
        .map(|(number, program)| {
            let class = usize::from(program.class);
            let class = match workload.classes.get(class) {
                Some(of) => &of.name,
                None => &workload.background[class - workload.classes.len()].name,
            };
            background += u32::from(program.background);
            User {
                name: match program.background {
                    false => format!("user-{:03}", number + 1),
                    true => format!("_{class}-{background}"),
                },
                class: class.clone(),
                kinds: program.kinds.iter().map(|kind| kind.name.clone()).collect(),
                counts: !program.background,
            }
        });
    named.collect()
}

/// Of each device with page areas its priority: the higher, the earlier it is filled.
pub fn priorities(machine: &Machine) -> Vec<Option<i64>> {
    let lowest = machine
        .paging
        .areas
        .iter()
        .map(|area| area.tier)
        .max()
        .unwrap_or(0);
    (0..machine.devices.len())
        .map(|device| {
            let own = machine.paging.areas.iter().filter(|area| area.device == device);
            own.map(|area| i64::from(lowest - area.tier)).max()
        })
        .collect()
}

/// The catalogue's word for what a device is for.
pub fn kind(role: Role) -> &'static str {
    match role {
        Role::Paging => "swap",
        Role::Files | Role::Both => "block",
    }
}
