//! Readings → rows of the recording.

use satline_program::Error;
use satline_recording::{ColumnId, RecordingWriter, TableId};

use crate::cgroup;
use crate::device::{self, DeviceReading};
use crate::ebpf::contention::KernelLocks;
use crate::ebpf::waits::Waited;
use crate::holders::{DiskReading, HolderReading, WaitReading};
use crate::lines::Transaction;
use crate::locks::LockReading;
use crate::requests::Request;
use crate::system::{self, SystemReading};
use crate::thermometer::ThermometerReading;

/// When a reading was made, ns.
#[derive(Debug, Clone, Copy)]
pub struct Stamp {
    pub time_ns: i64,
    pub monotonic_ns: i64,
}

/// What the monitor says of a sample and of itself, for table `system`.
#[derive(Debug, Clone, Copy, Default)]
pub struct OwnReading {
    pub sample: i64,
    pub lateness_us: i64,
    pub sample_cpu_us: Option<i64>,
    pub monitor_cpu_us: i64,
    pub monitor_rss_bytes: Option<i64>,
    pub users_logged_on: i64,
    pub users_in_queue: i64,
    pub lock_wait_us: Option<i64>,
    pub lock_spin_us: Option<i64>,
    pub lock_defers: Option<i64>,
}

/// One row of table `user`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserReading {
    pub user: String,
    pub processes: i64,
    pub tasks_runnable: i64,
    pub tasks_page_wait: i64,
    pub tasks_io_wait: i64,
    pub tasks_lock_wait: Option<i64>,
    pub cpu_us: i64,
    pub cpu_system_us: i64,
    pub run_delay_us: Option<i64>,
    pub io_delay_us: Option<i64>,
    pub page_delay_us: Option<i64>,
    pub major_faults: i64,
    pub minor_faults: i64,
    pub read_bytes: Option<i64>,
    pub write_bytes: Option<i64>,
    pub resident_bytes: i64,
    pub exits: i64,
    pub waited: Option<Waited>,
    pub throttled_us: Option<i64>,
    pub cgroup: Option<String>,
}

/// One row of table `task`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskReading {
    pub pid: i64,
    pub tid: i64,
    pub start_ticks: i64,
    pub user: String,
    pub name: String,
    pub cpu_us: i64,
    pub run_delay_us: i64,
    pub state: char,
    /// In front of its process.
    pub waiting_requests: Option<i64>,
}

/// A table and its columns, in an order of ours.
#[derive(Debug)]
struct Table {
    id: TableId,
    columns: Vec<ColumnId>,
}

impl Table {
    fn open<'a>(
        writer: &mut RecordingWriter,
        name: &str,
        columns: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, Error> {
        let id = writer.table(name)?;
        let columns = columns
            .into_iter()
            .map(|column| writer.column(id, column))
            .collect::<Result<_, _>>()?;
        Ok(Self { id, columns })
    }
}

const OWN: [&str; 12] = [
    "sample",
    "lateness_us",
    "sample_cpu_us",
    "monitor_cpu_us",
    "monitor_rss_bytes",
    "monitor_written_bytes",
    "users_logged_on",
    "users_in_queue",
    "load_average_1",
    "lock_wait_us",
    "lock_spin_us",
    "lock_defers",
];
const USER: [&str; 28] = [
    "user",
    "cgroup",
    "processes",
    "tasks_runnable",
    "tasks_page_wait",
    "tasks_io_wait",
    "tasks_lock_wait",
    "cpu_us",
    "cpu_system_us",
    "run_delay_us",
    "io_delay_us",
    "page_delay_us",
    "major_faults",
    "minor_faults",
    "read_bytes",
    "write_bytes",
    "resident_bytes",
    "exits",
    "page_wait_us",
    "io_wait_us",
    "futex_wait_us",
    "file_lock_wait_us",
    "local_wait_us",
    "network_wait_us",
    "idle_us",
    "other_wait_us",
    "mutex_wait_us",
    "throttled_us",
];
/// Its waits stand in the order of table `user`.
const WAIT: [&str; 14] = [
    "user",
    "cgroup",
    "cpu_us",
    "run_delay_us",
    "page_wait_us",
    "io_wait_us",
    "futex_wait_us",
    "file_lock_wait_us",
    "local_wait_us",
    "network_wait_us",
    "idle_us",
    "other_wait_us",
    "mutex_wait_us",
    "throttled_us",
];
const HOLDER: [&str; 8] = [
    "user",
    "cgroup",
    "cause",
    "holder",
    "holder_cgroup",
    "holder_name",
    "wait_us",
    "waits",
];
const DISK_WAIT: [&str; 5] = ["user", "cgroup", "device", "wait_us", "waits"];
const TASK: [&str; 9] = [
    "pid",
    "tid",
    "start_ticks",
    "user",
    "name",
    "cpu_us",
    "run_delay_us",
    "state",
    "waiting_requests",
];
const LOCK: [&str; 6] = ["lock", "wait_us", "hold_us", "spins", "spin_us", "defers"];
const THERMOMETER: [&str; 4] = ["thermometer", "elapsed_us", "cpu_us", "parameters"];
const TRANSACTION: [&str; 13] = [
    "user",
    "session",
    "terminal",
    "class",
    "outcome",
    "think_us",
    "typing_us",
    "reaction_us",
    "response_us",
    "typed_ahead",
    "uncertain_us",
    "cgroup",
    "unread_us",
];
const EVENT: [&str; 4] = ["source", "event", "value", "text"];

/// Writes the monitor's tables.
pub struct Recorder {
    writer: RecordingWriter,
    own: Table,
    system: Table,
    processor: Table,
    device: Table,
    cgroup: Table,
    user: Table,
    wait: Table,
    holder: Table,
    disk_wait: Table,
    task: Table,
    lock: Table,
    thermometer: Table,
    transaction: Table,
    event: Table,
}

impl Recorder {
    /// Asks for all tables and columns, so that a catalogue that lacks one shows at once.
    ///
    /// # Errors
    /// The catalogue lacks a table or column, or the recording cannot be written.
    pub fn new(mut writer: RecordingWriter) -> Result<Self, Error> {
        let w = &mut writer;
        let processor = system::PROCESSOR_COLUMNS.iter().map(|&(column, ..)| column);
        Ok(Self {
            own: Table::open(w, "system", OWN)?,
            system: Table::open(w, "system", system::SIGNALS.iter().map(|s| s.column))?,
            processor: Table::open(w, "processor", std::iter::once("processor").chain(processor))?,
            device: Table::open(
                w,
                "device",
                ["device", "device_kind"].iter().chain(device::COLUMNS).copied(),
            )?,
            cgroup: Table::open(
                w,
                "cgroup",
                std::iter::once("cgroup").chain(cgroup::COLUMNS.iter().copied()),
            )?,
            user: Table::open(w, "user", USER)?,
            wait: Table::open(w, "wait", WAIT)?,
            holder: Table::open(w, "holder", HOLDER)?,
            disk_wait: Table::open(w, "disk_wait", DISK_WAIT)?,
            task: Table::open(w, "task", TASK)?,
            lock: Table::open(w, "lock", LOCK)?,
            thermometer: Table::open(w, "thermometer", THERMOMETER)?,
            transaction: Table::open(w, "transaction", TRANSACTION)?,
            event: Table::open(w, "event", EVENT)?,
            writer,
        })
    }

    /// The writer, to flush and finish.
    pub fn writer(&mut self) -> &mut RecordingWriter {
        &mut self.writer
    }

    fn row(&mut self, id: TableId, at: Stamp, fill: impl FnOnce(&mut RecordingWriter)) {
        self.writer.begin_row(id, at.time_ns, at.monotonic_ns);
        fill(&mut self.writer);
        self.writer.end_row(id);
    }

    /// The row of table `system`, and those of table `processor`.
    pub fn system(&mut self, at: Stamp, own: &OwnReading, reading: &SystemReading) {
        let written = i64::try_from(self.writer.bytes_written()).ok();
        let own_values = [
            Some(own.sample),
            Some(own.lateness_us),
            own.sample_cpu_us,
            Some(own.monitor_cpu_us),
            own.monitor_rss_bytes,
            written,
            Some(own.users_logged_on),
            Some(own.users_in_queue),
        ];
        let (own_columns, columns) = (self.own.columns.clone(), self.system.columns.clone());
        self.row(self.system.id, at, |w| {
            set_all(w, &own_columns, &own_values);
            set_all(w, &columns, &reading.values);
            if let Some(load) = reading.load_average_1 {
                w.set_float(own_columns[8], load);
            }
            w.set_option(own_columns[9], own.lock_wait_us);
            w.set_option(own_columns[10], own.lock_spin_us);
            w.set_option(own_columns[11], own.lock_defers);
        });
        let columns = self.processor.columns.clone();
        for (number, values) in &reading.processors {
            self.row(self.processor.id, at, |w| {
                w.set_text(columns[0], &number.to_string());
                set_all(w, &columns[1..], values);
            });
        }
    }

    /// Rows of table `device`.
    pub fn devices(&mut self, at: Stamp, readings: &[DeviceReading]) {
        let columns = self.device.columns.clone();
        for reading in readings {
            self.row(self.device.id, at, |w| {
                w.set_text(columns[0], &reading.name);
                w.set_text(columns[1], reading.kind);
                set_all(w, &columns[2..], &reading.values());
            });
        }
    }

    /// A row of table `cgroup`.
    pub fn cgroup(&mut self, at: Stamp, name: &str, values: &[Option<i64>]) {
        let columns = self.cgroup.columns.clone();
        self.row(self.cgroup.id, at, |w| {
            w.set_text(columns[0], name);
            set_all(w, &columns[1..], values);
        });
    }

    /// A row of table `user`.
    pub fn user(&mut self, at: Stamp, reading: &UserReading) {
        let r = reading;
        let values = [
            Some(r.processes),
            Some(r.tasks_runnable),
            Some(r.tasks_page_wait),
            Some(r.tasks_io_wait),
            r.tasks_lock_wait,
            Some(r.cpu_us),
            Some(r.cpu_system_us),
            r.run_delay_us,
            r.io_delay_us,
            r.page_delay_us,
            Some(r.major_faults),
            Some(r.minor_faults),
            r.read_bytes,
            r.write_bytes,
            Some(r.resident_bytes),
            Some(r.exits),
        ];
        let waits = r.waited.map(Waited::microseconds);
        let columns = self.user.columns.clone();
        self.row(self.user.id, at, |w| {
            w.set_text(columns[0], &r.user);
            if let Some(cgroup) = &r.cgroup {
                w.set_text(columns[1], cgroup);
            }
            set_all(w, &columns[2..], &values);
            if let Some(waits) = waits {
                set_all(w, &columns[2 + values.len()..], &waits.map(Some));
            }
            w.set_option(columns[columns.len() - 1], r.throttled_us);
        });
    }

    /// A row of table `wait`.
    pub fn wait(&mut self, at: Stamp, reading: &WaitReading, throttling: bool) {
        let columns = self.wait.columns.clone();
        let totals = &reading.totals;
        let microseconds = |ns: u64| i64::try_from(ns / 1000).ok();
        let own = [totals.cpu_ns, totals.run_delay_ns].map(microseconds);
        let throttled = microseconds(totals.waited.quota_ns).filter(|_| throttling);
        self.row(self.wait.id, at, |w| {
            w.set_text(columns[0], &reading.user);
            if let Some(cgroup) = &reading.cgroup {
                w.set_text(columns[1], cgroup);
            }
            set_all(w, &columns[2..], &own);
            set_all(
                w,
                &columns[2 + own.len()..],
                &totals.waited.microseconds().map(Some),
            );
            w.set_option(columns[columns.len() - 1], throttled);
        });
    }

    /// A row of table `holder`.
    pub fn holder(&mut self, at: Stamp, reading: &HolderReading) {
        let columns = self.holder.columns.clone();
        self.row(self.holder.id, at, |w| {
            w.set_text(columns[0], &reading.user);
            if let Some(cgroup) = &reading.cgroup {
                w.set_text(columns[1], cgroup);
            }
            w.set_text(columns[2], reading.cause);
            w.set_text(columns[3], &reading.holder);
            if let Some(cgroup) = &reading.holder_cgroup {
                w.set_text(columns[4], cgroup);
            }
            w.set_text(columns[5], &reading.holder_name);
            w.set(columns[6], reading.wait_us);
            w.set(columns[7], reading.waits);
        });
    }

    /// A row of table `disk_wait`.
    pub fn disk_wait(&mut self, at: Stamp, reading: &DiskReading) {
        let columns = self.disk_wait.columns.clone();
        self.row(self.disk_wait.id, at, |w| {
            w.set_text(columns[0], &reading.user);
            if let Some(cgroup) = &reading.cgroup {
                w.set_text(columns[1], cgroup);
            }
            if let Some(device) = &reading.device {
                w.set_text(columns[2], device);
            }
            w.set(columns[3], reading.wait_us);
            w.set(columns[4], reading.waits);
        });
    }

    /// A row of table `task`.
    pub fn task(&mut self, at: Stamp, reading: &TaskReading) {
        let columns = self.task.columns.clone();
        self.row(self.task.id, at, |w| {
            w.set(columns[0], reading.pid);
            w.set(columns[1], reading.tid);
            w.set(columns[2], reading.start_ticks);
            w.set_text(columns[3], &reading.user);
            w.set_text(columns[4], &reading.name);
            w.set(columns[5], reading.cpu_us);
            w.set(columns[6], reading.run_delay_us);
            w.set_text(columns[7], reading.state.encode_utf8(&mut [0; 4]));
            w.set_option(columns[8], reading.waiting_requests);
        });
    }

    /// A row of table `lock`.
    pub fn lock(&mut self, at: Stamp, reading: &LockReading) {
        let columns = self.lock.columns.clone();
        self.row(self.lock.id, at, |w| {
            w.set_text(columns[0], &reading.name);
            w.set(columns[1], reading.wait_us);
            w.set(columns[2], reading.hold_us);
        });
    }

    /// A row of table `lock` for a kind of the kernel's own.
    pub fn kernel_locks(&mut self, at: Stamp, reading: &KernelLocks) {
        let columns = self.lock.columns.clone();
        let us = i64::try_from(reading.waited_ns / 1000).ok();
        let count = i64::try_from(reading.count).ok();
        let values = match reading.spins {
            true => [None, None, count, us, None],
            false => [us, None, None, None, count],
        };
        self.row(self.lock.id, at, |w| {
            w.set_text(columns[0], reading.name);
            set_all(w, &columns[1..], &values);
        });
    }

    /// A row of table `thermometer`, with the times of the probe's start.
    pub fn thermometer(&mut self, reading: &ThermometerReading) {
        let columns = self.thermometer.columns.clone();
        let at = Stamp {
            time_ns: reading.time_ns,
            monotonic_ns: reading.monotonic_ns,
        };
        self.row(self.thermometer.id, at, |w| {
            w.set_text(columns[0], &reading.thermometer);
            w.set_option(columns[1], reading.elapsed_us);
            w.set_option(columns[2], reading.cpu_us);
            if let Some(parameters) = &reading.parameters {
                w.set_text(columns[3], parameters);
            }
        });
    }

    /// A row of table `transaction`, with the times of the line's end.
    pub fn transaction(&mut self, at: Stamp, user: &str, reading: &Transaction) {
        let r = reading;
        let columns = self.transaction.columns.clone();
        self.row(self.transaction.id, at, |w| {
            w.set_text(columns[0], user);
            w.set_text(columns[1], &r.leader.to_string());
            w.set_text(columns[2], &r.terminal);
            w.set_text(columns[3], &r.class);
            w.set_text(columns[4], r.outcome);
            let times = [r.think_us, r.typing_us, r.reaction_us, r.response_us];
            set_all(w, &columns[5..], &times);
            w.set(columns[9], r.typed_ahead);
            w.set(columns[10], r.uncertain_us);
        });
    }

    /// A row of table `transaction`, with the times at which the request had come.
    pub fn request(&mut self, at: Stamp, user: &str, cgroup: Option<&str>, reading: &Request) {
        let r = reading;
        let columns = self.transaction.columns.clone();
        self.row(self.transaction.id, at, |w| {
            w.set_text(columns[0], user);
            w.set_text(columns[1], &format!("connection {}", r.connection));
            w.set_text(columns[3], &r.class);
            w.set_text(columns[4], r.outcome);
            let times = [r.think_us, r.arriving_us, r.reaction_us, r.response_us];
            set_all(w, &columns[5..], &times);
            w.set(columns[9], r.ahead);
            if let Some(cgroup) = cgroup {
                w.set_text(columns[11], cgroup);
            }
            w.set_option(columns[12], r.unread_us);
        });
    }

    /// A row of table `event`.
    pub fn event(&mut self, at: Stamp, event: &str, value: Option<f64>, text: Option<&str>) {
        let columns = self.event.columns.clone();
        self.row(self.event.id, at, |w| {
            w.set_text(columns[0], "monitor");
            w.set_text(columns[1], event);
            if let Some(value) = value {
                w.set_float(columns[2], value);
            }
            if let Some(text) = text {
                w.set_text(columns[3], text);
            }
        });
    }
}

fn set_all(writer: &mut RecordingWriter, columns: &[ColumnId], values: &[Option<i64>]) {
    for (column, value) in columns.iter().zip(values) {
        writer.set_option(*column, *value);
    }
}
