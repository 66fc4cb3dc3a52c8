//! The telnet protocol, the user's side of it [RFC 854, 855]: text apart from commands, across any cut of the stream.
//!
//! Agreed to: the server echoes (RFC 857), no go-aheads (RFC 858), our terminal's type (RFC 1091) and size (RFC 1073).
//! Everything else is refused. A request for what is already so is not answered, so that no two sides can loop.

use super::pty::{COLUMNS, ROWS};

const IAC: u8 = 255;
const DONT: u8 = 254;
const DO: u8 = 253;
const WONT: u8 = 252;
const WILL: u8 = 251;
const SB: u8 = 250;
const SE: u8 = 240;

const ECHO: u8 = 1;
const SUPPRESS_GO_AHEAD: u8 = 3;
const TERMINAL_TYPE: u8 = 24;
const WINDOW_SIZE: u8 = 31;

/// What we say our terminal is: one that is sent no sequences.
const TERMINAL: &[u8] = b"DUMB";
/// Bytes of a subnegotiation that are kept.
const SUB_LIMIT: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Text,
    /// After a carriage return: a NUL belongs to it.
    Return,
    Command,
    Option(u8),
    Sub,
    SubCommand,
}

/// One telnet connection's protocol.
#[derive(Debug)]
pub struct Telnet {
    state: State,
    sub: Vec<u8>,
    /// Options that are in force on the server's side, and on ours.
    theirs: Vec<u8>,
    ours: Vec<u8>,
}

impl Default for Telnet {
    fn default() -> Self {
        Self {
            state: State::Text,
            sub: Vec::new(),
            theirs: Vec::new(),
            ours: Vec::new(),
        }
    }
}

impl Telnet {
    /// True if the server has said that it echoes.
    pub fn echoes(&self) -> bool {
        self.theirs.contains(&ECHO)
    }

    /// Takes out the commands, in place; gives the length of the text that is left and appends answers to `replies`.
    pub fn receive(&mut self, data: &mut [u8], replies: &mut Vec<u8>) -> usize {
        let mut length = 0;
        for index in 0..data.len() {
            if let Some(byte) = self.step(data[index], replies) {
                data[length] = byte;
                length += 1;
            }
        }
        length
    }

    fn step(&mut self, byte: u8, replies: &mut Vec<u8>) -> Option<u8> {
        let state = std::mem::replace(&mut self.state, State::Text);
        match (state, byte) {
            (State::Return, 0) => None,
            (State::Text | State::Return, IAC) => {
                self.state = State::Command;
                None
            }
            (State::Text | State::Return, _) => {
                if byte == b'\r' {
                    self.state = State::Return;
                }
                Some(byte)
            }
            (State::Command, IAC) => Some(IAC),
            (State::Command, WILL | WONT | DO | DONT) => {
                self.state = State::Option(byte);
                None
            }
            (State::Command, SB) => {
                self.sub.clear();
                self.state = State::Sub;
                None
            }
            (State::Command, _) => None,
            (State::Option(verb), option) => {
                self.negotiate(verb, option, replies);
                None
            }
            (State::Sub, IAC) => {
                self.state = State::SubCommand;
                None
            }
            (State::SubCommand, SE) => {
                self.end_sub(replies);
                None
            }
            (State::Sub, _) | (State::SubCommand, IAC) => {
                if self.sub.len() < SUB_LIMIT {
                    self.sub.push(byte);
                }
                self.state = State::Sub;
                None
            }
            // Not ended, and another command: the subnegotiation is given up.
            (State::SubCommand, _) => {
                self.state = State::Command;
                self.step(byte, replies)
            }
        }
    }

    fn negotiate(&mut self, verb: u8, option: u8, replies: &mut Vec<u8>) {
        let theirs = matches!(verb, WILL | WONT);
        let (set, agreeable, yes, no) = if theirs {
            let agreeable = matches!(option, ECHO | SUPPRESS_GO_AHEAD);
            (&mut self.theirs, agreeable, DO, DONT)
        } else {
            let agreeable = matches!(option, SUPPRESS_GO_AHEAD | TERMINAL_TYPE | WINDOW_SIZE);
            (&mut self.ours, agreeable, WILL, WONT)
        };
        let is_on = set.contains(&option);
        match (matches!(verb, WILL | DO), is_on) {
            (true, true) | (false, false) => return,
            (true, false) if agreeable => {
                set.push(option);
                replies.extend([IAC, yes, option]);
            }
            (true, false) => replies.extend([IAC, no, option]),
            (false, true) => {
                set.retain(|&on| on != option);
                replies.extend([IAC, no, option]);
            }
        }
        if !theirs && option == WINDOW_SIZE && verb == DO {
            replies.extend([IAC, SB, WINDOW_SIZE]);
            encode(&[COLUMNS.to_be_bytes(), ROWS.to_be_bytes()].concat(), replies);
            replies.extend([IAC, SE]);
        }
    }

    fn end_sub(&self, replies: &mut Vec<u8>) {
        // SEND is 1, IS is 0.
        if self.sub == [TERMINAL_TYPE, 1] && self.ours.contains(&TERMINAL_TYPE) {
            replies.extend([IAC, SB, TERMINAL_TYPE, 0]);
            replies.extend(TERMINAL);
            replies.extend([IAC, SE]);
        }
    }
}

/// Text as it goes over the line: IAC is doubled, a carriage return that no line feed follows gets its NUL.
pub fn encode(text: &[u8], out: &mut Vec<u8>) {
    for (index, &byte) in text.iter().enumerate() {
        out.push(byte);
        match byte {
            IAC => out.push(IAC),
            b'\r' if text.get(index + 1) != Some(&b'\n') => out.push(0),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn receive(chunks: &[&[u8]]) -> (Vec<u8>, Vec<u8>) {
        let (mut telnet, mut text, mut replies) = (Telnet::default(), Vec::new(), Vec::new());
        for chunk in chunks {
            let mut data = chunk.to_vec();
            let length = telnet.receive(&mut data, &mut replies);
            text.extend_from_slice(&data[..length]);
        }
        (text, replies)
    }

    /// Bytes in which commands are frequent.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![
            3 => prop::sample::select(vec![IAC, DO, DONT, WILL, WONT, SB, SE, 0, b'\r', b'\n', 1, 3, 24, 31]),
            1 => any::<u8>(),
        ];
        prop::collection::vec(byte, 0..200)
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_text_and_answers(stream in stream(), cuts in prop::collection::vec(0usize..200, 0..8)) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            prop_assert_eq!(receive(&chunks), receive(&[&stream]));
        }

        #[test]
        fn what_is_encoded_is_received_as_it_was(text in stream()) {
            let mut wire = Vec::new();
            encode(&text, &mut wire);
            prop_assert_eq!(receive(&[&wire]), (text, Vec::new()));
        }

        #[test]
        fn answers_are_bounded_by_what_was_asked(stream in stream()) {
            // Three bytes are the shortest request; the longest answer to one is a WILL with the size.
            prop_assert!(receive(&[&stream]).1.len() <= stream.len() / 3 * 12);
        }
    }

    #[test]
    fn echo_and_no_go_ahead_are_agreed_to_once() {
        let asked = [
            IAC,
            WILL,
            ECHO,
            IAC,
            WILL,
            SUPPRESS_GO_AHEAD,
            IAC,
            WILL,
            ECHO,
            b'x',
        ];
        let (text, replies) = receive(&[&asked]);
        assert_eq!(text, b"x");
        assert_eq!(replies, [IAC, DO, ECHO, IAC, DO, SUPPRESS_GO_AHEAD]);
        let mut telnet = Telnet::default();
        let mut replies = Vec::new();
        telnet.receive(&mut [IAC, WILL, ECHO], &mut replies);
        assert!(telnet.echoes());
        telnet.receive(&mut [IAC, WONT, ECHO, IAC, WONT, ECHO], &mut replies);
        assert!(!telnet.echoes());
        assert_eq!(replies, [IAC, DO, ECHO, IAC, DONT, ECHO]);
    }

    #[test]
    fn the_terminals_type_and_size_are_told_and_the_rest_is_refused() {
        let asked = [
            &[
                IAC,
                DO,
                TERMINAL_TYPE,
                IAC,
                DO,
                WINDOW_SIZE,
                IAC,
                DO,
                39,
                IAC,
                WILL,
                0,
            ][..],
            &[IAC, SB, TERMINAL_TYPE, 1, IAC, SE],
        ];
        let (text, replies) = receive(&asked);
        assert!(text.is_empty());
        let expected = [
            &[IAC, WILL, TERMINAL_TYPE, IAC, WILL, WINDOW_SIZE][..],
            &[IAC, SB, WINDOW_SIZE, 0, COLUMNS as u8, 0, ROWS as u8, IAC, SE],
            &[IAC, WONT, 39, IAC, DONT, 0],
            &[IAC, SB, TERMINAL_TYPE, 0],
            TERMINAL,
            &[IAC, SE],
        ];
        assert_eq!(replies, expected.concat());
    }

    #[test]
    fn a_giant_subnegotiation_takes_no_room() {
        let mut data = vec![IAC, SB, TERMINAL_TYPE];
        data.extend(std::iter::repeat_n(b'A', 1 << 20));
        data.extend([IAC, SE, b'x']);
        let (mut telnet, mut replies) = (Telnet::default(), Vec::new());
        assert_eq!(telnet.receive(&mut data, &mut replies), 1);
        assert!(telnet.sub.capacity() <= 2 * SUB_LIMIT && replies.is_empty());
    }
}
