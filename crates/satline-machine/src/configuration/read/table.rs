//! A table of a file, asked key by key; what was not asked for is not known.

use std::cell::RefCell;
use std::collections::BTreeMap;

use satline_program::Error;

use super::near::nearest;
use super::stated::Stated;
use super::tree::{Node, Place, Value};

/// What all tables of a file share.
#[derive(Debug)]
pub struct Notes {
    pub file: String,
    /// The figures read so far.
    pub stated: RefCell<Vec<Stated>>,
}

#[derive(Debug)]
pub struct Table<'a> {
    pub(super) notes: &'a Notes,
    /// Its dotted path; empty for the file itself.
    path: String,
    place: Place,
    entries: &'a BTreeMap<String, Node>,
    asked: RefCell<Vec<String>>,
}

impl<'a> Table<'a> {
    /// The whole file.
    pub fn root(node: &'a Node, notes: &'a Notes) -> Self {
        let Value::Table(entries) = &node.value else {
            unreachable!("a file is a table");
        };
        Self {
            notes,
            path: String::new(),
            place: node.place,
            entries,
            asked: RefCell::default(),
        }
    }

    fn inner(&self, path: String, node: &'a Node) -> Result<Self, Error> {
        let Value::Table(entries) = &node.value else {
            let why = format!("is {}", node.value.what());
            return Err(self.error(node.place, &path, &why, &format!("make it a table: [{path}]")));
        };
        Ok(Self {
            notes: self.notes,
            path,
            place: node.place,
            entries,
            asked: RefCell::default(),
        })
    }

    /// A table in it.
    pub fn table(&self, key: &str) -> Result<Self, Error> {
        let node = self.need(key)?;
        self.inner(self.path_of(key), node)
    }

    /// A table in it that need not be there.
    pub fn maybe_table(&self, key: &str) -> Result<Option<Self>, Error> {
        self.get(key)
            .map(|node| self.inner(self.path_of(key), node))
            .transpose()
    }

    /// All its entries, each a table.
    pub fn tables(&self) -> Result<Vec<(&'a str, Self)>, Error> {
        let inner = self.entries.iter().map(|(key, node)| {
            self.get(key);
            Ok((key.as_str(), self.inner(self.path_of(key), node)?))
        });
        inner.collect()
    }

    /// A list of tables; empty if it is not there. Each is called by its name where it has one.
    pub fn list(&self, key: &str, most: usize) -> Result<Vec<Self>, Error> {
        let Some(node) = self.get(key) else {
            return Ok(Vec::new());
        };
        let Value::List(entries) = &node.value else {
            let why = format!("is {}", node.value.what());
            return Err(self.wrong(
                key,
                &why,
                &format!("begin each entry with [[{}]]", self.path_of(key)),
            ));
        };
        if entries.len() > most {
            let why = format!("has {} entries", entries.len());
            return Err(self.wrong(key, &why, &format!("at most {most} are possible")));
        }
        let inner = entries.iter().enumerate().map(|(number, entry)| {
            let named = match &entry.value {
                Value::Table(keys) => keys.get("name"),
                _ => None,
            };
            let called = match named.map(|node| &node.value) {
                Some(Value::Text(name)) if is_name(name) => name.clone(),
                _ => number.to_string(),
            };
            self.inner(format!("{}.{called}", self.path_of(key)), entry)
        });
        inner.collect()
    }

    /// The value of a key, which from now on is known.
    pub fn get(&self, key: &str) -> Option<&'a Node> {
        self.asked.borrow_mut().push(key.into());
        self.entries.get(key)
    }

    pub fn need(&self, key: &str) -> Result<&'a Node, Error> {
        self.get(key).ok_or_else(|| self.missing(key))
    }

    /// That a key is not there, and perhaps which one was meant to be it.
    pub fn missing(&self, key: &str) -> Error {
        let asked = self.asked.borrow();
        let others = self.entries.keys().filter(|other| !asked.contains(other));
        let hint = match nearest(key, others.map(String::as_str)) {
            Some(other) => format!("there is {other:?}: write {key}"),
            None if self.path.is_empty() => format!("add {key}"),
            None => format!("add {key} to {}", self.path),
        };
        self.wrong(key, "is missing", &hint)
    }

    /// Which of these keys is there; a key set for the run goes before the file's.
    ///
    /// # Errors
    /// There are two.
    pub fn one_of(&self, keys: &[String]) -> Result<Option<(&'a Node, String)>, Error> {
        let there = keys.iter().filter_map(|key| Some((self.get(key)?, key)));
        let mut there: Vec<(&Node, &String)> = there.collect();
        if there.iter().any(|(node, _)| node.place == Place::Set) {
            there.retain(|(node, _)| node.place == Place::Set);
        }
        match there[..] {
            [] => Ok(None),
            [(node, key)] => Ok(Some((node, key.clone()))),
            [(_, first), (_, second), ..] => {
                Err(self.wrong(second, &format!("is there, and {first} too"), "give one of them"))
            }
        }
    }

    /// A text.
    pub fn text(&self, key: &str) -> Result<String, Error> {
        let node = self.need(key)?;
        match &node.value {
            Value::Text(text) => Ok(text.clone()),
            // `--set device.drum.type=3350`: a type is a text that looks like a number.
            Value::Number(number) if node.place == Place::Set => Ok(number.to_string()),
            other => Err(self.wrong(key, &format!("is {}", other.what()), "put it in quotes")),
        }
    }

    /// A name: letters, digits, `.`, `_`, `-`, `/` and spaces, at most 64.
    pub fn name(&self, key: &str) -> Result<String, Error> {
        let name = self.text(key)?;
        if !is_name(&name) {
            let short: String = name.chars().take(64).collect();
            let hint = "a name has 1 to 64 letters, digits, spaces, or any of . _ - /";
            return Err(self.wrong(key, &format!("is {short:?}"), hint));
        }
        Ok(name)
    }

    /// True or false, if it is there.
    pub fn maybe_flag(&self, key: &str) -> Result<Option<bool>, Error> {
        match self.get(key).map(|node| &node.value) {
            None => Ok(None),
            Some(Value::Flag(flag)) => Ok(Some(*flag)),
            Some(other) => Err(self.wrong(key, &format!("is {}", other.what()), "give true or false")),
        }
    }

    /// Every key was asked for.
    ///
    /// # Errors
    /// One was not: it is unknown.
    pub fn finish(&self) -> Result<(), Error> {
        let asked = self.asked.borrow();
        let Some(key) = self.entries.keys().find(|key| !asked.contains(key)) else {
            return Ok(());
        };
        let hint = match nearest(key, asked.iter().map(String::as_str)) {
            Some(known) => format!("did you mean {known}?"),
            None => {
                let mut known: Vec<&str> = asked.iter().map(String::as_str).collect();
                known.sort_unstable();
                known.dedup();
                format!("the keys here are {}", known.join(", "))
            }
        };
        Err(self.wrong(key, "is not known", &hint))
    }

    /// An error about a key of this table.
    pub fn wrong(&self, key: &str, why: &str, hint: &str) -> Error {
        let place = self.entries.get(key).map_or(self.place, |node| node.place);
        self.error(place, &self.path_of(key), why, hint)
    }

    fn error(&self, place: Place, path: &str, why: &str, hint: &str) -> Error {
        let file = &self.notes.file;
        let at = match place {
            Place::Line(line) => format!("{file}, line {line}"),
            Place::Like(line) => format!("{file}, line {line} of the file that it is like"),
            Place::Set => format!("{file}, with --set"),
        };
        Error::input(format!("{at}: {path} {why}"), hint)
    }

    pub fn path_of(&self, key: &str) -> String {
        let shown = match is_name(key) {
            true => key.to_string(),
            false => format!("{:?}", key.chars().take(64).collect::<String>()),
        };
        match self.path.is_empty() {
            true => shown,
            false => format!("{}.{shown}", self.path),
        }
    }
}

fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || " ._-/".contains(c);
    (1..=64).contains(&text.len()) && text.chars().all(fits) && text.trim() == text
}
