//! Steps that come while the run goes on, a line each on standard input.

use std::io;
use std::os::fd::AsRawFd;

use crate::clock::monotonic_ns;
use crate::error::TerminalError;
use crate::plan::Phase;

use super::{Emulator, End};

/// Longest line that is read; no number of users has more digits.
const LONGEST: usize = 64;

/// What was told of the steps to come.
#[derive(Debug, Default)]
pub struct Following {
    rest: Vec<u8>,
    /// No further step comes.
    ended: bool,
}

/// A line of standard input.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Step(usize),
    End,
}

impl Following {
    pub fn awaits(&self) -> bool {
        !self.ended
    }

    /// The lines that are whole now.
    fn take(&mut self, bytes: &[u8], most: usize) -> Result<Vec<Told>, String> {
        self.rest.extend_from_slice(bytes);
        let mut told = Vec::new();
        while let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            told.push(understood(&line[..end], most)?);
        }
        if self.rest.len() > LONGEST {
            return Err(format!("a line of more than {LONGEST} characters"));
        }
        Ok(told)
    }
}

fn understood(line: &[u8], most: usize) -> Result<Told, String> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    match text.parse() {
        _ if text == "end" => Ok(Told::End),
        Ok(users) if (1..=most).contains(&users) => Ok(Told::Step(users)),
        Ok(_) => Err(format!("{text} users; a step has 1 to {most} (--max-users)")),
        Err(_) => Err(format!(
            "{:?} is no number of users",
            text.chars().take(LONGEST).collect::<String>()
        )),
    }
}

impl Emulator {
    /// Something came on standard input, or its end.
    pub(super) fn look_at_stdin(&mut self) {
        let mut buffer = [0u8; 512];
        // SAFETY: the buffer is as long as said.
        let got = unsafe { libc::read(io::stdin().as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
        if got == 0 {
            self.end
                .get_or_insert(End::Interrupted(libc::SIGTERM, "the end of standard input"));
        }
        let (Some(following), Ok(got)) = (&mut self.following, usize::try_from(got)) else {
            return;
        };
        match following.take(&buffer[..got], self.c.plan.most) {
            Ok(told) => told.into_iter().for_each(|told| self.follow(told)),
            Err(why) => {
                let what = format!("--follow: standard input: {why}");
                let hint = "write a number of users a line, and end after the last";
                self.end
                    .get_or_insert(End::Failed(TerminalError::input(what, hint)));
            }
        }
    }

    fn follow(&mut self, told: Told) {
        match told {
            Told::Step(users) => self.c.plan.steps.push(users),
            Told::End => {
                if let Some(following) = &mut self.following {
                    following.ended = true;
                }
            }
        }
        if self.c.phase == Phase::Hold {
            self.go_on(monotonic_ns());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_may_come_in_pieces() {
        let mut following = Following::default();
        assert_eq!(following.take(b"1", 20), Ok(vec![]));
        assert_eq!(
            following.take(b"2\n7\r\nen", 20),
            Ok(vec![Told::Step(12), Told::Step(7)])
        );
        assert_eq!(following.take(b"d\n", 20), Ok(vec![Told::End]));
    }

    #[test]
    fn what_is_no_number_of_users_is_refused() {
        for wrong in [
            &b"0\n"[..],
            b"21\n",
            b"-1\n",
            b"x\n",
            b"\n",
            b"1.5\n",
            b"\xff\n",
            &[b'1'; 99],
        ] {
            assert!(Following::default().take(wrong, 20).is_err(), "{wrong:?}");
        }
    }
}
