//! Reading back what the monitor has recorded.

use std::path::Path;

use arrow_array::{Array, Float64Array, Int64Array, StringArray, cast::AsArray};
use satline_recording::read_segment;

/// One value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Float(f64),
    Text(String),
}

/// A row by column name.
#[derive(Debug, Clone)]
pub struct Row(Vec<(String, Value)>);

#[allow(dead_code)] // Each test program uses some of these.
impl Row {
    pub fn value(&self, column: &str) -> &Value {
        let found = self.0.iter().find(|(name, _)| name == column);
        &found.unwrap_or_else(|| panic!("no column {column}")).1
    }

    pub fn int(&self, column: &str) -> Option<i64> {
        match self.value(column) {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    pub fn text(&self, column: &str) -> Option<&str> {
        match self.value(column) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Every column that is not null, the common ones left out, as text.
    pub fn told(&self) -> Vec<String> {
        let common = ["time_ns", "monotonic_ns", "run"];
        let told = self
            .0
            .iter()
            .filter(|(name, value)| *value != Value::Null && !common.contains(&name.as_str()));
        told.map(|(name, value)| match value {
            Value::Int(value) => format!("{name}={value}"),
            Value::Float(value) => format!("{name}={value}"),
            Value::Text(text) => format!("{name}={text:?}"),
            Value::Null => unreachable!("left out above"),
        })
        .collect()
    }
}

/// All rows of a table, in the order written.
pub fn rows(recording: &Path, table: &str) -> Vec<Row> {
    let Ok(entries) = std::fs::read_dir(recording.join("segments").join(table)) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut rows = Vec::new();
    for path in paths {
        let contents = read_segment(&path).unwrap();
        assert!(contents.damage.is_none(), "{path:?}: {:?}", contents.damage);
        for batch in contents.batches {
            for row in 0..batch.num_rows() {
                let schema = batch.schema();
                let columns = schema.fields().iter().zip(batch.columns());
                rows.push(Row(columns
                    .map(|(field, array)| (field.name().clone(), value(array, row)))
                    .collect()));
            }
        }
    }
    rows
}

fn value(array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    if let Some(array) = array.as_any().downcast_ref::<Int64Array>() {
        return Value::Int(array.value(row));
    }
    if let Some(array) = array.as_any().downcast_ref::<Float64Array>() {
        return Value::Float(array.value(row));
    }
    if let Some(array) = array.as_any().downcast_ref::<StringArray>() {
        return Value::Text(array.value(row).to_owned());
    }
    let dictionary = array.as_any_dictionary();
    let key = dictionary.normalized_keys()[row];
    value(dictionary.values().as_ref(), key)
}
