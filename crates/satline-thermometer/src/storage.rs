//! Main storage: pages of our own, mapped and touched.

use crate::order::shuffled;
use std::ptr;

use satline_program::{Error, Result};

/// Bytes of a page.
pub fn page_bytes() -> usize {
    // SAFETY: sysconf reads a constant of the host.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Size of main storage in pages.
pub fn storage_pages() -> u64 {
    // SAFETY: as above.
    unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) as u64 }
}

/// Anonymous pages, private to this process and page-aligned; given back when dropped.
pub struct Pages {
    start: *mut u8,
    bytes: usize,
}

impl Pages {
    /// Maps at least `bytes` bytes; none of them is in storage until touched.
    pub fn map(bytes: usize) -> Result<Self> {
        let hint = "ask for fewer --pages, or raise the limit on address space (ulimit -v)";
        let bytes = bytes.max(1).next_multiple_of(page_bytes());
        // SAFETY: a new anonymous mapping, at an address that the kernel chooses.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(Error::system(
                format_args!("cannot map {bytes} bytes of storage"),
                &std::io::Error::last_os_error(),
                hint,
            ));
        }
        // Small pages, so that every page is a fault of its own. A kernel without huge pages refuses; that is well.
        // SAFETY: the mapping was made above.
        unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
        Ok(Self {
            start: start.cast(),
            bytes,
        })
    }

    pub fn as_slice_mut(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is ours, readable and writable, and lives as long as self.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: unmaps what `map` mapped.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

/// The working set of the paging probe: touched twice, each time in another random order, with the probe's other
/// work between, so that a host short of storage steals pages meanwhile and has to bring them back.
pub struct WorkingSet {
    pages: Pages,
    orders: [Vec<usize>; 2],
}

impl WorkingSet {
    pub fn new(pages: usize, seed: u64) -> Result<Self> {
        Ok(Self {
            pages: Pages::map(pages * page_bytes())?,
            orders: [shuffled(pages, seed), shuffled(pages, seed + 1)],
        })
    }

    /// Touches every page once; returns how many held the mark of the pass before.
    pub fn touch(&mut self, pass: usize) -> usize {
        let size = page_bytes();
        let bytes = self.pages.as_slice_mut();
        let mut marked = 0;
        for &page in &self.orders[pass] {
            let byte = &mut bytes[page * size];
            marked += usize::from(*byte == pass as u8 && pass > 0);
            *byte = pass as u8 + 1;
        }
        marked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minor_faults() -> i64 {
        // SAFETY: a structure of integers, for which zeros are valid.
        let mut usage = unsafe { std::mem::zeroed::<libc::rusage>() };
        // SAFETY: `usage` is valid for the call.
        assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) }, 0);
        usage.ru_minflt
    }

    #[test]
    fn every_page_is_faulted_in_and_found_again() {
        let mut set = WorkingSet::new(512, 1).unwrap();
        let before = minor_faults();
        assert_eq!(set.touch(0), 0);
        assert!(
            minor_faults() - before >= 512,
            "a page was not touched, or came as a huge page"
        );
        assert_eq!(set.touch(1), 512);
    }

    #[test]
    fn a_mapping_is_page_aligned_and_zero() {
        let mut pages = Pages::map(10).unwrap();
        assert_eq!(pages.as_slice_mut().as_ptr() as usize % page_bytes(), 0);
        assert_eq!(pages.as_slice_mut().len(), page_bytes());
        assert!(pages.as_slice_mut().iter().all(|byte| *byte == 0));
    }
}
