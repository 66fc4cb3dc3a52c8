//! Waiting for input with nanosecond timeouts: epoll, and signals as a descriptor.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// An epoll set; each descriptor carries a token.
#[derive(Debug)]
pub struct Poll {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
    has_pwait2: bool,
}

impl Poll {
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the result is checked and owned once.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        let empty = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: `fd` was just made and belongs to nobody else.
        Ok(Self {
            epoll: unsafe { OwnedFd::from_raw_fd(fd) },
            events: vec![empty; 512],
            has_pwait2: true,
        })
    }

    /// Reports `token` whenever `fd` can be read or is hung up (level-triggered, so that a flood on one
    /// descriptor cannot starve the others).
    pub fn add(&self, fd: RawFd, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, false)
    }

    /// From now on reports `token` also when `fd` can be written, or no longer.
    pub fn watch_writing(&self, fd: RawFd, token: u64, writing: bool) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, writing)
    }

    fn control(&self, what: libc::c_int, fd: RawFd, token: u64, writing: bool) -> io::Result<()> {
        let events = libc::EPOLLIN | if writing { libc::EPOLLOUT } else { 0 };
        let mut event = libc::epoll_event {
            events: events as u32,
            u64: token,
        };
        // SAFETY: `event` outlives the call.
        check(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), what, fd, &mut event) })?;
        Ok(())
    }

    /// Forgets a descriptor; one that is already gone is no error.
    pub fn remove(&self, fd: RawFd) {
        // SAFETY: DEL ignores the event pointer.
        unsafe {
            libc::epoll_ctl(
                self.epoll.as_raw_fd(),
                libc::EPOLL_CTL_DEL,
                fd,
                std::ptr::null_mut(),
            )
        };
    }

    /// Waits at most `timeout` and gives the tokens that are ready.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<impl Iterator<Item = u64> + '_> {
        let count = match self.wait_raw(timeout) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        Ok(self.events[..count].iter().map(|event| event.u64))
    }

    fn wait_raw(&mut self, timeout: Duration) -> io::Result<usize> {
        let time = libc::timespec {
            tv_sec: timeout.as_secs() as libc::time_t,
            tv_nsec: timeout.subsec_nanos() as libc::c_long,
        };
        let fd = self.epoll.as_raw_fd();
        let room = self.events.len() as libc::c_int;
        if self.has_pwait2 {
            // SAFETY: the buffer holds `room` events, `time` outlives the call, no signal mask is given.
            let got = unsafe {
                libc::syscall(
                    libc::SYS_epoll_pwait2,
                    fd,
                    self.events.as_mut_ptr(),
                    room,
                    &time,
                    std::ptr::null::<libc::sigset_t>(),
                    0usize,
                )
            };
            match check(got as libc::c_int) {
                Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => self.has_pwait2 = false,
                other => return other.map(|count| count as usize),
            }
        }
        // Before Linux 5.11: ppoll has nanosecond timeouts, and an epoll descriptor can itself be polled.
        let mut poll = libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one pollfd, a valid time, no mask.
        check(unsafe { libc::ppoll(&mut poll, 1, &time, std::ptr::null()) })?;
        // SAFETY: as above.
        check(unsafe { libc::epoll_wait(fd, self.events.as_mut_ptr(), room, 0) }).map(|count| count as usize)
    }
}

/// Signals that arrive by a descriptor instead of by a handler.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
}

impl Signals {
    /// Blocks the signals in this thread (and those it starts later) and opens the descriptor.
    pub fn new(signals: &[libc::c_int]) -> io::Result<Self> {
        // SAFETY: the set is initialised by sigemptyset before use; the descriptor is owned once.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for &signal in signals {
                libc::sigaddset(&mut set, signal);
            }
            check(libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()))?;
            let fd = check(libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
            Ok(Self {
                fd: OwnedFd::from_raw_fd(fd),
            })
        }
    }

    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// The next signal that has arrived.
    pub fn take(&self) -> Option<libc::c_int> {
        // SAFETY: the kernel fills a whole structure or nothing.
        unsafe {
            let mut info: libc::signalfd_siginfo = std::mem::zeroed();
            let size = std::mem::size_of_val(&info);
            let got = libc::read(self.fd(), (&raw mut info).cast(), size);
            (got == size as isize).then_some(info.ssi_signo as libc::c_int)
        }
    }
}

/// The error says: not now.
pub fn later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// A system call's result, or its error.
pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
