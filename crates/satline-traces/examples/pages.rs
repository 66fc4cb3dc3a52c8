//! Prints the page numbers of a compact trace, one on each line: for other programs.
//!
//!     cargo run --release -p satline-traces --example pages -- FILE

use std::fs::File;
use std::io::{BufReader, BufWriter, Write, stdout};

use satline_program::{Error, Result};
use satline_traces::{Sink, compact};

struct Printer<W>(W);

impl<W: Write> Sink for Printer<W> {
    fn page(&mut self, page: u64) -> Result<()> {
        let done = writeln!(self.0, "{page}");
        done.map_err(|error| Error::io("standard output".as_ref(), &error))
    }
}

fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| String::from("-"));
    let file = File::open(&path).map_err(|error| Error::io(path.as_ref(), &error))?;
    let mut printer = Printer(BufWriter::new(stdout().lock()));
    let ended = compact::open(BufReader::new(file), &path)?.pages(&mut printer, &mut |_| ())?;
    if let Some(tail) = ended.tail {
        eprintln!("not read: {} bytes at the end ({})", tail.bytes, tail.what);
    }
    Ok(())
}
