//! The line on which a user types, followed just far enough to know echo from response.

use crate::strip::Item;

/// Cells of a line that are kept.
const CELL_LIMIT: usize = 4096;

/// What an item is, seen from the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// Echo, or nothing that can be seen.
    Echo,
    /// From this byte of the text on it cannot be echo.
    Response(usize),
    /// The line end that ends the echo.
    LineEnd,
}

/// The current line: the first byte of the character in each cell.
#[derive(Debug)]
pub struct ScreenLine {
    width: usize,
    cells: Vec<u8>,
    column: usize,
    /// Prompt and typed line, as they will stand on the screen.
    expected: Vec<u8>,
    /// The line does not fit the screen, holds keys that are not echoed as themselves, or other output came
    /// between: the next line end is taken as the end of the echo.
    by_line_end: bool,
}

/// A byte that continues a UTF-8 character takes no cell.
fn continues(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

impl ScreenLine {
    pub fn new(width: usize) -> Self {
        Self {
            width,
            cells: Vec::new(),
            column: 0,
            expected: Vec::new(),
            by_line_end: false,
        }
    }

    /// `typed` will be typed from where the cursor stands.
    pub fn expect(&mut self, typed: &[u8]) {
        self.cells.truncate(self.column);
        self.expected.clone_from(&self.cells);
        self.expected
            .extend(typed.iter().filter(|&&byte| !continues(byte)));
        self.by_line_end =
            self.expected.len() + 1 >= self.width || typed.iter().any(|&b| b < 0x20 || b == 0x7f);
    }

    /// Takes an item; `sent` says that the line end has been sent, so that a response may come.
    pub fn take(&mut self, item: &Item<'_>, sent: bool) -> Echo {
        match item {
            Item::Text(text) => return self.put(text, sent),
            Item::Control(b'\n') => {
                self.cells.clear();
                self.column = 0;
                return if sent { Echo::LineEnd } else { Echo::Echo };
            }
            Item::Control(b'\r') => self.column = 0,
            Item::Control(8) => self.column = self.column.saturating_sub(1),
            Item::Control(b'\t') => self.column = (self.column / 8 + 1) * 8,
            Item::Csi(_, b'K' | b'J') => self.cells.truncate(self.column),
            Item::Csi(count, b'C') => self.column += usize::from(count.unwrap_or(1).max(1)),
            Item::Csi(count, b'D') => {
                self.column = self.column.saturating_sub(usize::from(count.unwrap_or(1).max(1)));
            }
            Item::Csi(count, b'G') => self.column = usize::from(count.unwrap_or(1).max(1)) - 1,
            _ => {}
        }
        self.column = self.column.min(CELL_LIMIT);
        Echo::Echo
    }

    fn put(&mut self, text: &[u8], sent: bool) -> Echo {
        let mut found = Echo::Echo;
        for (index, &byte) in text.iter().enumerate() {
            if continues(byte) {
                continue;
            }
            if found == Echo::Echo && byte != b' ' && self.expected.get(self.column) != Some(&byte) {
                if !sent {
                    self.by_line_end = true;
                } else if !self.by_line_end {
                    found = Echo::Response(index);
                }
            }
            if self.column < CELL_LIMIT {
                if self.column >= self.cells.len() {
                    self.cells.resize(self.column + 1, b' ');
                }
                self.cells[self.column] = byte;
                self.column += 1;
            }
        }
        found
    }
}
