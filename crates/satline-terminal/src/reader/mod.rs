//! Tells echo, response and prompt apart in the output of one terminal.
//!
//! The reaction is the time from the carriage return to the first character of the response, the response time that
//! to the next whole prompt. Echo (of what was typed, and of the line end) is neither.
//!
//! Two ways, which may mix in one terminal (a shell with marks in which a program with a prompt of its own runs):
//!
//! - **Marks.** The shell's PS0 prints `OSC 133;C` when it has read a line and begins it: everything before is
//!   echo. PS1 prints `133;D;STATUS`, `133;A`, its text, `133;B`. All carry `aid=NONCE`, so that output which holds
//!   somebody else's marks is only output. A line that the shell does not run (a syntax error, an empty line) gives
//!   no C: then the response begins after the echoed line end.
//! - **Pattern.** The screen line is followed while the user types, and a character counts as echo as long as it
//!   falls where the prompt and the typed line have that character; redrawing the line (carriage return, backspace,
//!   erasing, colours) therefore stays echo. The line end after it ends the echo. The response is over when what
//!   has been received ends in a match of the pattern; the caller waits a moment to see that nothing more comes.

mod marks;
mod messages;

use std::sync::Arc;

use regex::bytes::Regex;

use crate::screen::{Echo, ScreenLine};
use crate::strip::{Item, Stripper};
use crate::workload::Ending;
use messages::Messages;

/// Text at the end of the output that a prompt's pattern can see, bytes.
const TAIL_LIMIT: usize = 1024;
/// Text at the beginning of a response that `expect` can see, bytes.
pub const OUTPUT_LIMIT: usize = 64 * 1024;

/// How a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy {
    Marks,
    Pattern,
    /// The answer says itself where it ends.
    Message,
}

/// Where a reading stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Pending,
    /// The output ends in what looks like the prompt since this time; further output disproves it.
    Candidate(i64),
    /// The prompt is whole since this time.
    Complete(i64, EndedBy),
}

/// What is waited for.
#[derive(Debug, Clone, Default)]
pub struct Wait {
    /// The line that is typed, without its end; None: nothing is, there is no echo to come.
    pub typed: Option<Vec<u8>>,
    /// Patterns of which one ends the response; the shell's marks end it in any case.
    pub patterns: Vec<Arc<Regex>>,
    /// The line goes to a program inside the shell, so that no C mark will come.
    pub inside: bool,
    /// The other end repeats nothing: the response begins when the line is sent.
    pub no_echo: bool,
    /// Keep the beginning of the output for `expect`.
    pub keep_output: bool,
    /// The answer has no body.
    pub bodiless: bool,
}

impl Wait {
    /// Waits for one of these prompts with nothing typed.
    pub fn for_prompt(endings: &[&Ending]) -> Self {
        let patterns = endings.iter().filter_map(|ending| match ending {
            Ending::Marks | Ending::Message => None,
            Ending::Pattern(regex) => Some(Arc::clone(regex)),
        });
        Self {
            patterns: patterns.collect(),
            ..Self::default()
        }
    }
}

/// The reader of one terminal.
#[derive(Debug)]
pub struct Reader {
    stripper: Stripper,
    reading: Reading,
    /// Where answers are messages, and not what a terminal prints.
    messages: Option<Box<Messages>>,
}

#[derive(Debug)]
struct Reading {
    /// `aid=NONCE`; None: the shell has no marks.
    aid: Option<Vec<u8>>,
    screen: Option<ScreenLine>,
    wait: Wait,
    sent: bool,
    echo_over: bool,
    /// The response has surely begun: C was seen, or the echo's end by the screen.
    surely: bool,
    line_ends: bool,
    done_mark: bool,
    prompt_start: bool,
    exit_status: Option<i64>,
    reaction_ns: Option<i64>,
    output_start: u64,
    output_end: u64,
    tail: Vec<u8>,
    output: Vec<u8>,
    status: Status,
}

impl Reader {
    /// `nonce` is what the shell's marks carry, None without marks; `width` is that of the terminal;
    /// `follow_screen` is needed where patterns are used.
    pub fn new(nonce: Option<&str>, width: usize, follow_screen: bool) -> Self {
        let reading = Reading {
            aid: nonce.map(|nonce| format!("aid={nonce}").into_bytes()),
            screen: follow_screen.then(|| ScreenLine::new(width)),
            wait: Wait::default(),
            sent: false,
            echo_over: true,
            surely: false,
            line_ends: false,
            done_mark: false,
            prompt_start: false,
            exit_status: None,
            reaction_ns: None,
            output_start: 0,
            output_end: 0,
            tail: Vec::new(),
            output: Vec::new(),
            status: Status::Pending,
        };
        Self {
            stripper: Stripper::default(),
            reading,
            messages: None,
        }
    }

    /// Begins a reading: call it before the first key is sent.
    pub fn begin(&mut self, wait: Wait) {
        if let Some(messages) = &mut self.messages {
            messages.answer.begin(wait.bodiless);
            messages.bytes = 0;
        }
        let reading = &mut self.reading;
        reading.echo_over = wait.typed.is_none();
        reading.surely = wait.typed.is_none();
        reading.sent = wait.typed.is_none();
        if let (Some(screen), Some(typed)) = (&mut reading.screen, &wait.typed) {
            screen.expect(typed);
        }
        reading.wait = wait;
        reading.line_ends = false;
        reading.done_mark = false;
        reading.prompt_start = false;
        reading.exit_status = None;
        reading.reaction_ns = None;
        reading.output_start = self.stripper.position();
        reading.output_end = reading.output_start;
        reading.tail.clear();
        reading.output.clear();
        reading.status = Status::Pending;
    }

    /// The carriage return is about to be sent.
    pub fn sent(&mut self) {
        self.reading.sent = true;
        self.reading.output_start = self.stripper.position();
        self.reading.output_end = self.reading.output_start;
        if self.reading.wait.no_echo {
            self.reading.end_echo(self.reading.output_start);
        }
    }

    /// Takes in output that was read at `now_ns`.
    pub fn feed(&mut self, data: &[u8], now_ns: i64) {
        let Self {
            stripper,
            reading,
            messages,
        } = self;
        if let Some(messages) = messages {
            return messages.feed(data, reading, now_ns);
        }
        stripper.feed(data, |item, start, end| reading.take(&item, start, end, now_ns));
        reading.look_for_pattern(now_ns);
    }

    pub fn status(&self) -> Status {
        self.reading.status
    }

    /// True if what looks like the prompt has stood since this time or longer.
    pub fn has_settled(&self, since_ns: i64) -> bool {
        matches!(self.reading.status, Status::Candidate(at) if at <= since_ns)
    }

    /// Takes a candidate as the prompt: nothing more came.
    pub fn settle(&mut self) {
        if let Status::Candidate(at) = self.reading.status {
            self.reading.status = Status::Complete(at, EndedBy::Pattern);
        }
    }

    /// True if what has come ends in a match.
    pub fn ends_in(&self, regex: &Regex) -> bool {
        regex.is_match(&self.reading.tail)
    }

    /// When the first character of the response was read; the prompt's where the response is empty.
    pub fn reaction_ns(&self) -> Option<i64> {
        match self.reading.status {
            Status::Complete(at, _) => Some(self.reading.reaction_ns.unwrap_or(at)),
            _ => self.reading.reaction_ns.filter(|_| self.reading.surely),
        }
    }

    /// Exit status of the command, where the marks give it.
    pub fn exit_status(&self) -> Option<i64> {
        self.reading.exit_status
    }

    /// Bytes of the response so far, escape sequences included, prompt and echo excepted.
    pub fn output_bytes(&self) -> u64 {
        if let Some(messages) = &self.messages {
            return messages.bytes;
        }
        let reading = &self.reading;
        let end = if reading.done_mark {
            reading.output_end
        } else {
            self.stripper.position()
        };
        if !reading.echo_over && !reading.done_mark {
            return 0;
        }
        let prompt = match reading.status {
            Status::Candidate(_) | Status::Complete(_, EndedBy::Pattern) => {
                let found = reading
                    .wait
                    .patterns
                    .iter()
                    .find_map(|regex| regex.find(&reading.tail));
                found.map_or(0, |found| found.len() as u64)
            }
            _ => 0,
        };
        end.saturating_sub(reading.output_start).saturating_sub(prompt)
    }

    /// The beginning of the response's text, if it was to be kept; without the prompt.
    pub fn output(&self) -> &[u8] {
        let reading = &self.reading;
        let prompt = match reading.status {
            Status::Complete(_, EndedBy::Pattern) => {
                let patterns = &reading.wait.patterns;
                patterns.iter().find_map(|regex| regex.find(&reading.output))
            }
            _ => None,
        };
        &reading.output[..prompt.map_or(reading.output.len(), |found| found.start())]
    }
}

impl Reading {
    fn keep(&mut self, text: &[u8]) {
        if self.wait.keep_output {
            let room = OUTPUT_LIMIT - self.output.len();
            self.output.extend_from_slice(&text[..text.len().min(room)]);
        }
    }

    fn take(&mut self, item: &Item<'_>, start: u64, end: u64, now_ns: i64) {
        if let Item::Osc(text) = item {
            if let Some(mark) = self.mark(text) {
                self.take_mark(mark, start, end, now_ns);
            }
            return;
        }
        let echo = self.screen.as_mut().map(|screen| screen.take(item, self.sent));
        if matches!(self.status, Status::Complete(..)) || !self.sent {
            return;
        }
        // In the shell itself the C mark is to come; the screen decides only where it will not.
        let by_screen = self.wait.inside || !self.wait.patterns.is_empty() || self.aid.is_none();
        match item {
            Item::Text(text) => {
                let mut text = *text;
                if !self.echo_over && by_screen {
                    match echo {
                        Some(Echo::Response(at)) => {
                            self.end_echo(end - (text.len() - at) as u64);
                            text = &text[at..];
                        }
                        _ => return,
                    }
                }
                if self.echo_over || self.line_ends {
                    let visible = !by_screen || text.iter().any(|&byte| byte != b' ');
                    self.respond(text, visible, now_ns);
                }
            }
            Item::Control(b'\n') => {
                if !self.echo_over && by_screen {
                    if matches!(echo, Some(Echo::LineEnd)) {
                        self.end_echo(end);
                    }
                } else if self.echo_over || self.line_ends {
                    self.respond(b"\n", !by_screen, now_ns);
                } else {
                    // The echoed line end; where the shell runs the line, C follows and settles it.
                    self.output_start = end;
                }
                self.line_ends = true;
            }
            Item::Control(b'\t') if self.echo_over => self.respond(b"\t", !by_screen, now_ns),
            Item::Control(8) if self.echo_over => {
                self.tail.pop();
            }
            _ => {}
        }
    }

    /// Echo is over: the response begins at this place of the stream.
    fn end_echo(&mut self, position: u64) {
        self.echo_over = true;
        self.surely = true;
        self.reaction_ns = None;
        self.output_start = position;
        self.tail.clear();
        self.output.clear();
    }

    fn respond(&mut self, text: &[u8], visible: bool, now_ns: i64) {
        if self.done_mark {
            return; // the prompt's own text
        }
        if visible && self.reaction_ns.is_none() {
            self.reaction_ns = Some(now_ns);
        }
        self.keep(text);
        if !self.wait.patterns.is_empty() {
            self.status = Status::Pending;
            self.tail
                .extend_from_slice(&text[text.len().saturating_sub(TAIL_LIMIT)..]);
            if self.tail.len() > 2 * TAIL_LIMIT {
                self.tail.drain(..self.tail.len() - TAIL_LIMIT);
            }
        }
    }

    fn look_for_pattern(&mut self, now_ns: i64) {
        if self.status != Status::Pending || !self.echo_over || self.tail.is_empty() {
            return;
        }
        if self.wait.patterns.iter().any(|regex| regex.is_match(&self.tail)) {
            self.status = Status::Candidate(now_ns);
        }
    }
}
