//! Page faults of one task, counted by the kernel's software events.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use super::check;

/// The first 64 bytes of `struct perf_event_attr` (`PERF_ATTR_SIZE_VER0`).
#[repr(C)]
struct EventAttributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint: u32,
    config1: u64,
}

/// Which page faults wake the swapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Faults {
    /// Every fault, as it begins: before the read of a page that is outside.
    All,
    /// Those that needed a read, when it is done.
    Major,
}

/// Counts the page faults of one task; its descriptor becomes readable at each.
#[derive(Debug)]
pub struct FaultCounter {
    event: File,
    /// The kernel's page on the ring, then one page of the ring. Without a ring there would be no waking.
    ring: *mut u8,
    page_bytes: usize,
}

// SAFETY: the ring belongs to this counter alone, and nothing in it is bound to a thread.
unsafe impl Send for FaultCounter {}

/// Offsets of `data_head` and `data_tail` in `struct perf_event_mmap_page`.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

impl FaultCounter {
    /// Begins to count the faults of task `tid`.
    ///
    /// # Errors
    /// The task is gone, `CAP_PERFMON` is missing, or there are too many descriptors or too much locked memory.
    pub fn open(tid: i32, faults: Faults, page_bytes: u64) -> io::Result<Self> {
        const SOFTWARE: u32 = 1;
        const PAGE_FAULTS: u64 = 2;
        const PAGE_FAULTS_MAJOR: u64 = 6;
        const SAMPLE_ADDRESS: u64 = 1 << 3;
        const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
        let attributes = EventAttributes {
            kind: SOFTWARE,
            size: size_of::<EventAttributes>() as u32,
            config: match faults {
                Faults::All => PAGE_FAULTS,
                Faults::Major => PAGE_FAULTS_MAJOR,
            },
            sample_period: 1,
            sample_type: SAMPLE_ADDRESS,
            read_format: 0,
            flags: 0,
            wakeup_events: 1,
            breakpoint: 0,
            config1: 0,
        };
        let page_bytes = page_bytes as usize;
        // SAFETY: the attributes are valid for the size they state; the descriptor returned is ours alone; the mapping is
        // made by the kernel at a place of its choice and given back when this counter is dropped.
        unsafe {
            let fd = check(libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                tid,
                -1,
                -1,
                CLOSE_ON_EXEC,
            ))?;
            let event = File::from_raw_fd(fd as RawFd);
            let ring = libc::mmap(
                std::ptr::null_mut(),
                2 * page_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            );
            if ring == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            Ok(FaultCounter {
                event,
                ring: ring.cast(),
                page_bytes,
            })
        }
    }

    /// For `poll`.
    pub fn raw_fd(&self) -> RawFd {
        self.event.as_raw_fd()
    }

    /// The addresses of the faults since the last call, as far as the ring had room.
    pub fn addresses(&self) -> Vec<u64> {
        // SAFETY: the ring is mapped as long as `self` lives; the kernel writes the head, this alone writes the tail; both
        // are aligned words.
        let (head, tail) = unsafe {
            (
                &*self.ring.add(HEAD).cast::<AtomicU64>(),
                &*self.ring.add(TAIL).cast::<AtomicU64>(),
            )
        };
        let end = head.load(Ordering::Acquire);
        let mut at = tail.load(Ordering::Relaxed);
        let mut found = Vec::new();
        while at < end {
            // Records are multiples of 8 bytes and so is the ring: no word is cut.
            let header = self.word(at);
            let (kind, size) = (header as u32, header >> 48);
            const SAMPLE: u32 = 9;
            if kind == SAMPLE && size == 16 {
                found.push(self.word(at + 8));
            }
            at += size.max(8);
        }
        tail.store(end, Ordering::Release);
        found
    }

    fn word(&self, at: u64) -> u64 {
        let place = self.page_bytes + (at as usize & (self.page_bytes - 1));
        // SAFETY: the place is within the second of the two mapped pages, and a multiple of 8.
        unsafe { self.ring.add(place & !7).cast::<u64>().read_volatile() }
    }
}

impl Drop for FaultCounter {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `open` made, and nothing refers to it any more.
        unsafe { libc::munmap(self.ring.cast(), 2 * self.page_bytes) };
    }
}
