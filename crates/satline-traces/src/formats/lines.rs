//! Lines of hostile text: an endless one is an error, not a full storage.

use std::io::{BufRead, Read};
use std::path::Path;

use satline_program::{Error, Result};

const LONGEST: u64 = 65_536;

pub struct Lines<'a, R> {
    text: R,
    source: &'a str,
    line: Vec<u8>,
    number: u64,
    bytes: u64,
    complete: bool,
}

impl<'a, R: BufRead> Lines<'a, R> {
    pub fn new(text: R, source: &'a str) -> Self {
        Self {
            text,
            source,
            line: Vec::new(),
            number: 0,
            bytes: 0,
            complete: true,
        }
    }

    /// Goes on to the next line. False: there is none.
    ///
    /// # Errors
    /// It is too long, or cannot be read.
    pub fn next(&mut self) -> Result<bool> {
        self.line.clear();
        let part = self.text.by_ref().take(LONGEST).read_until(b'\n', &mut self.line);
        let len = part.map_err(|error| Error::io(Path::new(self.source), &error))?;
        if len == 0 {
            return Ok(false);
        }
        self.number += 1;
        self.bytes += len as u64;
        self.complete = self.line.last() == Some(&b'\n');
        if !self.complete && len as u64 == LONGEST {
            return Err(Error::input(
                format!(
                    "{}: line {} is longer than {LONGEST} bytes",
                    self.source, self.number
                ),
                "it is no text of references; see the file",
            ));
        }
        Ok(true)
    }

    /// The line, without its end.
    pub fn line(&self) -> &[u8] {
        self.line.trim_ascii_end()
    }

    /// Of this line, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it ended as lines do.
    pub fn complete(&self) -> bool {
        self.complete
    }
}
