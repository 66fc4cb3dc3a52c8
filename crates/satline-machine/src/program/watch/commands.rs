//! Commands on standard input, one a line.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use satline_program::Error;

use super::Stop;
use crate::engine::Span;
use crate::options::length;
use crate::program::Ending;

/// Signals are looked for so often while no command comes.
const PATIENCE: Duration = Duration::from_millis(50);

/// What is wanted.
#[derive(Debug, PartialEq, Eq)]
pub enum Wish {
    /// So much simulated time, then a line.
    Go(Span),
    /// So many users from now on.
    Users(u32),
    /// Also at the end of the input.
    Quit,
    /// A signal came.
    End(Ending),
}

/// The commands to come. They are read by a thread of their own: a read that waits does not see signals.
pub struct Commands {
    lines: Receiver<String>,
    /// Lines so far.
    count: u64,
}

impl Commands {
    pub fn new() -> Self {
        let (sender, lines) = sync_channel(16);
        std::thread::spawn(move || {
            for line in io::stdin().lines() {
                // What is no text ends the input.
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { lines, count: 0 }
    }

    /// The next one, when it comes.
    ///
    /// # Errors
    /// It is none, or asks for more users than there are.
    pub fn next(&mut self, most: u32, stop: Stop<'_>) -> Result<Wish, Error> {
        loop {
            if let Some(ending) = stop() {
                return Ok(Wish::End(ending));
            }
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    self.count += 1;
                    return wish(&line, most).map_err(|(what, hint)| {
                        Error::input(format!("standard input, line {}: {what}", self.count), hint)
                    });
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(Wish::Quit),
            }
        }
    }
}

/// A command's meaning, or what is wrong and its remedy.
fn wish(line: &str, most: u32) -> Result<Wish, (String, String)> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    match words[..] {
        ["go", seconds] => {
            let hint = || String::from("give simulated seconds: go 0.5");
            length(seconds).map(Wish::Go).map_err(|what| (what, hint()))
        }
        ["users", number] => match number.parse() {
            Ok(users) if users <= most => Ok(Wish::Users(users)),
            _ => Err((
                format!("{number:?} is no number of users from 0 to {most}"),
                String::from("--room makes room for more than the largest step has"),
            )),
        },
        ["quit"] => Ok(Wish::Quit),
        _ => Err((
            format!("{line:?} is no command"),
            String::from("commands are: go SECONDS, users N, quit"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_and_others_refused() {
        assert_eq!(wish(" go  0.5 ", 3), Ok(Wish::Go(Span::from_seconds(0.5))));
        assert_eq!(wish("users 3", 3), Ok(Wish::Users(3)));
        assert_eq!(wish("quit", 3), Ok(Wish::Quit));
        for wrong in [
            "", "go", "go 0", "go -1", "go nan", "go 1 2", "users 4", "users -1", "users x", "stop",
        ] {
            assert!(wish(wrong, 3).is_err(), "{wrong:?}");
        }
    }
}
