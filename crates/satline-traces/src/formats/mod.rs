//! Text that tools write, to page numbers: one file per format, and one line in the table.

mod blkparse;
mod lackey;
mod lines;
mod msr;
mod pages;
mod spc;

use std::collections::HashMap;
use std::io::BufRead;

use crate::trace::Sink;
use lines::Lines;
use satline_program::{Error, Result, parse::unsigned as decimal};

/// Pages that one line may touch: more is taken for damage.
const MOST_PAGES_OF_A_LINE: u64 = 1 << 20;
/// Lines at the beginning by which a format is guessed.
const LINES_TO_GUESS_BY: usize = 200;

/// One line of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Line<'a> {
    /// Bytes of a device (the empty one: of an address space), from here, so many.
    Bytes {
        device: &'a [u8],
        from: u64,
        len: u64,
    },
    Page(u64),
    /// A line of the format without a reference.
    Nothing,
    /// Not of this format.
    Unknown,
}

/// One line of the table.
#[derive(Debug)]
pub struct Format {
    pub name: &'static str,
    pub about: &'static str,
    read: for<'a> fn(&'a [u8]) -> Line<'a>,
    /// Whether consecutive references to one page are one, unless asked otherwise: a page table shows no more.
    pub joins: bool,
}

#[rustfmt::skip]
pub const FORMATS: &[Format] = &[
    Format { name: "lackey", about: "valgrind --tool=lackey --trace-mem=yes", read: lackey::read, joins: true },
    Format { name: "blkparse", about: "blkparse's default text; requests queued (Q)", read: blkparse::read, joins: false },
    Format { name: "spc", about: "SPC traces, as the UMass repository's: ASU,LBA,size,opcode,time", read: spc::read, joins: false },
    Format { name: "msr", about: "MSR Cambridge block traces, CSV", read: msr::read, joins: false },
    Format { name: "pages", about: "a page number on each line, decimal or 0x…", read: pages::read, joins: false },
];

/// How text is read.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// For messages.
    pub source: &'a str,
    pub page_bytes: u64,
    /// Whether consecutive references to one page are one; `None`: as usual for the format.
    pub join: Option<bool>,
}

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    pub format: &'static str,
    pub lines: u64,
    /// References before consecutive ones were joined.
    pub references: u64,
    pub joined: bool,
    /// Bytes of a last line that is incomplete and cannot be read.
    pub tail_bytes: u64,
}

/// The format of this name.
///
/// # Errors
/// There is none.
pub fn find(name: &str) -> Result<&'static Format> {
    FORMATS.iter().find(|format| format.name == name).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        Error::input(
            format!("there is no format {name:?}"),
            format!("the formats are {}", names.join(", ")),
        )
    })
}

/// The format of text that begins so: the one that knows the first line with a reference in it.
pub fn guess(beginning: &[u8]) -> Option<&'static Format> {
    let lines = beginning.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
    let lines: Vec<&[u8]> = lines.take(LINES_TO_GUESS_BY).collect();
    FORMATS.iter().find(|format| {
        let mut known = lines.iter().map(|line| (format.read)(line));
        let first = known.find(|line| *line != Line::Nothing);
        first.is_some_and(|line| line != Line::Unknown)
    })
}

/// Reads text to its end, or until the sink is full.
///
/// `progress` hears how many bytes were read.
///
/// # Errors
/// A line that is not of the format, other than an incomplete last one; no reference at all; the sink's.
pub fn read(
    text: impl BufRead,
    format: &'static Format,
    reading: &Reading,
    sink: &mut dyn Sink,
    progress: &mut dyn FnMut(u64),
) -> Result<Found> {
    let mut lines = Lines::new(text, reading.source);
    let mut found = Found {
        format: format.name,
        joined: reading.join.unwrap_or(format.joins),
        ..Found::default()
    };
    let mut pages = Pages::new(reading.page_bytes);
    let mut last = None;
    while lines.next()? {
        let line = lines.line();
        if lines.number() % 65_536 == 0 {
            progress(lines.bytes());
        }
        let parsed = (format.read)(line);
        let Some((first, count)) = pages.of(&parsed) else {
            if parsed == Line::Nothing {
                continue;
            }
            if !lines.complete() {
                found.tail_bytes = line.len() as u64;
                break;
            }
            return Err(unreadable(reading.source, lines.number(), line, format));
        };
        for page in first..first + count {
            found.references += 1;
            if found.joined && last == Some(page) {
                continue;
            }
            last = Some(page);
            sink.page(page)?;
            if sink.is_full() {
                found.lines = lines.number();
                return Ok(found);
            }
        }
    }
    found.lines = lines.number();
    progress(lines.bytes());
    if found.references == 0 {
        return Err(Error::input(
            format!(
                "{}: no reference in {} lines of {}",
                reading.source, found.lines, format.name
            ),
            "see the format; --formats lists them",
        ));
    }
    Ok(found)
}

/// Bytes of devices to pages; devices have ranges of their own.
struct Pages {
    page_bytes: u64,
    devices: HashMap<Vec<u8>, u64>,
}

/// Pages of a device have numbers below this; there are as many devices as remain.
const DEVICE_PAGES: u64 = 1 << 52;
const MOST_DEVICES: u64 = 1 << 12;

impl Pages {
    fn new(page_bytes: u64) -> Self {
        Self {
            page_bytes,
            devices: HashMap::new(),
        }
    }

    /// (first, how many). `None`: it has no reference, or one out of bounds.
    fn of(&mut self, line: &Line) -> Option<(u64, u64)> {
        match *line {
            Line::Page(page) if page < u64::MAX => Some((page, 1)),
            Line::Bytes { device, from, len } => {
                let first = from / self.page_bytes;
                let last = from.checked_add(len.max(1) - 1)? / self.page_bytes;
                let count = last - first + 1;
                if count > MOST_PAGES_OF_A_LINE || last >= DEVICE_PAGES {
                    return None;
                }
                Some((self.base(device)? + first, count))
            }
            _ => None,
        }
    }

    fn base(&mut self, device: &[u8]) -> Option<u64> {
        if device.is_empty() {
            return Some(0);
        }
        let number = match self.devices.get(device) {
            Some(&number) => number,
            None => {
                let number = self.devices.len() as u64;
                if number == MOST_DEVICES {
                    return None;
                }
                self.devices.insert(device.to_vec(), number);
                number
            }
        };
        // The last range would pass the end of the numbers.
        (number < MOST_DEVICES - 1).then_some(number * DEVICE_PAGES)
    }
}

fn unreadable(source: &str, number: u64, line: &[u8], format: &Format) -> Error {
    let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
    Error::input(
        format!("{source}: line {number} is not of {}: {shown:?}", format.name),
        format!("{} is {}; --format names another", format.name, format.about),
    )
}

/// A hexadecimal number, all of it.
fn hexadecimal(text: &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for &byte in text {
        let digit = char::from(byte).to_digit(16)?;
        value = value.checked_mul(16)? + u64::from(digit);
    }
    (!text.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_whole_or_none() {
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(decimal(b"18446744073709551616"), None);
        assert_eq!(decimal(b""), None);
        assert_eq!(decimal(b"1 "), None);
        assert_eq!(hexadecimal(b"ffffffffffffffff"), Some(u64::MAX));
        assert_eq!(hexadecimal(b"10000000000000000"), None);
        assert_eq!(hexadecimal(b"1g"), None);
    }

    #[test]
    fn devices_do_not_share_pages() {
        let mut pages = Pages::new(4096);
        let of = |device: &'static [u8]| Line::Bytes {
            device,
            from: 8191,
            len: 2,
        };
        assert_eq!(pages.of(&of(b"8,0")), Some((1, 2)));
        assert_eq!(pages.of(&of(b"8,16")), Some((DEVICE_PAGES + 1, 2)));
        assert_eq!(pages.of(&of(b"8,0")), Some((1, 2)));
    }

    #[test]
    fn a_request_of_no_sense_is_refused() {
        let mut pages = Pages::new(4096);
        for (from, len) in [(u64::MAX, 2), (0, u64::MAX), (0, 5 << 32)] {
            assert_eq!(
                pages.of(&Line::Bytes {
                    device: b"",
                    from,
                    len
                }),
                None,
                "{from} {len}"
            );
        }
        assert_eq!(
            pages.of(&Line::Bytes {
                device: b"",
                from: 0,
                len: 0
            }),
            Some((0, 1))
        );
    }
}
