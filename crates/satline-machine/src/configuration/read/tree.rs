//! A file's text as a tree that still knows its lines.

use std::collections::BTreeMap;

use satline_program::Error;
use toml::de::{DeTable, DeValue};

/// Where a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Line(usize),
    /// In the file that this one is like.
    Like(usize),
    /// Not in the file: set for this run.
    Set,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub place: Place,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Number(f64),
    Flag(bool),
    List(Vec<Node>),
    Table(BTreeMap<String, Node>),
    /// A date, which no key wants.
    Date,
}

impl Value {
    /// What it is, for messages.
    pub fn what(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Number(_) => "a number",
            Self::Flag(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Date => "a date",
        }
    }
}

/// The tree of a TOML text.
///
/// # Errors
/// It is not TOML; the message names file and line.
pub fn parse(text: &str, file: &str) -> Result<Node, Error> {
    let root = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| Lines::new(text).of(span.start));
        Error::input(
            format!("{file}, line {line}: {}", error.message()),
            "the file is TOML: [tables] of lines KEY = VALUE; docs/reference/machine-files.md lists the keys",
        )
    })?;
    Ok(Node {
        place: Place::Line(1),
        value: table(root.get_ref(), &Lines::new(text)),
    })
}

/// The value of a `--set`: TOML if it is TOML, else the text itself.
pub fn parse_set(text: &str) -> Node {
    let value = match DeValue::parse(text) {
        Ok(read) => convert(read.get_ref(), &Lines::new("")),
        Err(_) => Value::Text(text.into()),
    };
    let mut node = Node {
        place: Place::Set,
        value,
    };
    mark(&mut node);
    node
}

fn mark(node: &mut Node) {
    node.place = Place::Set;
    match &mut node.value {
        Value::List(nodes) => nodes.iter_mut().for_each(mark),
        Value::Table(nodes) => nodes.values_mut().for_each(mark),
        _ => {}
    }
}

/// Where lines begin: looked up, since counting from the start for every value is quadratic in a long file.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    fn of(&self, at: usize) -> usize {
        self.0.partition_point(|&end| end < at) + 1
    }
}

fn table(read: &DeTable<'_>, lines: &Lines) -> Value {
    let entries = read.iter().map(|(key, value)| {
        let node = Node {
            place: Place::Line(lines.of(key.span().start)),
            value: convert(value.get_ref(), lines),
        };
        (key.get_ref().to_string(), node)
    });
    Value::Table(entries.collect())
}

fn convert(read: &DeValue<'_>, lines: &Lines) -> Value {
    match read {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => {
            let read = i128::from_str_radix(number.as_str(), number.radix());
            // Beyond 128 bits every limit is passed.
            Value::Number(read.map_or(f64::INFINITY, |whole| whole as f64))
        }
        DeValue::Float(number) => Value::Number(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(items) => Value::List(
            items
                .iter()
                .map(|item| Node {
                    place: Place::Line(lines.of(item.span().start)),
                    value: convert(item.get_ref(), lines),
                })
                .collect(),
        ),
        DeValue::Table(entries) => table(entries, lines),
    }
}
