//! Tasks of others stopped, and let go on, by way of ptrace: it has no effect that outlives the thread that did it.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::{Interest, Ready, check, poll};

/// What became of a task that was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracee {
    /// It runs, or waits for a device where it cannot be stopped yet.
    NotYet,
    /// It stands still. A signal that was on its way to it must be handed on when it is let go; 0: none was.
    Stopped { signal: i32 },
    /// It has ended.
    Gone,
}

fn request(request: libc::c_uint, tid: i32, data: libc::c_long) -> io::Result<()> {
    // SAFETY: the requests used here take no address of ours; `data` is a number.
    check(unsafe { libc::ptrace(request, tid, std::ptr::null_mut::<libc::c_void>(), data) }).map(drop)
}

/// Becomes the tracer of a task, which goes on running.
///
/// # Errors
/// Another traces it (a debugger), it is gone, or the kernel forbids it.
pub fn seize(tid: i32) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, tid, 0)
}

/// Asks a task to stop: neither it nor its parent sees a signal.
pub fn interrupt(tid: i32) {
    // It may have ended.
    let _ = request(libc::PTRACE_INTERRUPT, tid, 0);
}

/// How a task that this thread traces is now, without waiting; what has ended is told once.
pub fn look(tid: i32) -> Tracee {
    let mut status = 0;
    let flags = libc::__WALL | libc::__WNOTHREAD | libc::WNOHANG;
    // SAFETY: `status` is valid.
    match unsafe { libc::waitpid(tid, &mut status, flags) } {
        0 => Tracee::NotYet,
        found if found > 0 && libc::WIFSTOPPED(status) => Tracee::Stopped {
            signal: if status >> 16 == 0 {
                libc::WSTOPSIG(status)
            } else {
                0
            },
        },
        _ => Tracee::Gone,
    }
}

/// Lets a stopped task go on, with the signal that it was about to get.
pub fn detach(tid: i32, signal: i32) {
    // It may have been killed meanwhile.
    let _ = request(libc::PTRACE_DETACH, tid, libc::c_long::from(signal));
}

/// Whether the process of a descriptor has not ended. To ask by a signal would need a right for processes of other users.
pub fn is_there(pidfd: &OwnedFd) -> bool {
    poll(&[(pidfd.as_raw_fd(), Interest::Readable)], 0)[..] == [Ready::No]
}
