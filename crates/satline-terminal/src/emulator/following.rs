//! Steps that come while the run goes on, a line each on standard input.

use std::io;
use std::os::fd::AsRawFd;

use satline_program::{Error, clock::monotonic_ns};

use crate::plan::{Phase, Plan, Step, parse_duration};

use super::{Emulator, End};

/// Longest line that is read; no step needs more.
const LONGEST: usize = 128;

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
    Step(Step),
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
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or("");
    if first == "end" && words.next().is_none() {
        return Ok(Told::End);
    }
    let users = first
        .parse()
        .map_err(|_| format!("{:?} is no number of users", short(first)))?;
    if !(1..=most).contains(&users) {
        return Err(format!("{users} users; a step has 1 to {most} (--max-users)"));
    }
    let mut step = Step::of(users);
    for word in words {
        let (name, length) = word.split_once('=').unwrap_or((word, ""));
        let place = match name {
            "ramp" => &mut step.ramp_ns,
            "warmup" => &mut step.warmup_ns,
            "window" => &mut step.window_ns,
            _ => return Err(format!("{:?} is none of ramp, warmup, window", short(name))),
        };
        *place = Some(parse_duration(length).map_err(|why| format!("{name}: {why}"))?);
    }
    if step.window_ns == Some(0) {
        return Err("window: the measured time is 0".to_owned());
    }
    Ok(Told::Step(step))
}

fn short(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

/// Is there time for one step more?
fn fits(plan: &Plan, step: Step, longest_s: f64) -> Result<(), String> {
    let mut longer = plan.clone();
    longer.steps.push(step);
    let total_s = longer.total_s();
    if total_s > longest_s {
        return Err(format!(
            "the steps take {total_s:.0} s together; --max-time is {longest_s:.0} s"
        ));
    }
    Ok(())
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
            Err(why) => self.refuse(&why),
        }
    }

    fn refuse(&mut self, why: &str) {
        let what = format!("--follow: standard input: {why}");
        let hint = "write a step a line, such as 12 or 12 warmup=3s window=14s, and end after the last";
        self.end.get_or_insert(End::Failed(Error::input(what, hint)));
    }

    fn follow(&mut self, told: Told) {
        match told {
            Told::Step(step) => {
                if let Err(why) = fits(&self.c.plan, step, self.longest_s) {
                    return self.refuse(&why);
                }
                self.c.plan.steps.push(step);
            }
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
            Ok(vec![Told::Step(Step::of(12)), Told::Step(Step::of(7))])
        );
        assert_eq!(following.take(b"d\n", 20), Ok(vec![Told::End]));
    }

    #[test]
    fn a_step_may_state_lengths_of_its_own() {
        let told = Following::default().take(b" 12  warmup=3s window=1.5m ramp=0\n", 20);
        let step = Step {
            users: 12,
            ramp_ns: Some(0),
            warmup_ns: Some(3_000_000_000),
            window_ns: Some(90_000_000_000),
        };
        assert_eq!(told, Ok(vec![Told::Step(step)]));
    }

    #[test]
    fn the_whole_time_is_bounded() {
        let plan = Plan {
            steps: vec![Step::of(1)],
            ramp_ns: 0,
            ramp_per_user: false,
            warmup_ns: 0,
            window_ns: 10_000_000_000,
            most: 20,
        };
        assert!(fits(&plan, Step::of(1), 20.0).is_ok());
        assert!(fits(&plan, Step::of(1), 19.0).is_err());
    }

    #[test]
    fn what_is_no_step_is_refused() {
        for wrong in [
            &b"0\n"[..],
            b"21\n",
            b"-1\n",
            b"x\n",
            b"\n",
            b"1.5\n",
            b"end 3\n",
            b"3 window\n",
            b"3 window=\n",
            b"3 window=0\n",
            b"3 window=-1s\n",
            b"3 window=x\n",
            b"3 pause=1s\n",
            b"3 4\n",
            b"\xff\n",
            &[b'1'; 199],
        ] {
            assert!(Following::default().take(wrong, 20).is_err(), "{wrong:?}");
        }
    }
}
