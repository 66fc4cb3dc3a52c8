//! Rows of one table, gathered column by column into Arrow batches.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use crate::catalogue::{ColumnType, TableDefinition};
use crate::pseudonym::{Pseudonymiser, RuleId};

/// A table of one writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TableId(pub(crate) u16);

/// A column of one writer; it knows its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ColumnId {
    pub(crate) table: u16,
    pub(crate) column: u16,
}

/// A value of the row being made. Text is a range of the row's scratch text.
#[derive(Clone, Copy)]
enum Slot {
    Null,
    Int(i64),
    Float(f64),
    Text(usize, usize),
}

enum Builder {
    Int(Int64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
}

impl Builder {
    fn append(&mut self, slot: Slot, text: &str) {
        match (self, slot) {
            (Builder::Int(b), Slot::Int(v)) => b.append_value(v),
            (Builder::Int(b), _) => b.append_null(),
            (Builder::Float(b), Slot::Float(v)) => b.append_value(v),
            (Builder::Float(b), _) => b.append_null(),
            (Builder::Text(b), Slot::Text(from, to)) => b.append_value(&text[from..to]),
            (Builder::Text(b), _) => b.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Int(b) => Arc::new(b.finish()),
            Builder::Float(b) => Arc::new(b.finish()),
            Builder::Text(b) => Arc::new(b.finish()),
        }
    }
}

/// The rows of one table that are not yet in a batch, and the row being made.
pub(crate) struct Rows {
    pub definition: &'static TableDefinition,
    pub schema: SchemaRef,
    builders: Vec<Builder>,
    row: Vec<Slot>,
    text: String,
    rows: usize,
    day: i64,
    /// By column, the rule by which its text is replaced; none where names are written.
    rules: Vec<RuleId>,
    /// The columns of an event's kind and of its text.
    event: Option<(usize, usize)>,
}

const NS_PER_DAY: i64 = 86_400_000_000_000;

impl Rows {
    pub fn new(definition: &'static TableDefinition) -> Self {
        let builder = |t| match t {
            ColumnType::Int => Builder::Int(Int64Builder::new()),
            ColumnType::Float => Builder::Float(Float64Builder::new()),
            ColumnType::Text => Builder::Text(StringBuilder::new()),
        };
        Rows {
            definition,
            schema: schema(definition),
            builders: definition
                .columns
                .iter()
                .map(|c| builder(c.column_type))
                .collect(),
            row: vec![Slot::Null; definition.columns.len()],
            text: String::new(),
            rows: 0,
            day: 0,
            rules: Vec::new(),
            event: None,
        }
    }

    /// Has texts replaced by the rules that the catalogue says.
    pub fn without_names(&mut self, names: &Pseudonymiser) {
        let columns = &self.definition.columns;
        self.rules = columns.iter().map(|c| names.rule(&c.names)).collect();
        let text = columns.iter().position(|c| c.names == "event-text");
        self.event = self.definition.position("event").zip(text);
    }

    /// Begins a row: every column is null but the three common ones.
    pub fn begin(&mut self, time_ns: i64, monotonic_ns: i64, run: i64) {
        self.row.fill(Slot::Null);
        self.text.clear();
        self.row[0] = Slot::Int(time_ns);
        self.row[1] = Slot::Int(monotonic_ns);
        self.row[2] = Slot::Int(run);
    }

    /// Sets an integer; in a float column it becomes a float.
    pub fn set_int(&mut self, column: u16, value: i64) {
        self.row[usize::from(column)] = match self.builders[usize::from(column)] {
            Builder::Int(_) => Slot::Int(value),
            Builder::Float(_) => Slot::Float(value as f64),
            Builder::Text(_) => self.wrong_type(column, "an integer"),
        };
    }

    pub fn set_float(&mut self, column: u16, value: f64) {
        self.row[usize::from(column)] = match self.builders[usize::from(column)] {
            Builder::Float(_) => Slot::Float(value),
            _ => self.wrong_type(column, "a float"),
        };
    }

    pub fn set_text(&mut self, column: u16, value: &str) {
        if !matches!(self.builders[usize::from(column)], Builder::Text(_)) {
            self.wrong_type(column, "text");
        }
        let from = self.text.len();
        self.text.push_str(value);
        self.row[usize::from(column)] = Slot::Text(from, self.text.len());
    }

    pub fn set_null(&mut self, column: u16) {
        self.row[usize::from(column)] = Slot::Null;
    }

    fn wrong_type(&self, column: u16, what: &str) -> ! {
        let table = &self.definition.name;
        let column = &self.definition.columns[usize::from(column)];
        panic!(
            "{table}.{} is {:?}, it cannot hold {what}",
            column.name, column.column_type
        );
    }

    /// The row's UTC day, as days since 1970-01-01.
    pub fn row_day(&self) -> i64 {
        match self.row[0] {
            Slot::Int(time_ns) => time_ns.div_euclid(NS_PER_DAY),
            _ => self.day,
        }
    }

    /// Whether the row that was made belongs to another day than the rows that wait.
    pub fn day_changes(&self) -> bool {
        self.rows > 0 && self.row_day() != self.day
    }

    /// Adds the row that was made to those that wait.
    pub fn end(&mut self, names: Option<&mut Pseudonymiser>) {
        self.day = self.row_day();
        if let Some(names) = names {
            self.replace_names(names);
        }
        for (builder, slot) in self.builders.iter_mut().zip(&self.row) {
            builder.append(*slot, &self.text);
        }
        self.rows += 1;
    }

    /// Puts pseudonyms in place of the names of the row that was made.
    fn replace_names(&mut self, names: &mut Pseudonymiser) {
        let mut text = String::with_capacity(self.text.len());
        let event = self.event.and_then(|(event, text)| match self.row[event] {
            Slot::Text(from, to) => Some((text, self.text[from..to].to_owned())),
            _ => None,
        });
        for (column, slot) in self.row.iter_mut().enumerate() {
            let Slot::Text(from, to) = *slot else {
                continue;
            };
            let told = &self.text[from..to];
            let made = match &event {
                Some((place, kind)) if *place == column => names.event_text(kind, told),
                _ => names.by_rule(told, self.rules[column]),
            };
            let begin = text.len();
            text.push_str(&made);
            *slot = Slot::Text(begin, text.len());
        }
        self.text = text;
    }

    /// Takes the rows that wait: their day and one batch; none if no row waits.
    pub fn take(&mut self) -> Result<Option<(i64, RecordBatch)>, ArrowError> {
        if self.rows == 0 {
            return Ok(None);
        }
        self.rows = 0;
        let columns = self.builders.iter_mut().map(Builder::finish).collect();
        Ok(Some((
            self.day,
            RecordBatch::try_new(self.schema.clone(), columns)?,
        )))
    }
}

/// The Arrow schema of a table's segments.
fn schema(definition: &TableDefinition) -> SchemaRef {
    let data_type = |t| match t {
        ColumnType::Int => DataType::Int64,
        ColumnType::Float => DataType::Float64,
        ColumnType::Text => DataType::Utf8,
    };
    let fields: Vec<Field> = definition
        .columns
        .iter()
        .map(|c| Field::new(&c.name, data_type(c.column_type), true))
        .collect();
    let metadata = HashMap::from([
        ("satline.table".to_owned(), definition.name.clone()),
        ("satline.format".to_owned(), crate::FORMAT_VERSION.to_string()),
    ]);
    Arc::new(Schema::new_with_metadata(fields, metadata))
}
