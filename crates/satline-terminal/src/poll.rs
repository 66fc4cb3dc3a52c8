//! Waiting for input and for a time: epoll, a timer and signals as descriptors.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use satline_program::clock::{SECOND_NS, monotonic_ns};

/// The timer's own token.
const TIMER: u64 = 1 << 63;
/// Most by which a time is taken to be due early, ns.
const LEAD_LIMIT_NS: i64 = 100_000;
/// By how much one wake-up moves the lead, ns.
const LEAD_STEP_NS: i64 = 500;

/// How a descriptor is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// It can be read: told as long as that is so, so that a flood on one descriptor cannot starve the others.
    Input,
    /// It can be read or written: likewise.
    InputAndOutput,
    /// Something has come: told once. For terminals, which the kernel asks again after each read otherwise, and that
    /// waits for what brings the next input.
    Arrivals,
    /// Only its end.
    Nothing,
}

/// One descriptor that is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    pub token: u64,
    /// The other end is closed: there is nothing after what can be read now.
    pub hung_up: bool,
}

/// An epoll set; each descriptor carries a token.
#[derive(Debug)]
pub struct Poll {
    epoll: OwnedFd,
    /// A timer of its own: unlike a timeout of epoll it is not set anew at every wake-up.
    timer: OwnedFd,
    /// When it goes off; None: it is not set.
    armed_ns: Option<i64>,
    lead: Lead,
    events: Vec<libc::epoll_event>,
}

/// How long a wake-up by the timer takes at least, so that it can be set that much earlier.
#[derive(Debug, Default)]
struct Lead {
    ns: i64,
}

impl Lead {
    /// A wake-up came so long after the timer: towards the tenth percentile of these times, so that few come too early.
    fn learn(&mut self, took_ns: i64) {
        let step = if took_ns < self.ns {
            -9 * LEAD_STEP_NS
        } else {
            LEAD_STEP_NS
        };
        self.ns = (self.ns + step).clamp(0, LEAD_LIMIT_NS);
    }
}

impl Poll {
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers; each result is checked and owned once.
        let (epoll, timer) = unsafe {
            let epoll = OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?);
            let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
            let timer = check(libc::timerfd_create(libc::CLOCK_MONOTONIC, flags))?;
            (epoll, OwnedFd::from_raw_fd(timer))
        };
        let poll = Self {
            epoll,
            timer,
            armed_ns: None,
            lead: Lead::default(),
            events: vec![libc::epoll_event { events: 0, u64: 0 }; 512],
        };
        poll.add(poll.timer.as_raw_fd(), TIMER, Watch::Arrivals)?;
        Ok(poll)
    }

    pub fn add(&self, fd: RawFd, token: u64, watch: Watch) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, watch)
    }

    /// From now on watches a descriptor in another way; what has come already is told.
    pub fn change(&self, fd: RawFd, token: u64, watch: Watch) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, watch)
    }

    fn control(&self, what: libc::c_int, fd: RawFd, token: u64, watch: Watch) -> io::Result<()> {
        let events = match watch {
            Watch::Input => libc::EPOLLIN,
            Watch::InputAndOutput => libc::EPOLLIN | libc::EPOLLOUT,
            Watch::Arrivals => libc::EPOLLIN | libc::EPOLLET,
            Watch::Nothing => libc::EPOLLET,
        };
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

    /// Waits until something is ready or this monotonic time is near: so near that waiting for it anew would be late.
    /// Gives how many are `ready`.
    pub fn wait(&mut self, due_ns: i64) -> io::Result<usize> {
        let wake_ns = due_ns - self.lead.ns;
        let wait = wake_ns > monotonic_ns();
        if wait && self.armed_ns != Some(wake_ns) {
            self.arm(wake_ns)?;
        }
        let room = self.events.len() as libc::c_int;
        let timeout = if wait { -1 } else { 0 };
        // SAFETY: the buffer holds `room` events.
        let got =
            unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), self.events.as_mut_ptr(), room, timeout) };
        let count = match check(got) {
            Ok(count) => count as usize,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        let timer = (0..count).find(|&index| self.events[index].u64 == TIMER);
        let Some(index) = timer else { return Ok(count) };
        if let Some(armed) = self.armed_ns.take() {
            if wait {
                self.lead.learn(monotonic_ns() - armed);
            }
        }
        self.events.swap(index, count - 1);
        Ok(count - 1)
    }

    /// What the last `wait` found.
    pub fn ready(&self, index: usize) -> Ready {
        let event = self.events[index];
        Ready {
            token: event.u64,
            hung_up: event.events & (libc::EPOLLHUP | libc::EPOLLERR) as u32 != 0,
        }
    }

    fn arm(&mut self, at_ns: i64) -> io::Result<()> {
        let mut time: libc::itimerspec = libc::itimerspec {
            it_interval: libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
        };
        time.it_value.tv_sec = at_ns / SECOND_NS;
        time.it_value.tv_nsec = at_ns % SECOND_NS;
        let fd = self.timer.as_raw_fd();
        // SAFETY: `time` is valid; the old value is not asked for.
        check(unsafe { libc::timerfd_settime(fd, libc::TFD_TIMER_ABSTIME, &time, std::ptr::null_mut()) })?;
        self.armed_ns = Some(at_ns);
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::pty::open_pty;
    use std::io::{Read, Write};

    const LONG_NS: i64 = 10 * SECOND_NS;

    fn tokens(poll: &mut Poll, due_ns: i64) -> Vec<Ready> {
        let count = poll.wait(due_ns).unwrap();
        (0..count).map(|index| poll.ready(index)).collect()
    }

    #[test]
    fn a_time_is_waited_for_and_the_timer_is_nobody() {
        let mut poll = Poll::new().unwrap();
        for _ in 0..3 {
            let due = monotonic_ns() + 5_000_000;
            while monotonic_ns() < due {
                assert_eq!(tokens(&mut poll, due), []);
            }
        }
        assert_eq!(tokens(&mut poll, 0), []);
    }

    #[test]
    fn arrivals_are_told_once_and_what_came_unwatched_when_it_is_watched_again() {
        let (master, slave) = open_pty().unwrap();
        let (fd, mut slave) = (master.as_raw_fd(), std::fs::File::from(slave));
        let mut poll = Poll::new().unwrap();
        poll.add(fd, 7, Watch::Arrivals).unwrap();
        let here = Ready {
            token: 7,
            hung_up: false,
        };
        let soon = || monotonic_ns() + 20_000_000;
        slave.write_all(b"one").unwrap();
        assert_eq!(tokens(&mut poll, monotonic_ns() + LONG_NS), [here]);
        assert_eq!(tokens(&mut poll, soon()), []);
        poll.change(fd, 7, Watch::Nothing).unwrap();
        slave.write_all(b"two").unwrap();
        assert_eq!(tokens(&mut poll, soon()), []);
        poll.change(fd, 7, Watch::Arrivals).unwrap();
        assert_eq!(tokens(&mut poll, monotonic_ns() + LONG_NS), [here]);
        let mut text = [0; 16];
        let got = std::fs::File::from(master.try_clone().unwrap())
            .read(&mut text)
            .unwrap();
        assert_eq!(&text[..got], b"onetwo");
        // Its end comes through in any case.
        poll.change(fd, 7, Watch::Nothing).unwrap();
        drop(slave);
        let ended = Ready {
            token: 7,
            hung_up: true,
        };
        assert_eq!(tokens(&mut poll, monotonic_ns() + LONG_NS), [ended]);
    }

    #[test]
    fn the_lead_is_what_nine_of_ten_wake_ups_take() {
        let mut lead = Lead::default();
        let mut early = 0;
        for index in 0..20_000 {
            let took = 30_000 + (index * 7919) % 40_000;
            early += i64::from(index >= 10_000 && took < lead.ns);
            lead.learn(took);
        }
        assert!((32_000..38_000).contains(&lead.ns), "{}", lead.ns);
        assert!((500..2000).contains(&early), "{early}");
        (0..2000).for_each(|_| lead.learn(1000));
        assert!(lead.ns < 6000);
        (0..2000).for_each(|_| lead.learn(SECOND_NS));
        assert_eq!(
            lead.ns, LEAD_LIMIT_NS,
            "a processor that is taken away for long is no reason to spin"
        );
    }
}
