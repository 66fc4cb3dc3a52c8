//! File I/Os: reads of a file of our own that miss the page cache.
//!
//! The file has no name while it is used, so nothing is left behind however the probe ends, SIGKILL included.

use crate::order::{SplitMix64, shuffled};
use crate::storage::{Pages, page_bytes};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use satline_program::{Error, Result};

const TMPFS_MAGIC: u64 = 0x0102_1994;
const RAMFS_MAGIC: u64 = 0x8584_58f6;

/// How reads are kept from being answered by the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// O_DIRECT.
    Direct,
    /// The pages are dropped before each read.
    Dropped,
    /// The directory is in main storage: the reads reach no device.
    Memory,
}

impl Cache {
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Dropped => "dropped",
            Self::Memory => "memory",
        }
    }
}

/// A nameless file of `ios` slots, written and out of the cache, ready to be read slot by slot.
pub struct Reads {
    file: File,
    buffer: Pages,
    io_bytes: usize,
    slot_bytes: u64,
    order: Vec<usize>,
    pub cache: Cache,
}

impl Reads {
    /// Makes the file in `directory`. One slot more than `ios` is written: it tries whether direct reads work.
    pub fn prepare(directory: &Path, ios: usize, io_bytes: usize, seed: u64) -> Result<Self> {
        let file = nameless(directory)?;
        // Slots start on pages, so that dropping one from the cache drops all of it.
        let slot_bytes = io_bytes.next_multiple_of(page_bytes());
        let mut buffer = Pages::map(slot_bytes)?;
        let mut random = SplitMix64(seed);
        let place = format!("cannot write the probe's file in {}", directory.display());
        let hint = "free space there, or name another place with --directory";
        for slot in 0..=ios {
            // Contents that can be neither compressed nor shared, so that a read is a read.
            for word in buffer.as_slice_mut().chunks_exact_mut(8) {
                word.copy_from_slice(&random.next().to_ne_bytes());
            }
            file.write_all_at(buffer.as_slice_mut(), slot as u64 * slot_bytes as u64)
                .map_err(|e| Error::system(&place, &e, hint))?;
        }
        file.sync_data().map_err(|e| Error::system(&place, &e, hint))?;
        advise(&file, 0, 0, libc::POSIX_FADV_DONTNEED);
        advise(&file, 0, 0, libc::POSIX_FADV_RANDOM);
        let order = shuffled(ios, seed);
        let mut reads = Self {
            file,
            buffer,
            io_bytes,
            slot_bytes: slot_bytes as u64,
            order,
            cache: Cache::Dropped,
        };
        if in_memory(&reads.file) {
            reads.cache = Cache::Memory;
        } else if set_direct(&reads.file, true) {
            reads.cache = Cache::Direct;
            // A file system that takes the flag may still refuse the size.
            if reads.read(ios).is_err() {
                set_direct(&reads.file, false);
                reads.cache = Cache::Dropped;
            }
        }
        Ok(reads)
    }

    /// Reads every slot once, in random order.
    pub fn run(&mut self) -> Result<()> {
        for index in 0..self.order.len() {
            self.read(self.order[index]).map_err(|e| {
                Error::system(
                    "cannot read the probe's file",
                    &e,
                    "look for errors of the device in the kernel's log",
                )
            })?;
        }
        Ok(())
    }

    fn read(&mut self, slot: usize) -> io::Result<()> {
        let place = slot as u64 * self.slot_bytes;
        if self.cache == Cache::Dropped {
            advise(&self.file, place, self.slot_bytes, libc::POSIX_FADV_DONTNEED);
        }
        self.file
            .read_exact_at(&mut self.buffer.as_slice_mut()[..self.io_bytes], place)
    }
}

/// Opens a new file in `directory` that has no name.
fn nameless(directory: &Path) -> Result<File> {
    let describe = |e: &io::Error| {
        Error::input(
            format!("cannot make the probe's file in {}: {e}", directory.display()),
            "name a directory that exists and may be written with --directory",
        )
    };
    tempfile::tempfile_in(directory).map_err(|e| describe(&e))
}

/// Turns O_DIRECT on or off; false if the file system does not have it.
fn set_direct(file: &File, on: bool) -> bool {
    let descriptor = file.as_raw_fd();
    // SAFETY: fcntl on a descriptor of our own.
    unsafe {
        let flags = libc::fcntl(descriptor, libc::F_GETFL);
        let wanted = if on {
            flags | libc::O_DIRECT
        } else {
            flags & !libc::O_DIRECT
        };
        flags >= 0 && libc::fcntl(descriptor, libc::F_SETFL, wanted) == 0
    }
}

fn advise(file: &File, place: u64, bytes: u64, advice: libc::c_int) {
    // Advice may be ignored by the file system; there is nothing to do then.
    // SAFETY: fadvise on a descriptor of our own.
    unsafe {
        libc::posix_fadvise(
            file.as_raw_fd(),
            place as libc::off_t,
            bytes as libc::off_t,
            advice,
        )
    };
}

fn in_memory(file: &File) -> bool {
    // SAFETY: `answer` is a valid place for the answer.
    let kind = unsafe {
        let mut answer = std::mem::zeroed::<libc::statfs>();
        if libc::fstatfs(file.as_raw_fd(), &mut answer) != 0 {
            return false;
        }
        answer.f_type as u64
    };
    kind == TMPFS_MAGIC || kind == RAMFS_MAGIC
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(directory: &Path) -> usize {
        std::fs::read_dir(directory).unwrap().count()
    }

    #[test]
    fn reads_leave_no_name_behind_and_reach_every_slot() {
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let mut reads = Reads::prepare(directory.path(), 8, 4096, 3).unwrap();
        assert_eq!(entries(directory.path()), 0);
        reads.run().unwrap();
        assert_eq!(reads.file.metadata().unwrap().len(), 9 * reads.slot_bytes);
        let last = *reads.order.last().unwrap();
        let mut expected = vec![0; 4096];
        let place = last as u64 * reads.slot_bytes;
        set_direct(&reads.file, false);
        reads.file.read_exact_at(&mut expected, place).unwrap();
        assert_eq!(&reads.buffer.as_slice_mut()[..4096], expected);
        assert!(expected.iter().any(|byte| *byte != 0));
    }

    #[test]
    fn a_size_that_cannot_be_direct_is_read_all_the_same() {
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let mut reads = Reads::prepare(directory.path(), 3, 1000, 3).unwrap();
        assert_ne!(reads.cache, Cache::Direct);
        reads.run().unwrap();
    }

    #[test]
    fn a_file_in_main_storage_is_known_as_such() {
        if !Path::new("/dev/shm").is_dir() {
            eprintln!("skipped: no /dev/shm here");
            return;
        }
        let directory = tempfile::tempdir_in("/dev/shm").unwrap();
        let file = nameless(directory.path()).unwrap();
        if !in_memory(&file) {
            eprintln!("skipped: /dev/shm is not tmpfs here");
            return;
        }
        assert_eq!(
            Reads::prepare(directory.path(), 1, 4096, 3).unwrap().cache,
            Cache::Memory
        );
    }

    #[test]
    fn a_missing_directory_is_wrong_input() {
        let error = nameless(Path::new("/nonexistent/place")).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.with_hint().contains("/nonexistent/place"), "{error}");
        assert!(error.with_hint().contains("hint:"));
    }
}
