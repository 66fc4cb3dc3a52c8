//! Reads the compact form; every length in it is checked before it is believed.

use std::io::{self, Read};
use std::path::Path;

use satline_program::{Error, Result};

use super::recent::Recent;
use super::{
    BLOCK_BYTES, BLOCK_HEAD_BYTES, ESCAPE, Head, LONGEST_CODE, LONGEST_HEAD, MAGIC, Tail, Totals, VERSION,
};
use crate::trace::{Builder, Sink};

/// Plain bytes of a block at most; packed ones can be a little more.
const MOST_PLAIN: usize = BLOCK_BYTES + LONGEST_CODE;
const MOST_PACKED: usize = MOST_PLAIN + 4096;

/// Whether a file that begins so is of this form.
pub fn is_compact(beginning: &[u8]) -> bool {
    beginning.starts_with(MAGIC)
}

/// A file whose head was read.
pub struct Opened<R> {
    from: R,
    source: String,
    pub head: Head,
    read: u64,
}

/// How a file ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// References that were read.
    pub references: u64,
    /// `None`: the end is missing.
    pub totals: Option<Totals>,
    pub tail: Option<Tail>,
}

/// Reads the head.
///
/// # Errors
/// It is no such file, or of a newer version, or its head is damaged.
pub fn open<R: Read>(mut from: R, source: &str) -> Result<Opened<R>> {
    let hint = "it is no trace of Satline's; `satline trace import` makes one";
    let wrong = |what: &str| Error::input(format!("{source}: {what}"), hint);
    let mut start = [0; 16];
    exactly(&mut from, &mut start, source)?.ok_or_else(|| wrong("the file ends in its head"))?;
    if !is_compact(&start) {
        return Err(wrong("it does not begin as a compact trace"));
    }
    let len = number(&start, 8) as usize;
    if len > LONGEST_HEAD {
        return Err(wrong("its head is too long"));
    }
    let mut text = vec![0; len];
    exactly(&mut from, &mut text, source)?.ok_or_else(|| wrong("the file ends in its head"))?;
    if crc32fast::hash(&text) != number(&start, 12) {
        return Err(wrong("its head is damaged"));
    }
    let head: Head = serde_json::from_slice(&text).map_err(|error| wrong(&format!("its head: {error}")))?;
    if head.version != VERSION {
        return Err(Error::input(
            format!(
                "{source}: version {} of the form; this program reads {VERSION}",
                head.version
            ),
            "read it with the Satline that wrote it, or a newer one",
        ));
    }
    Ok(Opened {
        from,
        source: source.to_owned(),
        head,
        read: (start.len() + len) as u64,
    })
}

impl<R: Read> Opened<R> {
    /// Every page number into the sink; `progress` hears how many bytes were read.
    ///
    /// # Errors
    /// The file cannot be read; the sink's.
    pub fn pages<S: Sink + ?Sized>(self, sink: &mut S, progress: &mut dyn FnMut(u64)) -> Result<Ended> {
        self.decode(
            &mut |_: &mut S, page| Ok(page),
            &mut |sink: &mut S, page| {
                sink.page(page)?;
                Ok(sink.is_full())
            },
            sink,
            progress,
        )
    }

    /// The same into storage, renumbered: the number of a page referenced lately need not be looked up.
    ///
    /// # Errors
    /// As `pages`.
    pub fn into_storage(self, builder: &mut Builder, progress: &mut dyn FnMut(u64)) -> Result<Ended> {
        self.decode(
            &mut |builder: &mut Builder, page| builder.number(page),
            &mut |builder, number: u32| {
                builder.push(number)?;
                Ok(builder.is_full())
            },
            builder,
            progress,
        )
    }

    /// `known` turns a page number into what is kept of it, `put` takes it and says whether that is enough.
    fn decode<S: ?Sized, T: Copy + Default + PartialEq>(
        mut self,
        known: &mut impl FnMut(&mut S, u64) -> Result<T>,
        put: &mut impl FnMut(&mut S, T) -> Result<bool>,
        sink: &mut S,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Ended> {
        let mut block = Block::default();
        let mut recent = Recent::new();
        let (mut last_far, mut references) = (0_u64, 0);
        loop {
            let before = self.read;
            if let Some(what) = self.next(&mut block)? {
                let rest = io::copy(&mut self.from, &mut io::sink()).unwrap_or(0);
                let bytes = self.read - before + rest;
                return Ok(ended(
                    references,
                    None,
                    Some(Tail {
                        bytes,
                        what: what.to_owned(),
                    }),
                ));
            }
            if block.references == 0 {
                return Ok(self.end(&block, references));
            }
            let mut codes = block.plain.iter();
            for _ in 0..block.references {
                let value = match codes.next() {
                    Some(&place) if place < ESCAPE => recent.take(place.into()),
                    Some(&ESCAPE) => match far(&mut codes) {
                        Some(difference) => {
                            last_far = last_far.wrapping_add(difference);
                            let value = known(sink, last_far)?;
                            recent.push(value);
                            Some(value)
                        }
                        None => None,
                    },
                    _ => None,
                };
                // The sum was right: this was written so, and on purpose.
                let value = value.ok_or_else(|| self.nonsense(references))?;
                references += 1;
                if put(sink, value)? {
                    return Ok(ended(references, None, None));
                }
            }
            if codes.next().is_some() {
                return Err(self.nonsense(references));
            }
            progress(self.read);
        }
    }

    /// Reads a block. Says what is wrong with it, if the file is damaged here.
    fn next(&mut self, block: &mut Block) -> Result<Option<&'static str>> {
        let mut head = [0; BLOCK_HEAD_BYTES];
        let got = up_to(&mut self.from, &mut head, &self.source)?;
        self.read += got as u64;
        if got < head.len() {
            return Ok(Some(if got == 0 {
                "the end is missing"
            } else {
                "a block is cut"
            }));
        }
        let (plain, packed) = (number(&head, 4) as usize, number(&head, 8) as usize);
        block.references = number(&head, 0);
        if plain > MOST_PLAIN || packed > MOST_PACKED || block.references as usize > plain {
            return Ok(Some("a block's lengths are damaged"));
        }
        block.packed.resize(packed, 0);
        let got = up_to(&mut self.from, &mut block.packed, &self.source)?;
        self.read += got as u64;
        if got < packed {
            return Ok(Some("a block is cut"));
        }
        let mut sum = crc32fast::Hasher::new();
        sum.update(&head[..12]);
        sum.update(&block.packed);
        if sum.finalize() != number(&head, 12) {
            return Ok(Some("a block's sum is wrong"));
        }
        match zstd::bulk::decompress(&block.packed, plain) {
            Ok(bytes) if bytes.len() == plain => {
                block.plain = bytes;
                Ok(None)
            }
            _ => Ok(Some("a block cannot be unpacked")),
        }
    }

    fn end(&mut self, block: &Block, references: u64) -> Ended {
        let totals: Option<Totals> = serde_json::from_slice(&block.plain).ok();
        let right = totals.is_some_and(|totals| totals.references == references);
        let rest = io::copy(&mut self.from, &mut io::sink()).unwrap_or(0);
        let what = match (right, rest) {
            (true, 0) => None,
            (true, _) => Some("bytes after the end"),
            (false, _) => Some("its totals are not those of its blocks"),
        };
        ended(
            references,
            totals.filter(|_| right),
            what.map(|what| Tail {
                bytes: rest,
                what: what.to_owned(),
            }),
        )
    }

    fn nonsense(&self, references: u64) -> Error {
        Error::input(
            format!(
                "{}: after {references} references a code has no sense",
                self.source
            ),
            "the file was not written by Satline; make it again from its source",
        )
    }
}

#[derive(Debug, Default)]
struct Block {
    references: u32,
    packed: Vec<u8>,
    plain: Vec<u8>,
}

fn ended(references: u64, totals: Option<Totals>, tail: Option<Tail>) -> Ended {
    Ended {
        references,
        totals,
        tail,
    }
}

fn far(codes: &mut std::slice::Iter<u8>) -> Option<u64> {
    let (mut value, mut shift) = (0_u64, 0);
    loop {
        let &byte = codes.next()?;
        let part = u64::from(byte & 0x7f);
        if shift > 63 || (shift == 63 && part > 1) {
            return None;
        }
        value |= part << shift;
        shift += 7;
        if byte < 0x80 {
            return Some((value >> 1) ^ (value & 1).wrapping_neg());
        }
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Fills the buffer as far as the file goes.
fn up_to(from: &mut impl Read, buffer: &mut [u8], source: &str) -> Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(some) => filled += some,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io(Path::new(source), &error)),
        }
    }
    Ok(filled)
}

/// `None`: the file is shorter.
fn exactly(from: &mut impl Read, buffer: &mut [u8], source: &str) -> Result<Option<()>> {
    let got = up_to(from, buffer, source)?;
    Ok((got == buffer.len()).then_some(()))
}
