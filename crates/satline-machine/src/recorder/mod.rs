//! A simulated machine's recording: the same tables as a live host's, so that every analysis reads it unchanged.
//!
//! `monotonic_ns` is simulated time, `time_ns` the same from a fixed date on: the same run gives the same recording,
//! value for value.

mod columns;
mod description;
mod tables;

use std::collections::VecDeque;

use satline_program::Error;
use satline_recording::{RecordingWriter, TableId, WriterOptions, end_recording};

pub use self::columns::PAGE_BYTES;
use self::columns::{DeviceRow, SystemRow, blocked, runnable, word};
pub use self::description::Setting;
use self::tables::{Tables, User, put};
use crate::engine::Time;
use crate::readings::{LockReading, Observer, Reading, Status, TransactionRecord, Transition};
use crate::summary::{IoService, Steps, UserTotals};

/// Who writes: the name in events, of `sources/machine.toml`, and of the segments.
const WRITER: &str = "machine";
/// Rows are sent to the disk in portions of about so many.
const ROWS_TOGETHER: u32 = 8192;

/// Something to be written when its time has come.
#[derive(Debug)]
struct Event {
    time: Time,
    name: &'static str,
    step: i64,
    users: i64,
    value: Option<f64>,
}

/// Writes a recording while a run goes on. An error of the disk is kept until [`Recorder::failure`] asks.
pub struct Recorder<'a> {
    setting: Setting<'a>,
    writer: RecordingWriter,
    tables: Tables,
    users: Vec<User>,
    priorities: Vec<Option<i64>>,
    events: VecDeque<Event>,
    /// When the transaction that a user is in began.
    begun: Vec<Option<Time>>,
    interactive: u64,
    io_service: IoService,
    sample: i64,
    last: Option<Time>,
    rows: u32,
    failure: Option<Error>,
}

impl<'a> Recorder<'a> {
    /// Makes the recording.
    ///
    /// # Errors
    /// There is a recording already, or it cannot be written.
    pub fn create(setting: Setting<'a>) -> Result<Self, Error> {
        description::begin(&setting)?;
        // How often is decided by the rows: simulated time has nothing to do with what a kill may cost.
        let mut writer = RecordingWriter::open(setting.directory, WRITER, WriterOptions::default())?;
        let tables = Tables::open(&mut writer, !setting.machine.locks.is_empty())?;
        let users = tables::users(setting.workload, setting.steps.most_users());
        let recorder = Self {
            begun: vec![None; users.len()],
            users,
            priorities: tables::priorities(setting.machine),
            events: events(setting.steps),
            tables,
            writer,
            interactive: 0,
            io_service: IoService::default(),
            sample: 0,
            last: None,
            rows: 0,
            failure: None,
            setting,
        };
        description::write_source(&recorder.setting, recorder.writer.run(), 0, None)?;
        Ok(recorder)
    }

    /// The first error of the disk, if there was one; nothing is written after it.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// Ends the recording: what has begun is written as cut, everything is made durable.
    ///
    /// # Errors
    /// The disk gave one, now or before; what was written before it stays valid.
    pub fn end(mut self, reason: &str) -> Result<(), Error> {
        let now = self.last.unwrap_or(Time::START);
        self.events_until(now);
        if self.setting.transactions {
            self.cut(now);
        }
        self.event("stopped", now, None, None, Some(reason));
        let flushed = self.writer.finish();
        let known = self.failure.take().map_or(flushed, Err);
        let reason = match &known {
            Ok(()) => reason,
            Err(error) => error.end_reason(),
        };
        description::write_source(&self.setting, self.writer.run(), self.sample, Some(reason))?;
        end_recording(self.setting.directory, self.setting.time_ns(now), reason)?;
        known
    }

    fn begin(&mut self, table: TableId, at: Time) {
        self.rows += 1;
        self.writer
            .begin_row(table, self.setting.time_ns(at), at.ns() as i64);
    }

    fn event(
        &mut self,
        name: &str,
        at: Time,
        step: Option<(i64, i64)>,
        value: Option<f64>,
        text: Option<&str>,
    ) {
        let columns = self.tables.event;
        self.begin(columns.id, at);
        self.writer.set_text(columns.source, WRITER);
        self.writer.set_text(columns.event, name);
        self.writer
            .set_option(columns.step, step.map(|(number, _)| number));
        self.writer
            .set_option(columns.users, step.map(|(_, users)| users));
        if let Some(value) = value {
            self.writer.set_float(columns.value, value);
        }
        if let Some(text) = text {
            self.writer.set_text(columns.text, text);
        }
        self.writer.end_row(columns.id);
    }

    /// Writes the events up to a time, with their own times.
    fn events_until(&mut self, now: Time) {
        while self.events.front().is_some_and(|event| event.time <= now) {
            if let Some(e) = self.events.pop_front() {
                self.event(e.name, e.time, Some((e.step, e.users)), e.value, None);
            }
        }
    }

    /// Who is in a transaction when the run ends has a row without a response: the analyses count the time.
    fn cut(&mut self, now: Time) {
        for user in 0..self.begun.len() {
            if let Some(began) = self.begun[user].take().filter(|&began| began <= now) {
                let table = self.tables.transaction.id;
                self.begin(table, began);
                self.transaction_head(user, began, None, "cut");
                self.writer.end_row(table);
            }
        }
    }

    fn transaction_head(&mut self, user: usize, began: Time, kind: Option<u16>, outcome: &str) {
        let (step, columns) = (*self.setting.steps.at(began), &self.tables.transaction);
        let who = &self.users[user];
        self.writer.set_text(columns.user, &who.name);
        self.writer.set_text(columns.script, &who.class);
        if let Some(kind) = kind.and_then(|kind| who.kinds.get(usize::from(kind))) {
            self.writer.set_text(columns.class, kind);
        }
        self.writer.set_text(columns.outcome, outcome);
        let phase = match began {
            at if at < step.window_from => "warmup",
            at if at < step.window_to => "window",
            _ => "drain",
        };
        self.writer.set_text(columns.phase, phase);
        self.writer.set(columns.step, step.number.into());
        self.writer.set(columns.users, step.users.into());
    }

    fn system_rows(&mut self, reading: &Reading) {
        let at = reading.time;
        let users =
            |is: fn(&crate::readings::UserReading) -> bool| reading.users.iter().filter(|u| is(u)).count();
        // By lock, over all processors.
        let by_lock = |on: &[LockReading]| on.iter().fold(LockReading::default(), LockReading::plus);
        let row = SystemRow {
            locks: (!reading.locks.is_empty()).then(|| by_lock(&reading.locks)),
            sample: self.sample,
            reading: reading.system,
            main_storage_bytes: self.setting.machine.storage.bytes,
            runnable: users(runnable) as i64,
            blocked: users(blocked) as i64,
            interactive_transactions: self.interactive,
            virtual_io_service_ns: self.io_service.total_ns(),
        };
        self.begin(self.tables.system.id, at);
        put(&mut self.writer, &self.tables.system, &row);
        for (number, processor) in reading.processors.iter().enumerate() {
            self.begin(self.tables.processor.id, at);
            self.writer
                .set_text(self.tables.processor.names[0], &number.to_string());
            put(&mut self.writer, &self.tables.processor, processor);
        }
        if let Some(table) = &self.tables.lock {
            let locks = reading.locks.chunks(reading.processors.len());
            for (plan, on) in self.setting.machine.locks.iter().zip(locks) {
                self.rows += 1;
                let (at_ns, now_ns) = (self.setting.time_ns(at), at.ns() as i64);
                self.writer.begin_row(table.id, at_ns, now_ns);
                self.writer.set_text(table.names[0], &plan.name);
                put(&mut self.writer, table, &by_lock(on));
            }
        }
        for channel in &reading.channels {
            self.begin(self.tables.channel.id, at);
            self.writer
                .set_text(self.tables.channel.names[0], &channel.channel.to_string());
            put(&mut self.writer, &self.tables.channel, channel);
        }
    }

    fn device_rows(&mut self, reading: &Reading) {
        for (number, device) in reading.devices.iter().enumerate() {
            let unit = &self.setting.machine.devices[number];
            let priority = self.priorities[number];
            self.begin(self.tables.device.id, reading.time);
            self.writer.set_text(self.tables.device.names[0], &unit.name);
            self.writer
                .set_text(self.tables.device.names[1], tables::kind(unit.role));
            let row = DeviceRow {
                reading: *device,
                priority,
            };
            put(&mut self.writer, &self.tables.device, &row);
        }
    }

    fn user_rows(&mut self, reading: &Reading) {
        for (number, user) in reading.users.iter().enumerate() {
            self.begin(self.tables.user.id, reading.time);
            let (who, names) = (&self.users[number], &self.tables.user.names);
            self.writer.set_text(names[0], &who.name);
            self.writer.set_text(names[1], word(user.status));
            self.writer.set_text(names[2], &who.class);
            put(&mut self.writer, &self.tables.user, user);
        }
    }
}

impl Observer for Recorder<'_> {
    fn sample(&mut self, reading: &Reading) {
        if self.last == Some(reading.time) {
            return;
        }
        self.last = Some(reading.time);
        self.events_until(reading.time);
        self.io_service
            .take(&reading.devices, UserTotals::of(reading).ios);
        self.system_rows(reading);
        self.device_rows(reading);
        self.user_rows(reading);
        self.sample += 1;
        if self.rows >= ROWS_TOGETHER {
            self.rows = 0;
            if let Err(error) = self.writer.flush() {
                self.failure.get_or_insert(error);
            }
        }
    }

    fn transaction(&mut self, record: &TransactionRecord) {
        self.interactive += u64::from(record.interactive);
        if !self.setting.transactions {
            return;
        }
        // The response is in whole µs: the start moves by less than one, so that the end is exact.
        let response_ns = (record.ended - record.started).ns() / 1000 * 1000;
        let began = Time::from_ns(record.ended.ns() - response_ns);
        self.begin(self.tables.transaction.id, began);
        self.transaction_head(record.user as usize, record.started, Some(record.kind), "ok");
        for &(column, value) in &self.tables.transaction.columns {
            self.writer.set_option(column, value(record));
        }
        self.writer.end_row(self.tables.transaction.id);
    }

    fn transition(&mut self, transition: &Transition) {
        let user = transition.user as usize;
        let out = |status| matches!(status, Status::LoggedOff | Status::Dormant);
        if self.users[user].counts && out(transition.from) != out(transition.to) {
            self.begun[user] = out(transition.from).then_some(transition.time);
        }
        if self.setting.transactions {
            let columns = self.tables.transition;
            self.begin(columns.id, transition.time);
            self.writer.set_text(columns.user, &self.users[user].name);
            self.writer.set_text(columns.from, word(transition.from));
            self.writer.set_text(columns.to, word(transition.to));
            self.writer.end_row(columns.id);
        }
    }
}

/// What happens at known times.
fn events(steps: &Steps) -> VecDeque<Event> {
    let mut events = Vec::new();
    for step in steps.all() {
        let mut add = |time, name, value| {
            events.push(Event {
                time,
                name,
                step: step.number.into(),
                users: step.users.into(),
                value,
            });
        };
        add(step.from, "step", Some((step.to - step.from).seconds()));
        if steps.measured {
            add(step.window_from, "window-start", None);
            add(step.window_to, "window-end", None);
        }
    }
    // Stable: a window that ends when the next step begins ends first.
    events.sort_by_key(|event| event.time);
    events.into()
}
