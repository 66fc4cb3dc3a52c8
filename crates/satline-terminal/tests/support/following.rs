//! Runs that last until the test has seen what it waits for: a window of fixed length may be over before a busy
//! machine has answered anything in it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Output, Stdio};

use super::{Place, eventually, send, suspend};

/// A run whose further steps the test tells; in between its users go on.
pub struct Following<'a> {
    place: &'a Place,
    /// None: its output was taken.
    child: Option<Child>,
    input: Option<ChildStdin>,
    steps: usize,
}

impl<'a> Following<'a> {
    pub fn new(place: &'a Place, command: Command) -> Self {
        Self::of(place, command, 0)
    }

    /// One of at most so many users, or as many as its own steps have.
    pub fn of(place: &'a Place, mut command: Command, most: usize) -> Self {
        let words: Vec<_> = command
            .get_args()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let at = words.iter().position(|word| word == "--steps");
        let steps = at.and_then(|at| words.get(at + 1)).expect("--steps");
        let users: Vec<usize> = steps.split(',').map(|step| step.parse().unwrap()).collect();
        let most = users.iter().copied().chain([most]).max().unwrap();
        command
            .args(["--watch-stdin", "--follow", "--max-users", &most.to_string()])
            .stdin(Stdio::piped());
        place.under_way.set(true);
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        Self {
            place,
            child: Some(child),
            input,
            steps: users.len(),
        }
    }

    /// A further step, as it is told on standard input.
    pub fn step(&mut self, line: &str) {
        self.steps += 1;
        self.tell(line);
    }

    /// A line on standard input.
    pub fn tell(&mut self, line: &str) {
        // It may have ended by itself: what it says then is looked at by the test.
        let input = self.input.as_mut().unwrap();
        let _ = input.write_all(format!("{line}\n").as_bytes());
    }

    /// Waits until all steps told so far are over and this is true of the recording, or the run has ended by itself.
    pub fn when(&mut self, what: &str, mut condition: impl FnMut() -> bool) {
        let (place, steps) = (self.place, self.steps);
        self.once(what, || place.events("window-end").len() >= steps && condition());
    }

    /// Waits until this is true, wherever the run is, or it has ended by itself.
    pub fn once(&mut self, what: &str, mut condition: impl FnMut() -> bool) {
        let child = self.child.as_mut().unwrap();
        eventually(what, || child.try_wait().unwrap().is_some() || condition());
    }

    /// Waits until its progress shows this.
    pub fn once_shown(&mut self, text: &str) {
        let shown = BufReader::new(self.child.as_mut().unwrap().stdout.as_mut().unwrap());
        let mut lines = shown.lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains(text)), "it ended without {text}");
    }

    /// Stops its process: what comes meanwhile finds it late.
    pub fn stop(&self) {
        suspend(self.child.as_ref().unwrap());
    }

    /// Lets it go on after `stop`.
    pub fn go_on(&self) {
        send(self.child.as_ref().unwrap(), libc::SIGCONT);
    }

    /// No further step comes.
    pub fn end(mut self) -> Output {
        self.tell("end");
        self.over()
    }

    /// What it says when it has ended by itself.
    pub fn over(mut self) -> Output {
        let child = self.child.take().unwrap();
        // Its standard input stays open until it has ended: the end of it would end the run.
        let output = child.wait_with_output().unwrap();
        self.place.under_way.set(false);
        output
    }
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        self.place.under_way.set(false);
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
