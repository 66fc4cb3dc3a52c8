//! Starts a shell as the leader of a session of its own on a pseudo-terminal of its own.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Received;
use crate::poll::{check, later};

/// Size of every terminal.
pub const COLUMNS: u16 = 200;
pub const ROWS: u16 = 50;
/// The default of Linux, which children get back: the emulator itself runs with the finest.
const TIMER_SLACK_NS: libc::c_ulong = 50_000;

/// What all shells have in common.
#[derive(Debug)]
pub struct Launcher {
    program: CString,
    arguments: Vec<CString>,
    /// Files to which the child writes `0` before exec.
    cgroup_procs: Vec<CString>,
    affinity: Option<libc::cpu_set_t>,
    /// Limit of open files as it was before the emulator raised its own.
    file_limit: libc::rlimit,
}

/// A started shell.
#[derive(Debug)]
pub struct Started {
    /// The terminal's other end, non-blocking.
    pub master: OwnedFd,
    /// Process, session and process group of the shell.
    pub pid: libc::pid_t,
}

impl Started {
    pub fn receive(&mut self, buffer: &mut [u8]) -> Received {
        // SAFETY: the buffer is as long as said.
        let got = unsafe { libc::read(self.master.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
        match check(got as libc::c_int) {
            Ok(got) if got > 0 => Received::Data(got as usize),
            Err(error) if later(&error) => Received::Later,
            _ => Received::Ended("closed its terminal".into()),
        }
    }

    /// Gives the bytes taken.
    pub fn send(&mut self, text: &[u8]) -> io::Result<usize> {
        // SAFETY: `text` is as long as said.
        let written = unsafe { libc::write(self.master.as_raw_fd(), text.as_ptr().cast(), text.len()) };
        match check(written as libc::c_int) {
            Err(error) if later(&error) => Ok(0),
            other => other.map(|written| written as usize),
        }
    }
}

/// Where in PATH a program is, or the program itself if it names a path.
pub fn find_program(name: &str, path: &str) -> Option<PathBuf> {
    let usable = |candidate: &Path| {
        let name = CString::new(candidate.as_os_str().as_bytes()).ok()?;
        // SAFETY: `name` is a valid C string.
        let executable = unsafe { libc::access(name.as_ptr(), libc::X_OK) } == 0;
        (executable && candidate.is_file()).then(|| candidate.to_path_buf())
    };
    if name.contains('/') {
        return usable(Path::new(name));
    }
    path.split(':')
        .filter(|part| !part.is_empty())
        .find_map(|part| usable(&Path::new(part).join(name)))
}

/// Raises this process's limit of open files as far as it may go; gives the limit as it was.
pub fn raise_file_limit() -> libc::rlimit {
    // SAFETY: plain structures, filled by the kernel.
    unsafe {
        let mut before: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut before);
        let raised = libc::rlimit {
            rlim_cur: before.rlim_max,
            ..before
        };
        libc::setrlimit(libc::RLIMIT_NOFILE, &raised);
        before
    }
}

fn text(value: impl AsRef<[u8]>) -> io::Result<CString> {
    CString::new(value.as_ref()).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "NUL in a text"))
}

impl Launcher {
    /// `program` is the shell's path, `shell` its words (the first one becomes argument 0).
    pub fn new(
        program: &Path,
        shell: &[String],
        cgroup_procs: &[PathBuf],
        affinity: Option<&[usize]>,
        file_limit: libc::rlimit,
    ) -> io::Result<Self> {
        Ok(Self {
            program: text(program.as_os_str().as_bytes())?,
            arguments: shell.iter().map(text).collect::<io::Result<_>>()?,
            cgroup_procs: cgroup_procs
                .iter()
                .map(|path| text(path.as_os_str().as_bytes()))
                .collect::<io::Result<_>>()?,
            affinity: affinity
                .map(satline_program::scheduling::processor_set)
                .transpose()?,
            file_limit,
        })
    }

    /// Starts a shell. A failure after the fork is written to its terminal, and the shell ends with status 125.
    pub fn start(&self, directory: &Path, environment: &[(String, String)]) -> io::Result<Started> {
        let directory = text(directory.as_os_str().as_bytes())?;
        let variables = environment
            .iter()
            .map(|(key, value)| text(format!("{key}={value}")))
            .collect::<io::Result<Vec<_>>>()?;
        let pointers = |list: &[CString]| {
            list.iter()
                .map(|text| text.as_ptr())
                .chain([std::ptr::null()])
                .collect::<Vec<_>>()
        };
        let (arguments, variables_p) = (pointers(&self.arguments), pointers(&variables));
        let (master, slave) = open_pty()?;
        let parent = std::process::id() as libc::pid_t;
        // SAFETY: the child calls only async-signal-safe functions and then execs or exits.
        let pid = check(unsafe { libc::fork() })?;
        if pid == 0 {
            // SAFETY: as above; every pointer was made before the fork.
            unsafe { self.become_shell(parent, slave.as_raw_fd(), &directory, &arguments, &variables_p) };
        }
        Ok(Started { master, pid })
    }

    /// In the child: never returns.
    unsafe fn become_shell(
        &self,
        parent: libc::pid_t,
        slave: RawFd,
        directory: &CStr,
        arguments: &[*const libc::c_char],
        environment: &[*const libc::c_char],
    ) -> ! {
        // SAFETY: see `start`.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGHUP);
            libc::prctl(libc::PR_SET_TIMERSLACK, TIMER_SLACK_NS);
            for signal in 1..=64 {
                libc::signal(signal, libc::SIG_DFL);
            }
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
            demand(slave, libc::setsid(), c"cannot begin a session");
            demand(
                slave,
                libc::ioctl(slave, libc::TIOCSCTTY, 0),
                c"cannot take the terminal",
            );
            for path in &self.cgroup_procs {
                let fd = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
                demand(slave, fd, path);
                demand(
                    slave,
                    libc::write(fd, c"0".as_ptr().cast(), 1) as libc::c_int,
                    path,
                );
                libc::close(fd);
            }
            if let Some(set) = &self.affinity {
                let result = libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set);
                demand(slave, result, c"cannot set the processors");
            }
            libc::setrlimit(libc::RLIMIT_NOFILE, &self.file_limit);
            demand(slave, libc::chdir(directory.as_ptr()), directory);
            for fd in 0..3 {
                demand(slave, libc::dup2(slave, fd), c"cannot open the terminal");
            }
            // The parent may have died before the death signal was asked for.
            if libc::getppid() != parent {
                libc::_exit(125);
            }
            libc::execve(self.program.as_ptr(), arguments.as_ptr(), environment.as_ptr());
            demand(slave, -1, &self.program);
            libc::_exit(125)
        }
    }
}

/// In the child: on failure writes what failed and the error's number to the terminal and ends.
unsafe fn demand(terminal: RawFd, result: libc::c_int, what: &CStr) {
    if result >= 0 {
        return;
    }
    let mut number = [0u8; 12];
    let mut error = io::Error::last_os_error().raw_os_error().unwrap_or(0);
    let mut at = number.len();
    loop {
        at -= 1;
        number[at] = b'0' + (error % 10) as u8;
        error /= 10;
        if error == 0 {
            break;
        }
    }
    // SAFETY: only write and _exit, on valid buffers.
    unsafe {
        for part in [
            &b"satline-terminal: "[..],
            what.to_bytes(),
            b": error ",
            &number[at..],
            b"\n",
        ] {
            libc::write(terminal, part.as_ptr().cast(), part.len());
        }
        libc::_exit(125)
    }
}

/// A new pseudo-terminal: its master, non-blocking, and its slave; both close on exec.
pub fn open_pty() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: each descriptor is checked and owned once; `size` is a valid winsize.
    unsafe {
        let master = OwnedFd::from_raw_fd(check(libc::posix_openpt(flags | libc::O_NONBLOCK))?);
        check(libc::grantpt(master.as_raw_fd()))?;
        check(libc::unlockpt(master.as_raw_fd()))?;
        let slave = OwnedFd::from_raw_fd(check(libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, flags))?);
        let size = libc::winsize {
            ws_row: ROWS,
            ws_col: COLUMNS,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        check(libc::ioctl(master.as_raw_fd(), libc::TIOCSWINSZ, &size))?;
        Ok((master, slave))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_the_path_given() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("tool");
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        let path = format!("/nowhere::{}", directory.path().display());
        assert_eq!(find_program("tool", &path), None, "not executable");
        std::os::unix::fs::symlink("/bin/sh", directory.path().join("linked")).unwrap();
        assert_eq!(
            find_program("linked", &path),
            Some(directory.path().join("linked"))
        );
        assert_eq!(find_program("missing", &path), None);
        assert_eq!(find_program("/bin/sh", ""), Some(PathBuf::from("/bin/sh")));
        assert_eq!(
            find_program(directory.path().to_str().unwrap(), ""),
            None,
            "a directory"
        );
    }
}
