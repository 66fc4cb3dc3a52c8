//! Transactions and events into the recording.

use std::path::Path;
use std::sync::Arc;

use satline_program::Error;
use satline_program::clock::{monotonic_ns, real_ns};
use satline_recording::{ColumnId, RecordingWriter, Row, Table, Value, WriterOptions, row};

use crate::user::user_name;
use crate::workload::Script;

/// Transactions that wait to become rows: a row is made of many columns, each elsewhere in memory, and better among others
/// than while an answer is awaited.
const GATHERED: usize = 32;

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Ok,
    Refused,
    Timeout,
    Died,
    Unexpected,
    Cut,
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::Died => "died",
            Self::Unexpected => "unexpected",
            Self::Cut => "cut",
        }
    }
}

/// What a transaction was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    LogOn,
    SetUp,
    /// A command of the user's script, from 0.
    Command(usize),
}

impl Value for Outcome {
    fn put(&self, writer: &mut RecordingWriter, column: ColumnId) {
        writer.set_text(column, self.word());
    }
}

row! {
    /// One interaction; the columns of table `transaction`.
    #[derive(Debug)]
    pub struct Transaction {
        pub step: i64,
        pub users: i64,
        pub phase: &'static str,
        pub outcome: Outcome,
        pub exit_status: Option<i64>,
        pub think_us: i64,
        pub typing_us: i64,
        pub lateness_us: i64,
        pub reaction_us: Option<i64>,
        pub response_us: Option<i64>,
        pub input_characters: Option<i64>,
        pub output_bytes: i64,
        pub intended_ns: Option<i64>,
        pub response_from_intended_us: Option<i64>,
        ;
        pub time_ns: i64,
        pub monotonic_ns: i64,
        /// From 1.
        pub user: usize,
        /// From 0.
        pub script: usize,
        pub class: Class,
    }
}

row! {
    /// What happened; the columns of table `event`.
    #[derive(Debug, Default)]
    pub struct Event<'a> {
        pub source: &'a str,
        pub event: &'a str,
        /// From 1, and its users, where the event belongs to one.
        pub step: Option<i64>,
        pub users: Option<i64>,
        pub value: Option<f64>,
        pub text: Option<&'a str>,
    }
}

/// Names of a script and of its commands' classes.
struct Names {
    script: Arc<str>,
    classes: Vec<Arc<str>>,
}

/// The emulator's writer.
pub struct Recorder {
    writer: RecordingWriter,
    scripts: Vec<Names>,
    gathered: Vec<Transaction>,
    transaction: Table,
    /// The user, the script and the class of a transaction, which have names.
    names: Table,
    event: Table,
}

impl Recorder {
    /// Opens the writer `terminal` of a recording.
    pub fn open(directory: &Path, scripts: &[Script]) -> Result<Self, Error> {
        let mut writer = RecordingWriter::open(directory, "terminal", WriterOptions::default())?;
        let names = |script: &Script| Names {
            script: Arc::clone(&script.name),
            classes: script
                .commands
                .iter()
                .map(|command| Arc::clone(&command.class))
                .collect(),
        };
        Ok(Self {
            scripts: scripts.iter().map(names).collect(),
            gathered: Vec::with_capacity(GATHERED),
            transaction: Table::of::<Transaction>(&mut writer, "transaction")?,
            names: Table::open(&mut writer, "transaction", ["user", "script", "class"])?,
            event: Table::of::<Event<'_>>(&mut writer, "event")?,
            writer,
        })
    }

    pub fn transaction(&mut self, row: Transaction) {
        self.gathered.push(row);
        if self.gathered.len() == GATHERED {
            self.write_gathered();
        }
    }

    fn write_gathered(&mut self) {
        let mut gathered = std::mem::take(&mut self.gathered);
        for row in &gathered {
            self.write(row);
        }
        gathered.clear();
        self.gathered = gathered;
    }

    fn write(&mut self, row: &Transaction) {
        let names = &self.scripts[row.script];
        let name = user_name(row.user);
        let class = match row.class {
            Class::LogOn => "logon",
            Class::SetUp => "setup",
            Class::Command(command) => &names.classes[command],
        };
        let at_ns = (row.time_ns, row.monotonic_ns);
        self.transaction.row(&mut self.writer, at_ns, |writer, columns| {
            for (column, text) in self.names.columns().iter().zip([&name, &*names.script, class]) {
                writer.set_text(*column, text);
            }
            row.put(writer, columns);
        });
    }

    /// Writes an event that happens now.
    pub fn event(&mut self, row: &Event<'_>) {
        self.event
            .write(&mut self.writer, (real_ns(), monotonic_ns()), row);
    }

    pub fn flush_due(&mut self, monotonic_ns: i64) -> Result<(), Error> {
        self.write_gathered();
        self.writer.flush_due(monotonic_ns)
    }

    /// Whoever reads the recording finds everything in a moment.
    pub fn flush_soon(&mut self) -> Result<(), Error> {
        self.write_gathered();
        self.writer.flush_soon()
    }

    pub fn finish(&mut self) -> Result<(), Error> {
        self.write_gathered();
        self.writer.finish()
    }
}
