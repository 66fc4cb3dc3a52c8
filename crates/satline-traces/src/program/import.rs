//! `import`: any trace to the compact form.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter};

use satline_program::{Error, Result};

use super::output;
use super::progress::Progress;
use super::source::{self, About, Begun};
use crate::compact::{Head, Totals, Writer};
use crate::options::Import;

/// Imports, and says what.
///
/// # Errors
/// The source is wrong, or the file cannot be written; then none is left.
pub fn import(options: &Import) -> Result<String> {
    let begun = source::open(&options.source)?;
    let path = &options.output;
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let file = file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::input(
            format!("{} is there already", path.display()),
            "name another file, or remove it",
        ),
        _ => Error::io(path, &error),
    })?;
    let (about, bytes) = write(options, begun, BufWriter::new(file)).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })?;
    Ok(output::imported(options.source.json, &about, path, bytes))
}

fn write(options: &Import, begun: Begun, file: BufWriter<fs::File>) -> Result<(About, u64)> {
    let path = &options.output;
    let mut head: Head = begun.head.clone();
    head.command = options.command.clone().or(head.command);
    head.note = options.note.clone().or(head.note);
    let first = options.source.first;
    let mut writer = Writer::new(file, path.clone(), &head, options.level, first)?;
    let mut about = begun.pages(&mut writer, &mut Progress::new(options.source.progress))?;
    let totals = about.totals.unwrap_or(Totals {
        source_references: about.references,
        ..Totals::default()
    });
    let (file, bytes) = writer.finish(&totals)?;
    let file = file
        .into_inner()
        .map_err(|error| Error::io(path, error.error()))?;
    file.sync_all().map_err(|error| Error::io(path, &error))?;
    about.head = head;
    Ok((about, bytes))
}
