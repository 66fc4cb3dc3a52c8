//! The floor of what a transaction on a pty can cost: many pseudo-terminals, a heap of due times and epoll, and nothing else:
//! no reader of terminals, no recording, no quiet time.
//!
//! `pty_floor USERS THINK_S SECONDS LOG PROGRAM [ARGUMENT…]`: each user thinks (exponential; 0: not at all), sends a line at once and
//! reads up to the second line end, that of the answer after the echo. After 2 s it measures for SECONDS and prints as JSON the
//! transactions per second, the processor time of this process for each, us, and how late lines were sent, us. The programs
//! get LOG as their last argument, and SATLINE_USER.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{Error, Read, Result, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};

use satline_program::clock::{SECOND_NS, monotonic_ns, own_cpu_us, seconds_to_ns};
use satline_terminal::lines::pty::open_pty;
use satline_terminal::poll::{Poll, Watch};
use satline_terminal::random::{Purpose, Seconds, between, stream};

const WARM_UP_NS: i64 = 2 * SECOND_NS;

struct User {
    terminal: File,
    child: Child,
    /// Line ends that are to come.
    left: usize,
}

fn start(number: usize, program: &str, arguments: &[String], log: &str) -> Result<User> {
    let (master, slave) = open_pty()?;
    let end = || slave.try_clone().map(Stdio::from);
    let mut command = Command::new(program);
    command
        .args(arguments)
        .arg(log)
        .env("SATLINE_USER", format!("user-{number:03}"));
    let child = command.stdin(end()?).stdout(end()?).stderr(end()?).spawn()?;
    Ok(User {
        terminal: File::from(master),
        child,
        // What the program prints at its start.
        left: 1,
    })
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [users, think, seconds, log, program, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: pty_floor USERS THINK_S SECONDS LOG PROGRAM [ARGUMENT…]");
        std::process::exit(2);
    };
    let number = |text: &str| text.parse::<f64>().map_err(Error::other);
    let think = Seconds::exponential(number(think)?).ok_or(Error::other("THINK_S is below 0"))?;
    let window_ns = seconds_to_ns(number(seconds)?);
    let mut random = stream(1, 0, Purpose::Think);
    let mut poll = Poll::new()?;
    let mut all = Vec::new();
    for index in 0..number(users)? as usize {
        all.push(start(index + 1, program, rest, log)?);
        poll.add(all[index].terminal.as_raw_fd(), index as u64, Watch::Arrivals)?;
    }
    satline_program::scheduling::prefer();
    // SAFETY: plain numbers; as the emulator does.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
    let mut due: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::new();
    let mut buffer = [0u8; 32 * 1024];
    let (mut lateness_us, mut answers, mut cpu_us) = (Vec::new(), 0u64, 0);
    let from = monotonic_ns() + WARM_UP_NS;
    let mut measures = false;
    loop {
        let now = monotonic_ns();
        if now >= from + window_ns {
            break;
        }
        if !measures && now >= from {
            (measures, answers, cpu_us) = (true, 0, own_cpu_us());
            lateness_us.clear();
        }
        while let Some(&Reverse((at, index))) = due.peek() {
            let now = monotonic_ns();
            if at > now {
                break;
            }
            due.pop();
            lateness_us.push((now - at) / 1000);
            all[index].left = 2;
            let line = format!("line {}\r", between(&mut random, 1, 1000));
            (&all[index].terminal).write_all(line.as_bytes())?;
        }
        let turn = if measures { from + window_ns } else { from };
        let next = due.peek().map_or(turn, |next| next.0.0).min(turn);
        for index in 0..poll.wait(next)? {
            let token = poll.ready(index).token;
            let user = &mut all[token as usize];
            let got = user.terminal.read(&mut buffer)?;
            let now = monotonic_ns();
            let ends = buffer[..got].iter().filter(|&&byte| byte == b'\n').count();
            if user.left > 0 && ends >= user.left {
                answers += 1;
                due.push(Reverse((
                    now + seconds_to_ns(think.draw(&mut random)),
                    token as usize,
                )));
            }
            user.left = user.left.saturating_sub(ends);
        }
    }
    let cpu_us = (own_cpu_us() - cpu_us) as f64 / answers.max(1) as f64;
    lateness_us.sort_unstable();
    let late = |part: f64| {
        lateness_us
            .get((lateness_us.len() as f64 * part) as usize)
            .copied()
            .unwrap_or(0)
    };
    println!(
        r#"{{"per_second": {:.1}, "cpu_us": {cpu_us:.2}, "lateness_p50_us": {}, "lateness_p99_us": {}}}"#,
        answers as f64 * 1e9 / window_ns as f64,
        late(0.5),
        late(0.99)
    );
    for user in &mut all {
        user.child.kill()?;
        user.child.wait()?;
    }
    Ok(())
}
