//! Writes the compact form as references come.

use std::io::Write;
use std::path::PathBuf;

use satline_program::{Error, Result};

use super::recent::Recent;
use super::{BLOCK_BYTES, ESCAPE, Head, LONGEST_CODE, MAGIC, Totals, VERSION};
use crate::trace::Sink;

pub struct Writer<W> {
    to: W,
    /// For messages.
    path: PathBuf,
    packer: zstd::bulk::Compressor<'static>,
    recent: Recent<u64>,
    last_far: u64,
    plain: Vec<u8>,
    in_block: u32,
    references: u64,
    written: u64,
    first: Option<u64>,
}

impl<W: Write> Writer<W> {
    /// Begins with the head. `level` is zstd's; `first`: how many references are wanted.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(to: W, path: PathBuf, head: &Head, level: i32, first: Option<u64>) -> Result<Self> {
        let packer = zstd::bulk::Compressor::new(level).map_err(|error| Error::io(&path, &error))?;
        let head = Head {
            version: VERSION,
            ..head.clone()
        };
        let text = serde_json::to_vec(&head).expect("text and numbers are always JSON");
        let mut writer = Self {
            to,
            path,
            packer,
            recent: Recent::new(),
            last_far: 0,
            plain: Vec::with_capacity(BLOCK_BYTES + LONGEST_CODE),
            in_block: 0,
            references: 0,
            written: 0,
            first,
        };
        writer.write(MAGIC)?;
        writer.write(&(text.len() as u32).to_le_bytes())?;
        writer.write(&crc32fast::hash(&text).to_le_bytes())?;
        writer.write(&text)?;
        Ok(writer)
    }

    /// Ends it. Returns the file and how many bytes were written.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self, totals: &Totals) -> Result<(W, u64)> {
        if self.in_block > 0 {
            self.block()?;
        }
        let totals = Totals {
            references: self.references,
            ..*totals
        };
        self.plain = serde_json::to_vec(&totals).expect("numbers are always JSON");
        self.block()?;
        let flushed = self.to.flush();
        flushed.map_err(|error| Error::io(&self.path, &error))?;
        Ok((self.to, self.written))
    }

    fn block(&mut self) -> Result<()> {
        let packed = self.packer.compress(&self.plain);
        let packed = packed.map_err(|error| Error::io(&self.path, &error))?;
        let mut head = Vec::with_capacity(super::BLOCK_HEAD_BYTES);
        for number in [self.in_block, self.plain.len() as u32, packed.len() as u32] {
            head.extend(number.to_le_bytes());
        }
        let mut sum = crc32fast::Hasher::new();
        sum.update(&head);
        sum.update(&packed);
        head.extend(sum.finalize().to_le_bytes());
        self.write(&head)?;
        self.write(&packed)?;
        self.plain.clear();
        self.in_block = 0;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.written += bytes.len() as u64;
        let done = self.to.write_all(bytes);
        done.map_err(|error| Error::io(&self.path, &error))
    }
}

impl<W: Write> Sink for Writer<W> {
    fn page(&mut self, page: u64) -> Result<()> {
        match self.recent.place(page) {
            Some(place) => self.plain.push(place as u8),
            None => {
                self.plain.push(ESCAPE);
                let difference = page.wrapping_sub(self.last_far) as i64;
                self.last_far = page;
                let mut rest = ((difference << 1) ^ (difference >> 63)) as u64;
                while rest >= 0x80 {
                    self.plain.push(rest as u8 | 0x80);
                    rest >>= 7;
                }
                self.plain.push(rest as u8);
            }
        }
        self.in_block += 1;
        self.references += 1;
        if self.plain.len() >= BLOCK_BYTES {
            self.block()?;
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.first.is_some_and(|first| self.references >= first)
    }
}
