//! Readings → rows of the recording.

use std::iter;

use satline_program::Error;
use satline_recording::{EventRow, RecordingWriter, Row, Table, Value, row};

use crate::cgroup;
use crate::device::{self, DeviceReading};
use crate::ebpf::contention::KernelLocks;
use crate::ebpf::waits::{COLUMNS, Waited};
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

impl From<Stamp> for (i64, i64) {
    fn from(at: Stamp) -> Self {
        (at.time_ns, at.monotonic_ns)
    }
}

row! {
    /// What the monitor says of a sample and of itself, for table `system`.
    #[derive(Debug, Clone, Copy, Default)]
    pub struct OwnReading {
        pub sample: i64,
        pub lateness_us: i64,
        pub sample_cpu_us: Option<i64>,
        pub monitor_cpu_us: i64,
        pub monitor_rss_bytes: Option<i64>,
        pub monitor_written_bytes: Option<i64>,
        pub users_logged_on: i64,
        pub users_in_queue: i64,
        pub load_average_1: Option<f64>,
        pub lock_wait_us: Option<i64>,
        pub lock_spin_us: Option<i64>,
        pub lock_defers: Option<i64>,
    }
}

row! {
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
        pub throttled_us: Option<i64>,
        pub cgroup: Option<String>,
        ;
        pub waited: Option<Waited>,
    }
}

row! {
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
}

/// Columns of time waited, in the order of [`Waited::microseconds`].
const WAITS: [&str; COLUMNS] = [
    "page_wait_us",
    "io_wait_us",
    "futex_wait_us",
    "file_lock_wait_us",
    "local_wait_us",
    "network_wait_us",
    "idle_us",
    "other_wait_us",
    "mutex_wait_us",
];
const WAIT: [&str; 5] = ["user", "cgroup", "cpu_us", "run_delay_us", "throttled_us"];
const KERNEL_LOCK: [&str; 5] = ["lock", "wait_us", "spins", "spin_us", "defers"];

/// Writes the monitor's tables.
pub struct Recorder {
    writer: RecordingWriter,
    own: Table,
    system: Table,
    processor: Table,
    device: Table,
    cgroup: Table,
    user: Table,
    user_waits: Table,
    wait: Table,
    holder: Table,
    disk_wait: Table,
    task: Table,
    lock: Table,
    kernel_lock: Table,
    thermometer: Table,
    line: Table,
    line_of: Table,
    request: Table,
    request_of: Table,
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
        let cgroup = iter::once("cgroup").chain(cgroup::COLUMNS.iter().copied());
        let device = ["device", "device_kind"].iter().chain(device::COLUMNS).copied();
        Ok(Self {
            own: Table::of::<OwnReading>(w, "system")?,
            system: Table::open(w, "system", system::SIGNALS.iter().map(|s| s.column))?,
            processor: Table::open(w, "processor", iter::once("processor").chain(processor))?,
            device: Table::open(w, "device", device)?,
            cgroup: Table::open(w, "cgroup", cgroup)?,
            user: Table::of::<UserReading>(w, "user")?,
            user_waits: Table::open(w, "user", WAITS)?,
            wait: Table::open(w, "wait", WAIT.into_iter().chain(WAITS))?,
            holder: Table::of::<HolderReading>(w, "holder")?,
            disk_wait: Table::of::<DiskReading>(w, "disk_wait")?,
            task: Table::of::<TaskReading>(w, "task")?,
            lock: Table::of::<LockReading>(w, "lock")?,
            kernel_lock: Table::open(w, "lock", KERNEL_LOCK)?,
            thermometer: Table::of::<ThermometerReading>(w, "thermometer")?,
            line: Table::of::<Transaction>(w, "transaction")?,
            line_of: Table::open(w, "transaction", ["user", "session"])?,
            request: Table::of::<Request>(w, "transaction")?,
            request_of: Table::open(w, "transaction", ["user", "session", "cgroup"])?,
            event: Table::of::<EventRow<'_>>(w, "event")?,
            writer,
        })
    }

    /// The writer, to flush and finish.
    pub fn writer(&mut self) -> &mut RecordingWriter {
        &mut self.writer
    }

    /// The row of table `system`, and those of table `processor`.
    pub fn system(&mut self, at: Stamp, own: &OwnReading, reading: &SystemReading) {
        let own = OwnReading {
            monitor_written_bytes: i64::try_from(self.writer.bytes_written()).ok(),
            load_average_1: reading.load_average_1,
            ..*own
        };
        self.own.row(&mut self.writer, at.into(), |w, columns| {
            own.put(w, columns);
            w.set_all(self.system.columns(), &reading.values);
        });
        for (number, values) in &reading.processors {
            self.processor.row(&mut self.writer, at.into(), |w, columns| {
                w.set_text(columns[0], &number.to_string());
                w.set_all(&columns[1..], values);
            });
        }
    }

    /// Rows of table `device`.
    pub fn devices(&mut self, at: Stamp, readings: &[DeviceReading]) {
        for reading in readings {
            self.device.row(&mut self.writer, at.into(), |w, columns| {
                w.set_text(columns[0], &reading.name);
                w.set_text(columns[1], reading.kind);
                w.set_all(&columns[2..], &reading.values());
            });
        }
    }

    /// A row of table `cgroup`.
    pub fn cgroup(&mut self, at: Stamp, name: &str, values: &[Option<i64>]) {
        self.cgroup.row(&mut self.writer, at.into(), |w, columns| {
            w.set_text(columns[0], name);
            w.set_all(&columns[1..], values);
        });
    }

    /// A row of table `user`.
    pub fn user(&mut self, at: Stamp, reading: &UserReading) {
        self.user.row(&mut self.writer, at.into(), |w, columns| {
            reading.put(w, columns);
            if let Some(waited) = reading.waited {
                w.set_all(self.user_waits.columns(), &waited.microseconds().map(Some));
            }
        });
    }

    /// A row of table `wait`.
    pub fn wait(&mut self, at: Stamp, reading: &WaitReading, throttling: bool) {
        let totals = &reading.totals;
        let throttled_ns = Some(totals.waited.quota_ns).filter(|_| throttling);
        let own = [Some(totals.cpu_ns), Some(totals.run_delay_ns), throttled_ns];
        let own = own.map(|ns| i64::try_from(ns? / 1000).ok());
        self.wait.row(&mut self.writer, at.into(), |w, columns| {
            w.set_text(columns[0], &reading.user);
            reading.cgroup.put(w, columns[1]);
            w.set_all(&columns[2..], &own);
            w.set_all(&columns[WAIT.len()..], &totals.waited.microseconds().map(Some));
        });
    }

    /// A row of table `holder`.
    pub fn holder(&mut self, at: Stamp, reading: &HolderReading) {
        self.holder.write(&mut self.writer, at.into(), reading);
    }

    /// A row of table `disk_wait`.
    pub fn disk_wait(&mut self, at: Stamp, reading: &DiskReading) {
        self.disk_wait.write(&mut self.writer, at.into(), reading);
    }

    /// A row of table `task`.
    pub fn task(&mut self, at: Stamp, reading: &TaskReading) {
        self.task.write(&mut self.writer, at.into(), reading);
    }

    /// A row of table `lock`.
    pub fn lock(&mut self, at: Stamp, reading: &LockReading) {
        self.lock.write(&mut self.writer, at.into(), reading);
    }

    /// A row of table `lock` for a kind of the kernel's own.
    pub fn kernel_locks(&mut self, at: Stamp, reading: &KernelLocks) {
        let us = i64::try_from(reading.waited_ns / 1000).ok();
        let count = i64::try_from(reading.count).ok();
        let values = match reading.spins {
            true => [None, count, us, None],
            false => [us, None, None, count],
        };
        self.kernel_lock.row(&mut self.writer, at.into(), |w, columns| {
            w.set_text(columns[0], reading.name);
            w.set_all(&columns[1..], &values);
        });
    }

    /// A row of table `thermometer`, with the times of the probe's start.
    pub fn thermometer(&mut self, reading: &ThermometerReading) {
        let at_ns = (reading.time_ns, reading.monotonic_ns);
        self.thermometer.write(&mut self.writer, at_ns, reading);
    }

    /// A row of table `transaction`, with the times of the line's end.
    pub fn transaction(&mut self, at: Stamp, user: &str, reading: &Transaction) {
        self.line.row(&mut self.writer, at.into(), |w, columns| {
            let of = self.line_of.columns();
            w.set_text(of[0], user);
            w.set_text(of[1], &reading.leader.to_string());
            reading.put(w, columns);
        });
    }

    /// A row of table `transaction`, with the times at which the request had come.
    pub fn request(&mut self, at: Stamp, user: &str, cgroup: Option<&str>, reading: &Request) {
        self.request.row(&mut self.writer, at.into(), |w, columns| {
            let of = self.request_of.columns();
            w.set_text(of[0], user);
            w.set_text(of[1], &format!("connection {}", reading.connection));
            cgroup.put(w, of[2]);
            reading.put(w, columns);
        });
    }

    /// A row of table `event`.
    pub fn event(&mut self, at: Stamp, event: &str, value: Option<f64>, text: Option<&str>) {
        let source = "monitor";
        let row = EventRow {
            source,
            event,
            value,
            text,
        };
        self.event.write(&mut self.writer, at.into(), &row);
    }
}
