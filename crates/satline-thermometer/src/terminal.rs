//! Terminal interactions: a line over a real pty to a child that waits at the other end, and its answer back.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr;

use satline_program::{Error, Result, clock};

const HINT: &str =
    "look at /dev/pts and the limits on processes and pseudo-terminals (ulimit -u, kernel.pty.max)";

/// A child on the far end of a pty that answers each line `x` with `ok x`.
pub struct Responder {
    pid: libc::pid_t,
    input: File,
    output: BufReader<File>,
}

impl Responder {
    /// Starts the child and waits until it is ready for its first line.
    pub fn start() -> Result<Self> {
        let (master, slave) = open_pty()?;
        let file = File::from(master);
        let output = file
            .try_clone()
            .map_err(|e| Error::system("cannot use the pseudo-terminal", &e, HINT))?;
        // SAFETY: this program has one thread, so the child may go on as a normal process.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => Err(Error::system(
                "cannot start the answering process",
                &std::io::Error::last_os_error(),
                HINT,
            )),
            0 => {
                drop((file, output));
                answer(slave)
            }
            _ => {
                drop(slave);
                let mut responder = Self {
                    pid,
                    input: file,
                    output: BufReader::new(output),
                };
                responder.expect("ready")?;
                Ok(responder)
            }
        }
    }

    /// One interaction: a line there, its answer back.
    pub fn interact(&mut self, number: u64) -> Result<()> {
        self.input
            .write_all(format!("line {number}\n").as_bytes())
            .map_err(|e| Error::system("cannot write to the pseudo-terminal", &e, HINT))?;
        self.expect(&format!("ok line {number}"))
    }

    /// Processor time of the child so far, ns.
    pub fn cpu_ns(&self) -> Option<i64> {
        clock::cpu_ns_of(self.pid)
    }

    fn expect(&mut self, wanted: &str) -> Result<()> {
        let mut line = String::new();
        let read = self.output.read_line(&mut line);
        match read {
            Ok(_) if line.trim_end() == wanted => Ok(()),
            Ok(_) => {
                let odd = std::io::Error::other(format!("{:?} instead of {wanted:?}", line.trim_end()));
                Err(Error::system(
                    "the answering process gave a wrong answer",
                    &odd,
                    HINT,
                ))
            }
            Err(e) => Err(Error::system("the answering process ended", &e, HINT)),
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        // SAFETY: the child is ours and not yet waited for, so the number cannot be another process's.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, ptr::null_mut(), 0);
        }
    }
}

/// Opens a pty with echo off: a line comes back once, from the child.
fn open_pty() -> Result<(OwnedFd, OwnedFd)> {
    let (mut master, mut slave): (RawFd, RawFd) = (-1, -1);
    // SAFETY: the two places for the answer are valid; name, modes and size are left to the kernel.
    let failed = unsafe {
        libc::openpty(
            &mut master,
            &mut slave,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    if failed != 0 {
        return Err(Error::system(
            "cannot open a pseudo-terminal",
            &std::io::Error::last_os_error(),
            HINT,
        ));
    }
    // SAFETY: both descriptors are new and ours alone; `modes` is filled by tcgetattr before it is used.
    unsafe {
        let mut modes = std::mem::zeroed::<libc::termios>();
        if libc::tcgetattr(slave, &mut modes) == 0 {
            modes.c_lflag &= !libc::ECHO;
            libc::tcsetattr(slave, libc::TCSANOW, &modes);
        }
        Ok((OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave)))
    }
}

/// The child's life. It ends with the probe: by SIGKILL when the parent dies, by SIGHUP or end of file when the
/// pty closes.
fn answer(slave: OwnedFd) -> ! {
    let mut terminal = File::from(slave);
    // SAFETY: plain system calls of a process of its own.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::setsid();
        libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&terminal), libc::TIOCSCTTY, 0);
    }
    let mut line = [0_u8; 128];
    let mut out = b"ready\n".to_vec();
    loop {
        if terminal.write_all(&out).is_err() {
            break;
        }
        match terminal.read(&mut line) {
            Ok(length) if length > 0 => {
                out.clear();
                out.extend_from_slice(b"ok ");
                out.extend_from_slice(&line[..length]);
            }
            _ => break,
        }
    }
    // SAFETY: ends the child without running what belongs to the parent.
    unsafe { libc::_exit(0) }
}
