//! A small parser of terminal output: text and controls apart from escape sequences, across any cut of the stream.
//!
//! It follows ECMA-48 as far as telling sequences from text needs it. An ESC inside an unfinished sequence begins a
//! new one, so that a program which leaves a sequence open cannot hide the prompt that follows.

/// Longest OSC text that is kept; a longer one is skipped whole.
const OSC_LIMIT: usize = 512;

/// A piece of output.
#[derive(Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// Bytes from 0x20 on, DEL excepted: printable ASCII and UTF-8, possibly cut within a character.
    Text(&'a [u8]),
    /// One C0 control or DEL.
    Control(u8),
    /// A control sequence: its first parameter and its final byte.
    Csi(Option<u16>, u8),
    /// The text of an operating system command, for example `133;A`.
    Osc(&'a [u8]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ground,
    Escape,
    /// ESC and an intermediate byte: one more byte ends it.
    EscapeIntermediate,
    Csi,
    Osc,
    OscEscape,
    /// DCS, SOS, PM, APC: skipped to their end.
    Skip,
    SkipEscape,
}

/// The parser; one for each terminal.
#[derive(Debug)]
pub struct Stripper {
    state: State,
    osc: Vec<u8>,
    osc_too_long: bool,
    parameter: Option<u16>,
    first_parameter: bool,
    position: u64,
    sequence_start: u64,
}

impl Default for Stripper {
    fn default() -> Self {
        Self {
            state: State::Ground,
            osc: Vec::new(),
            osc_too_long: false,
            parameter: None,
            first_parameter: true,
            position: 0,
            sequence_start: 0,
        }
    }
}

impl Stripper {
    /// Bytes taken in so far.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Takes in output; `sink` gets each item with the positions of its first byte and of the byte after it.
    pub fn feed(&mut self, data: &[u8], mut sink: impl FnMut(Item<'_>, u64, u64)) {
        let mut index = 0;
        while index < data.len() {
            if self.state == State::Ground {
                let rest = &data[index..];
                let length = rest
                    .iter()
                    .position(|&b| b < 0x20 || b == 0x7f)
                    .unwrap_or(rest.len());
                if length > 0 {
                    let start = self.position;
                    self.position += length as u64;
                    sink(Item::Text(&rest[..length]), start, self.position);
                    index += length;
                    continue;
                }
            }
            let byte = data[index];
            index += 1;
            self.position += 1;
            self.step(byte, &mut sink);
        }
    }

    fn step(&mut self, byte: u8, sink: &mut impl FnMut(Item<'_>, u64, u64)) {
        match (self.state, byte) {
            (State::OscEscape | State::SkipEscape, b'\\') => {
                if self.state == State::OscEscape {
                    self.end_osc(sink);
                }
                self.state = State::Ground;
            }
            (State::OscEscape | State::SkipEscape, _) => {
                // The ESC did not end the string: it began a new sequence.
                self.begin(self.position - 2);
                self.step(byte, sink);
            }
            (State::Osc, 0x1b) => self.state = State::OscEscape,
            (State::Skip, 0x1b) => self.state = State::SkipEscape,
            (_, 0x1b) => self.begin(self.position - 1),
            (State::Ground, _) => sink(Item::Control(byte), self.position - 1, self.position),
            (_, 0x18 | 0x1a) => self.state = State::Ground,
            (State::Osc, 0x07) => {
                self.end_osc(sink);
                self.state = State::Ground;
            }
            (State::Osc, _) => {
                if self.osc.len() < OSC_LIMIT {
                    self.osc.push(byte);
                } else {
                    self.osc_too_long = true;
                }
            }
            (State::Skip, _) => {}
            (State::Escape, b'[') => {
                self.parameter = None;
                self.first_parameter = true;
                self.state = State::Csi;
            }
            (State::Escape, b']') => {
                self.osc.clear();
                self.osc_too_long = false;
                self.state = State::Osc;
            }
            (State::Escape, b'P' | b'X' | b'^' | b'_') => self.state = State::Skip,
            (State::Escape, 0x20..=0x2f) => self.state = State::EscapeIntermediate,
            (State::EscapeIntermediate, 0x20..=0x2f) => {}
            (State::Csi, b'0'..=b'9') if self.first_parameter => {
                let digit = u16::from(byte - b'0');
                self.parameter = Some(
                    self.parameter
                        .unwrap_or(0)
                        .saturating_mul(10)
                        .saturating_add(digit),
                );
            }
            (State::Csi, 0x20..=0x3f) => self.first_parameter = false,
            (State::Csi, 0x40..=0x7e) => {
                sink(
                    Item::Csi(self.parameter, byte),
                    self.sequence_start,
                    self.position,
                );
                self.state = State::Ground;
            }
            // C0 controls inside a sequence act as if they stood alone; DEL is ignored.
            (State::Escape | State::EscapeIntermediate | State::Csi, 0x00..=0x1f) => {
                sink(Item::Control(byte), self.position - 1, self.position);
            }
            (State::Escape | State::EscapeIntermediate | State::Csi, 0x7f) => {}
            (State::Escape | State::EscapeIntermediate | State::Csi, _) => self.state = State::Ground,
        }
    }

    fn begin(&mut self, start: u64) {
        self.state = State::Escape;
        self.sequence_start = start;
    }

    fn end_osc(&mut self, sink: &mut impl FnMut(Item<'_>, u64, u64)) {
        if !self.osc_too_long {
            sink(Item::Osc(&self.osc), self.sequence_start, self.position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The items of a stream as text, with neighbouring text joined.
    fn items(chunks: &[&[u8]]) -> String {
        let mut out = String::new();
        let mut stripper = Stripper::default();
        for chunk in chunks {
            stripper.feed(chunk, |item, start, end| {
                assert!(start < end);
                match item {
                    Item::Text(text) => out.push_str(&String::from_utf8_lossy(text)),
                    Item::Control(byte) => out.push_str(&format!("<{byte:02x}>")),
                    Item::Csi(parameter, last) => {
                        out.push_str(&format!("<csi {parameter:?} {}>", last as char))
                    }
                    Item::Osc(text) => out.push_str(&format!("<osc {}>", String::from_utf8_lossy(text))),
                }
            });
        }
        assert_eq!(
            stripper.position(),
            chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>()
        );
        out
    }

    #[test]
    fn text_controls_and_sequences_come_apart() {
        let stream: &[u8] = b"a\x1b[1;31mred\x1b[0m\r\n\x1b]0;title\x07b\x1b]133;A\x1b\\c\x1b(Bd\x00\x1b=e";
        let expected = "a<csi Some(1) m>red<csi Some(0) m><0d><0a><osc 0;title>b<osc 133;A>cd<00>e";
        assert_eq!(items(&[stream]), expected);
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(items(&bytes), expected);
    }

    #[test]
    fn an_unfinished_sequence_cannot_swallow_the_next() {
        assert_eq!(items(&[b"\x1b]0;never ended \x1b]133;A\x07x"]), "<osc 133;A>x");
        assert_eq!(items(&[b"\x1bPsixel \x1b]133;A\x07x"]), "<osc 133;A>x");
        assert_eq!(items(&[b"\x1b[12\x1b]133;A\x07x"]), "<osc 133;A>x");
        assert_eq!(items(&[b"\x1b\x1b\x1b]133;A\x07x"]), "<osc 133;A>x");
        assert_eq!(items(&[b"\x1b]0;abandoned\x18x"]), "x");
    }

    #[test]
    fn a_giant_string_is_skipped_and_takes_no_room() {
        let mut stream = b"\x1b]52;c;".to_vec();
        stream.extend(std::iter::repeat_n(b'A', 1 << 20));
        stream.extend(b"\x07x\x1b]133;B\x07");
        assert_eq!(items(&[&stream]), "x<osc 133;B>");
        let mut stripper = Stripper::default();
        stripper.feed(&stream, |_, _, _| {});
        assert!(stripper.osc.capacity() <= 2 * OSC_LIMIT);
    }

    #[test]
    fn positions_tell_where_a_mark_begins() {
        let mut stripper = Stripper::default();
        let mut marks = Vec::new();
        for chunk in [&b"ab\x1b"[..], b"]133;D\x1b", b"\\cd\x1b]133;A\x07"] {
            stripper.feed(chunk, |item, start, end| {
                if let Item::Osc(_) = item {
                    marks.push((start, end));
                }
            });
        }
        assert_eq!(marks, [(2, 11), (13, 21)]);
    }
}
