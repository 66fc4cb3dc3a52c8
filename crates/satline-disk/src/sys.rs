//! The calls that the standard library lacks.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

fn checked(status: libc::c_int) -> io::Result<()> {
    if status < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Wakes to the microsecond and before other programs, as a disk would; and never waits for a page of its own: one that
/// waits for itself would hang.
pub fn be_prompt() -> io::Result<()> {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: all calls concern this process alone; the one pointer is to a value that lives over its call.
    unsafe {
        checked(libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0))?;
        checked(libc::sched_setscheduler(0, libc::SCHED_RR, &raw const priority))?;
        checked(libc::mlockall(
            libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT,
        ))
    }
}

/// Mounts a file system of one file on `file`; its requests come from the file that is returned.
pub fn mount(file: &Path) -> io::Result<File> {
    let device = File::options().read(true).write(true).open("/dev/fuse")?;
    let target = CString::new(file.as_os_str().as_bytes())?;
    let options = format!("fd={},rootmode=100600,user_id=0,group_id=0", device.as_raw_fd());
    let options = CString::new(options)?;
    // SAFETY: all four are strings with an end, alive over the call.
    checked(unsafe {
        libc::mount(
            c"satline-disk".as_ptr(),
            target.as_ptr(),
            c"fuse".as_ptr(),
            libc::MS_NOSUID | libc::MS_NODEV,
            options.as_ptr().cast(),
        )
    })?;
    Ok(device)
}

/// Waits until `file` can be read, at most `timeout` (`None`: for ever); whether it can.
pub fn readable(file: &File, timeout: Option<Duration>) -> io::Result<bool> {
    let mut polled = libc::pollfd {
        fd: file.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let limit = timeout.map(|time| libc::timespec {
        tv_sec: time.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(time.subsec_nanos()),
    });
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: one pollfd, and a timespec that lives over the call or none.
    let status = unsafe { libc::ppoll(&mut polled, 1, limit, std::ptr::null()) };
    match checked(status) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error),
        Ok(()) => Ok(status > 0),
    }
}
