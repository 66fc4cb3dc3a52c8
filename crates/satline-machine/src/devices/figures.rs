//! The figures of a device file, each with its source.

use std::collections::BTreeMap;
use std::path::Path;

use satline_program::Error;
use serde::Deserialize;

/// What stands for a source that was not found.
const UNVERIFIED: &str = "unverified";
/// No device file is longer.
const MAX_BYTES: u64 = 1 << 20;

/// One figure. The unit is the end of its key.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    pub value: f64,
    /// Where it is from, or "unverified".
    pub source: String,
}

/// A device file as read.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Its name, in messages.
    #[serde(skip)]
    file: String,
    pub name: String,
    /// A name of the table of kinds.
    pub kind: String,
    /// What the device is, and what the model assumes of it.
    pub note: String,
    pub figures: BTreeMap<String, Figure>,
}

impl Figures {
    /// Reads a device file.
    ///
    /// # Errors
    /// It cannot be read, is not such a file, or a figure has no source.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let failed = |why: String| {
            Error::input(
                format!("{name}: {why}"),
                "give a device file; machines/devices has examples",
            )
        };
        let meta = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
        // A pipe or a disk would be read for ever.
        if !meta.is_file() || meta.len() > MAX_BYTES {
            return Err(failed("not a file of under 1 MiB".into()));
        }
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        Self::parse(&text, &name)
    }

    /// Reads the text of a device file; the name is for messages.
    ///
    /// # Errors
    /// As [`Figures::read`].
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        let mut read: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(0, |span| text[..span.start].matches('\n').count()) + 1;
            Error::input(
                format!("{file}, line {line}: {}", error.message()),
                "a device file has name, kind, note and a table [figures] of lines KEY = { value = …, source = \"…\" }",
            )
        })?;
        read.file = file.into();
        if let Some((key, _)) = read
            .figures
            .iter()
            .find(|(_, figure)| figure.source.trim().is_empty())
        {
            return Err(read.wrong(
                key,
                "has no source",
                "name where it is from, or write \"unverified\"",
            ));
        }
        Ok(read)
    }

    /// Keys of figures that have no known source: a result that depends on them says so.
    pub fn unverified(&self) -> Vec<&str> {
        let figures = self.figures.iter();
        let without = figures.filter(|(_, figure)| figure.source == UNVERIFIED);
        without.map(|(key, _)| key.as_str()).collect()
    }

    /// A figure within limits.
    ///
    /// # Errors
    /// It is missing or beyond them.
    pub fn within(&self, key: &str, low: f64, high: f64) -> Result<f64, Error> {
        let Some(figure) = self.figures.get(key) else {
            return Err(self.wrong(key, "is missing", "add it to [figures]"));
        };
        if !(low..=high).contains(&figure.value) {
            let why = format!("is {}", figure.value);
            return Err(self.wrong(key, &why, &format!("give a value from {low} to {high}")));
        }
        Ok(figure.value)
    }

    /// A whole number from 1.
    ///
    /// # Errors
    /// It is missing, not whole or too large.
    pub fn count(&self, key: &str, most: u32) -> Result<u32, Error> {
        let value = self.within(key, 1.0, f64::from(most))?;
        if value.fract() != 0.0 {
            return Err(self.wrong(key, &format!("is {value}"), "give a whole number"));
        }
        Ok(value as u32)
    }

    /// Whether the file has this figure.
    pub fn has(&self, key: &str) -> bool {
        self.figures.contains_key(key)
    }

    /// An error about a key of this file.
    pub fn wrong(&self, key: &str, why: &str, hint: &str) -> Error {
        Error::input(format!("{}: figures.{key} {why}", self.file), hint)
    }

    /// An error, with the file before it.
    pub fn located(&self, error: Error) -> Error {
        Error::input(format!("{}: {}", self.file, error.message), error.hint)
    }

    /// The file's name, for messages.
    pub fn file(&self) -> &str {
        &self.file
    }
}
