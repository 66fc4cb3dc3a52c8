//! Answers each line it reads and notes when it did: the true times for the bench of the emulator.
//!
//! `stamping_responder LOG`: prints `ready` and, for each line on standard input, `answer NUMBER`. To the file LOG,
//! or to LOG/$SATLINE_USER where LOG is a directory, goes a line with CLOCK_MONOTONIC in ns after the line was read
//! and before the answer is written.
//!
//! `stamping_responder LOG listen`: the same for every connection to a port of loopback that it prints; the n-th writes
//! LOG/n. `/dev/null` as LOG notes nothing. `http` in place of `listen`: each request without a body is answered so.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Result, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use satline_program::clock::monotonic_ns;

fn respond(mut input: impl BufRead, mut out: impl Write, log: &Path) -> Result<()> {
    let mut log = OpenOptions::new().create(true).append(true).open(log)?;
    out.write_all(b"ready\n")?;
    out.flush()?;
    let mut line = String::new();
    let mut number = 0u64;
    while input.read_line(&mut line)? > 0 {
        let read_ns = monotonic_ns();
        line.clear();
        number += 1;
        let answer = format!("answer {number}\n");
        let written_ns = monotonic_ns();
        out.write_all(answer.as_bytes())?;
        out.flush()?;
        writeln!(log, "{read_ns} {written_ns}")?;
    }
    Ok(())
}

fn respond_to_requests(mut input: impl BufRead, mut out: impl Write, log: &Path) -> Result<()> {
    let mut log = OpenOptions::new().create(true).append(true).open(log)?;
    let (mut line, mut number) = (String::new(), 0u64);
    while input.read_line(&mut line)? > 0 {
        if line == "\r\n" {
            let read_ns = monotonic_ns();
            number += 1;
            let body = format!("answer {number}\n");
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            let written_ns = monotonic_ns();
            out.write_all(answer.as_bytes())?;
            writeln!(log, "{read_ns} {written_ns}")?;
        }
        line.clear();
    }
    Ok(())
}

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let mut path = PathBuf::from(arguments.next().unwrap_or_default());
    let how = arguments.next();
    if how.is_none() {
        if path.is_dir() {
            path.push(std::env::var_os("SATLINE_USER").unwrap_or_default());
        }
        return respond(std::io::stdin().lock(), std::io::stdout(), &path);
    }
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?.port());
    for (number, stream) in listener.incoming().enumerate() {
        let stream = stream?;
        stream.set_nodelay(true)?;
        let log = if path.is_dir() {
            path.join((number + 1).to_string())
        } else {
            path.clone()
        };
        let http = how.as_ref().is_some_and(|how| how == "http");
        std::thread::spawn(move || {
            if http {
                respond_to_requests(BufReader::new(&stream), &stream, &log)
            } else {
                respond(BufReader::new(&stream), &stream, &log)
            }
        });
    }
    Ok(())
}
