//! Opens what is to be read: a compact file, or text of a format named or guessed; a file or standard input.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use satline_program::{Error, Result};
use serde::Serialize;

use super::progress::Progress;
use crate::compact::{self, Head, Opened, Tail, Totals};
use crate::formats::{self, Format, Reading};
use crate::options::Source;
use crate::trace::{Builder, Sink, Trace};

const BUFFER_BYTES: usize = 1 << 18;
const USUAL_PAGE_BYTES: u64 = 4096;

/// What a source is, and how it ended.
#[derive(Debug, Serialize)]
pub struct About {
    pub trace: String,
    #[serde(flatten)]
    pub head: Head,
    /// References read.
    pub references: u64,
    /// `None`: a compact file whose end is missing or was not reached.
    pub totals: Option<Totals>,
    pub tail: Option<Tail>,
}

type Input = BufReader<Box<dyn Read>>;

/// A source whose beginning was looked at.
pub struct Begun {
    name: String,
    bytes: Option<f64>,
    pub head: Head,
    body: Body,
}

enum Body {
    Compact(Opened<Input>),
    Text(Input, &'static Format),
}

/// Opens the source.
///
/// # Errors
/// It is not there; its format is not known; an option does not fit it.
pub fn open(source: &Source) -> Result<Begun> {
    let path = source.trace.as_path();
    let name = path.display().to_string();
    let (input, bytes): (Box<dyn Read>, _) = if path == Path::new("-") {
        (Box::new(std::io::stdin()), None)
    } else {
        let file = File::open(path).map_err(|error| Error::io(path, &error))?;
        let about = file.metadata().map_err(|error| Error::io(path, &error))?;
        (Box::new(file), about.is_file().then_some(about.len() as f64))
    };
    let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
    let beginning = input.fill_buf().map_err(|error| Error::io(path, &error))?;
    if compact::is_compact(beginning) {
        for (given, option) in [
            (source.format.is_some(), "--format"),
            (source.page_bytes.is_some(), "--page-bytes"),
            (source.join.is_some(), "--join"),
        ] {
            if given {
                return Err(Error::input(
                    format!("{option} with {name}, which is a compact trace"),
                    "that was settled at its import; leave the option out",
                ));
            }
        }
        let opened = compact::open(input, &name)?;
        return Ok(Begun {
            name,
            bytes,
            head: opened.head.clone(),
            body: Body::Compact(opened),
        });
    }
    let format = match &source.format {
        Some(name) => formats::find(name)?,
        None => formats::guess(beginning).ok_or_else(|| unknown(&name))?,
    };
    let page_bytes = source.page_bytes.unwrap_or(USUAL_PAGE_BYTES);
    if !page_bytes.is_power_of_two() || !(16..=1 << 40).contains(&page_bytes) {
        return Err(Error::input(
            format!("--page-bytes {page_bytes}: it is no page size"),
            "a power of two from 16, as 4096",
        ));
    }
    let head = Head {
        version: compact::VERSION,
        page_bytes,
        source: format.name.to_owned(),
        joined: source.join.unwrap_or(format.joins),
        ..Head::default()
    };
    Ok(Begun {
        name,
        bytes,
        head,
        body: Body::Text(input, format),
    })
}

impl Begun {
    /// Every page number into the sink.
    ///
    /// # Errors
    /// The text is wrong; the sink's.
    pub fn pages(self, sink: &mut dyn Sink, progress: &mut Progress) -> Result<About> {
        let (name, bytes) = (self.name, self.bytes);
        let mut told = |read: u64| progress.tell("reading", read as f64, bytes);
        let (references, totals, tail) = match self.body {
            Body::Compact(opened) => {
                let ended = opened.pages(sink, &mut told)?;
                (ended.references, ended.totals, ended.tail)
            }
            Body::Text(input, format) => text(input, format, &name, &self.head, sink, &mut told)?,
        };
        let trace = name;
        Ok(About {
            trace,
            head: self.head,
            references,
            totals,
            tail,
        })
    }

    /// The trace in storage.
    ///
    /// # Errors
    /// The source is wrong, or longer than storage.
    pub fn into_storage(self, first: Option<u64>, progress: &mut Progress) -> Result<(Trace, About)> {
        let mut builder = Builder::first(first);
        let (name, bytes) = (self.name, self.bytes);
        let mut told = |read: u64| progress.tell("reading", read as f64, bytes);
        let (references, totals, tail) = match self.body {
            Body::Compact(opened) => {
                let ended = opened.into_storage(&mut builder, &mut told)?;
                (ended.references, ended.totals, ended.tail)
            }
            Body::Text(input, format) => text(input, format, &name, &self.head, &mut builder, &mut told)?,
        };
        let trace = name;
        Ok((
            builder.finish(),
            About {
                trace,
                head: self.head,
                references,
                totals,
                tail,
            },
        ))
    }
}

type End = (u64, Option<Totals>, Option<Tail>);

fn text(
    input: Input,
    format: &'static Format,
    name: &str,
    head: &Head,
    sink: &mut dyn Sink,
    told: &mut dyn FnMut(u64),
) -> Result<End> {
    let reading = Reading {
        source: name,
        page_bytes: head.page_bytes,
        join: Some(head.joined),
    };
    let mut counted = Counted { sink, references: 0 };
    let found = formats::read(input, format, &reading, &mut counted, told)?;
    let totals = Totals {
        references: counted.references,
        source_references: found.references,
        source_lines: found.lines,
        source_tail_bytes: found.tail_bytes,
    };
    let tail = (found.tail_bytes > 0).then(|| Tail {
        bytes: found.tail_bytes,
        what: String::from("the last line is incomplete"),
    });
    Ok((counted.references, Some(totals), tail))
}

struct Counted<'a> {
    sink: &'a mut dyn Sink,
    references: u64,
}

impl Sink for Counted<'_> {
    fn page(&mut self, page: u64) -> Result<()> {
        self.references += 1;
        self.sink.page(page)
    }

    fn is_full(&self) -> bool {
        self.sink.is_full()
    }
}

fn unknown(name: &str) -> Error {
    let names: Vec<&str> = formats::FORMATS.iter().map(|format| format.name).collect();
    Error::input(
        format!("{name}: no known format of references"),
        format!("name it with --format: {}", names.join(", ")),
    )
}
