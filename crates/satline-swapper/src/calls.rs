//! The system calls that the standard library lacks. Nothing outside this module is `unsafe`.

mod faults;
pub mod trace;

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::runs::{Run, Runs};
pub use faults::{FaultCounter, Faults};

/// Advice to the kernel on pages of another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Bring them in: into the swap cache, not into the page tables.
    WillNeed,
    /// Write them out now.
    PageOut,
}

/// The most ranges that one call takes (`UIO_MAXIOV`).
pub const MAX_RANGES: usize = 1024;

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Size of a page, bytes.
pub fn page_bytes() -> u64 {
    // SAFETY: it reads a constant of the system.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).unwrap_or(4096)
}

/// A descriptor that stays with this process even when its number is given to another.
///
/// # Errors
/// The process is gone, or the kernel is older than 5.3.
pub fn pidfd_open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two numbers; the descriptor it returns is ours alone.
    unsafe {
        let fd = check(libc::syscall(libc::SYS_pidfd_open, pid, 0))?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

/// Gives advice on up to [`MAX_RANGES`] runs of another process. Returns the pages it went over before it met one that it
/// could not advise.
///
/// # Errors
/// Not even the first could be advised.
pub fn process_madvise(pidfd: &OwnedFd, runs: &[Run], advice: Advice, page_bytes: u64) -> io::Result<u64> {
    let ranges: Vec<libc::iovec> = runs
        .iter()
        .take(MAX_RANGES)
        .map(|run| libc::iovec {
            iov_base: (run.start * page_bytes) as *mut libc::c_void,
            iov_len: (run.pages() * page_bytes) as usize,
        })
        .collect();
    let advice = match advice {
        Advice::WillNeed => libc::MADV_WILLNEED,
        Advice::PageOut => libc::MADV_PAGEOUT,
    };
    // SAFETY: the ranges lie in the other process, whose memory keeps its contents under both kinds of advice; the vector
    // outlives the call.
    let done = unsafe {
        check(libc::syscall(
            libc::SYS_process_madvise,
            pidfd.as_raw_fd(),
            ranges.as_ptr(),
            ranges.len(),
            advice,
            0,
        ))?
    };
    Ok(done as u64 / page_bytes)
}

/// `struct pm_scan_arg` of linux/fs.h.
#[repr(C)]
#[derive(Default)]
struct ScanArgument {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// `struct page_region` of linux/fs.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

const IS_FILE: u64 = 1 << 2;
const IS_PRESENT: u64 = 1 << 3;
const IS_SWAPPED: u64 = 1 << 4;
const IS_ZERO_PAGE: u64 = 1 << 5;
/// `_IOWR('f', 16, struct pm_scan_arg)`.
const PAGEMAP_SCAN: libc::c_ulong =
    (3 << 30) | ((size_of::<ScanArgument>() as libc::c_ulong) << 16) | (0x66 << 8) | 16;

/// The anonymous pages between two addresses of the process whose `pagemap` this is: (present, swapped). The page of zeros
/// that many processes share is in neither.
///
/// # Errors
/// `ENOTTY` or `EINVAL` before Linux 6.7; else the process is gone or not ours to look at.
pub fn pagemap_scan(pagemap: &File, start: u64, end: u64, page_bytes: u64) -> io::Result<(Runs, Runs)> {
    let mut regions = vec![Region::default(); 4096];
    let (mut present, mut swapped) = (Runs::default(), Runs::default());
    let mut from = start;
    while from < end {
        let mut argument = ScanArgument {
            size: size_of::<ScanArgument>() as u64,
            start: from,
            end,
            vec: regions.as_mut_ptr() as u64,
            vec_len: regions.len() as u64,
            category_inverted: IS_FILE | IS_ZERO_PAGE,
            category_mask: IS_FILE | IS_ZERO_PAGE,
            category_anyof_mask: IS_PRESENT | IS_SWAPPED,
            return_mask: IS_PRESENT | IS_SWAPPED,
            ..ScanArgument::default()
        };
        // SAFETY: the argument is as the kernel expects it (it checks the size) and `regions` has room for `vec_len` regions.
        let found = unsafe {
            check(libc::c_long::from(libc::ioctl(
                pagemap.as_raw_fd(),
                PAGEMAP_SCAN as _,
                &raw mut argument,
            )))?
        };
        for region in regions.iter().take(found as usize) {
            let run = Run {
                start: region.start.max(from) / page_bytes,
                end: region.end / page_bytes,
            };
            if region.categories & IS_PRESENT != 0 {
                present.push(run);
            } else {
                swapped.push(run);
            }
            from = from.max(region.end);
        }
        // `walk_end` may be that of an earlier part of the walk: it goes on behind the last region.
        if found < regions.len() as libc::c_long {
            break;
        }
    }
    Ok((present, swapped))
}

/// What a descriptor is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    Readable,
    /// A pressure trigger.
    Urgent,
}

/// What became of a descriptor while it was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    No,
    Yes,
    /// What it stood for has ended: it would be ready for ever.
    Gone,
}

/// Waits until one of the descriptors is ready or the time is over; returns which are. A signal ends the wait too.
pub fn poll(descriptors: &[(RawFd, Interest)], timeout_ms: i32) -> Vec<Ready> {
    let mut all: Vec<libc::pollfd> = descriptors
        .iter()
        .map(|&(fd, interest)| libc::pollfd {
            fd,
            events: match interest {
                Interest::Readable => libc::POLLIN,
                Interest::Urgent => libc::POLLPRI,
            },
            revents: 0,
        })
        .collect();
    // SAFETY: the vector is valid and has as many elements as stated.
    let ready = unsafe { libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, timeout_ms) };
    let gone = libc::POLLHUP | libc::POLLERR | libc::POLLNVAL;
    all.iter()
        .map(|one| match (ready > 0, one.revents) {
            (true, revents) if revents & gone != 0 => Ready::Gone,
            (true, revents) if revents != 0 => Ready::Yes,
            _ => Ready::No,
        })
        .collect()
}

/// Lets this process open as many files as it may.
pub fn raise_file_limit() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is valid for both calls.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// Keeps this process in storage: it must not wait for the pages that it is to bring in.
///
/// # Errors
/// More locked memory than allowed.
pub fn lock_own_memory() -> io::Result<()> {
    // SAFETY: it touches no memory of ours but to keep it.
    check(libc::c_long::from(unsafe {
        libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT)
    }))
    .map(drop)
}
