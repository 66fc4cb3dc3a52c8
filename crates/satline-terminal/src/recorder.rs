//! Transactions and events into the recording.

use std::path::Path;
use std::sync::Arc;

use satline_program::Error;
use satline_program::clock::{monotonic_ns, real_ns};
use satline_recording::{ColumnId, RecordingWriter, TableId, WriterOptions};

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

/// One interaction; the columns of table `transaction`.
#[derive(Debug)]
pub struct Transaction {
    pub time_ns: i64,
    pub monotonic_ns: i64,
    /// From 1.
    pub user: usize,
    pub step: i64,
    pub users: i64,
    pub phase: &'static str,
    /// From 0.
    pub script: usize,
    pub class: Class,
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
}

/// What happened; the columns of table `event`.
#[derive(Debug, Default)]
pub struct Event<'a> {
    pub event: &'a str,
    /// Step from 1 and its users, where the event belongs to one.
    pub step: Option<(i64, i64)>,
    pub value: Option<f64>,
    pub text: &'a str,
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
    transaction: TableId,
    transaction_columns: [ColumnId; 17],
    event: TableId,
    event_columns: [ColumnId; 6],
}

fn columns<const N: usize>(
    writer: &RecordingWriter,
    table: TableId,
    names: [&str; N],
) -> Result<[ColumnId; N], Error> {
    let ids = names
        .iter()
        .map(|name| writer.column(table, name))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(std::array::from_fn(|index| ids[index]))
}

impl Recorder {
    /// Opens the writer `terminal` of a recording.
    pub fn open(directory: &Path, scripts: &[Script]) -> Result<Self, Error> {
        let mut writer = RecordingWriter::open(directory, "terminal", WriterOptions::default())?;
        let transaction = writer.table("transaction")?;
        let names = [
            "user",
            "step",
            "users",
            "phase",
            "script",
            "class",
            "outcome",
            "exit_status",
            "think_us",
            "typing_us",
            "lateness_us",
            "reaction_us",
            "response_us",
            "input_characters",
            "output_bytes",
            "intended_ns",
            "response_from_intended_us",
        ];
        let transaction_columns = columns(&writer, transaction, names)?;
        let event = writer.table("event")?;
        let event_columns = columns(
            &writer,
            event,
            ["source", "event", "step", "users", "value", "text"],
        )?;
        let names = |script: &Script| Names {
            script: Arc::clone(&script.name),
            classes: script
                .commands
                .iter()
                .map(|command| Arc::clone(&command.class))
                .collect(),
        };
        Ok(Self {
            writer,
            scripts: scripts.iter().map(names).collect(),
            gathered: Vec::with_capacity(GATHERED),
            transaction,
            transaction_columns,
            event,
            event_columns,
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
        let writer = &mut self.writer;
        writer.begin_row(self.transaction, row.time_ns, row.monotonic_ns);
        let [
            user,
            step,
            users,
            phase,
            script,
            class,
            outcome,
            exit,
            think,
            typing,
            late,
            reaction,
            response,
            input,
            output,
            intended,
            from_intended,
        ] = self.transaction_columns;
        for (column, text) in [
            (user, name.as_str()),
            (phase, row.phase),
            (script, &names.script),
            (
                class,
                match row.class {
                    Class::LogOn => "logon",
                    Class::SetUp => "setup",
                    Class::Command(command) => &names.classes[command],
                },
            ),
            (outcome, row.outcome.word()),
        ] {
            writer.set_text(column, text);
        }
        for (column, value) in [
            (step, row.step),
            (users, row.users),
            (think, row.think_us),
            (typing, row.typing_us),
            (late, row.lateness_us),
            (output, row.output_bytes),
        ] {
            writer.set(column, value);
        }
        for (column, value) in [
            (exit, row.exit_status),
            (reaction, row.reaction_us),
            (response, row.response_us),
            (input, row.input_characters),
            (intended, row.intended_ns),
            (from_intended, row.response_from_intended_us),
        ] {
            writer.set_option(column, value);
        }
        writer.end_row(self.transaction);
    }

    /// Writes an event that happens now.
    pub fn event(&mut self, row: &Event<'_>) {
        let writer = &mut self.writer;
        writer.begin_row(self.event, real_ns(), monotonic_ns());
        let [source, event, step, users, value, text] = self.event_columns;
        writer.set_text(source, "terminal");
        writer.set_text(event, row.event);
        writer.set_option(step, row.step.map(|(step, _)| step));
        writer.set_option(users, row.step.map(|(_, users)| users));
        if let Some(number) = row.value {
            writer.set_float(value, number);
        }
        if !row.text.is_empty() {
            writer.set_text(text, row.text);
        }
        writer.end_row(self.event);
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
