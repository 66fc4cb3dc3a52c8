//! The floor for the bench of the emulator: one pseudo-terminal and nothing but write, poll and read.
//!
//! `bare_loop COUNT PAUSE_MS PROGRAM [ARGUMENT…]` sends COUNT lines to the program, waits for the first character after
//! the echoed line, and prints CLOCK_MONOTONIC in ns before each write and after that read.

use std::io::{Error, Read, Result, Write};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use satline_program::clock::monotonic_ns;
use satline_terminal::lines::pty::open_pty;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [count, pause_ms, program, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: bare_loop COUNT PAUSE_MS PROGRAM [ARGUMENT…]");
        std::process::exit(2);
    };
    let number = |text: &str| text.parse::<u64>().map_err(Error::other);
    let (count, pause) = (number(count)?, Duration::from_millis(number(pause_ms)?));
    let (master, slave) = open_pty()?;
    let end = || slave.try_clone().map(Stdio::from);
    let mut child = Command::new(program)
        .args(rest)
        .stdin(end()?)
        .stdout(end()?)
        .stderr(end()?)
        .spawn()?;
    drop(slave);
    let mut terminal = std::fs::File::from(master);
    // What the program prints at its start is not an answer.
    std::thread::sleep(Duration::from_millis(300));
    let mut buffer = [0u8; 4096];
    let _ = terminal.read(&mut buffer);
    let mut stamps = String::new();
    for index in 0..count {
        std::thread::sleep(pause);
        let line = format!("line {index}\r");
        let written_ns = monotonic_ns();
        terminal.write_all(line.as_bytes())?;
        let (mut lines, mut reaction_ns) = (0, None);
        while lines < 2 {
            let mut poll = libc::pollfd {
                fd: terminal.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            // SAFETY: one pollfd.
            if unsafe { libc::poll(&mut poll, 1, 5000) } != 1 {
                return Err(Error::other("no answer within 5 s"));
            }
            let got = terminal.read(&mut buffer)?;
            let now_ns = monotonic_ns();
            for &byte in &buffer[..got] {
                if lines == 1 {
                    reaction_ns.get_or_insert(now_ns);
                }
                lines += usize::from(byte == b'\n');
            }
        }
        stamps.push_str(&format!("{written_ns} {}\n", reaction_ns.unwrap_or(0)));
    }
    print!("{stamps}");
    child.kill()?;
    child.wait().map(drop)
}
