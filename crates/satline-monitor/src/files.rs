//! Reading small kernel files often: kept descriptors, one buffer, directories of numbers.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use satline_program::Error;

/// Where the kernel's files are found. Tests give directories that they made.
#[derive(Debug, Clone)]
pub struct Roots {
    pub proc: PathBuf,
    pub sys: PathBuf,
}

impl Roots {
    /// The processes cannot be listed.
    pub fn not_listed(&self, error: &io::Error) -> Error {
        let what = format_args!("{}: cannot list it", self.proc.display());
        Error::system(what, error, "the monitor needs a mounted /proc that it may read")
    }
}

/// Reads a whole file; `None` if it is not there or may not be read.
pub fn read(path: &Path) -> Option<Vec<u8>> {
    std::fs::read(path).ok()
}

/// Reads a number that stands alone in a file.
pub fn read_number(path: &Path) -> Option<i64> {
    satline_program::parse::signed(read(path)?.trim_ascii())
}

/// How many descriptors may still be kept open.
///
/// A kept descriptor saves the path look-up, about a third of the cost of a reading. The soft limit of the
/// process is raised to the hard limit; 256 are left for everything else.
#[derive(Debug)]
pub struct DescriptorBudget {
    left: usize,
}

impl DescriptorBudget {
    /// Raises the soft limit to the hard one and takes what it allows.
    pub fn from_limit() -> Self {
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: `limit` is a valid rlimit for both calls.
        unsafe {
            if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 {
                return Self { left: 0 };
            }
            let raised = libc::rlimit {
                rlim_cur: limit.rlim_max,
                rlim_max: limit.rlim_max,
            };
            if libc::setrlimit(libc::RLIMIT_NOFILE, &raised) == 0 {
                limit.rlim_cur = limit.rlim_max;
            }
        }
        let allowed = usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX).min(1 << 20);
        Self {
            left: allowed.saturating_sub(256),
        }
    }

    /// A budget of so many; tests use it to see what happens beyond.
    pub fn of(count: usize) -> Self {
        Self { left: count }
    }

    fn take(&mut self) -> bool {
        let allowed = self.left > 0;
        self.left -= usize::from(allowed);
        allowed
    }

    fn give_back(&mut self) {
        self.left += 1;
    }
}

/// A file below a directory that is read at every sample.
#[derive(Debug, Default)]
pub struct KeptFile {
    descriptor: Option<OwnedFd>,
}

impl KeptFile {
    /// Reads the file into `buffer` and returns what is in it; `None` if it has gone.
    ///
    /// A kept descriptor of `/proc/PID/…` belongs to that process, never to a later one with the same number:
    /// the kernel answers ESRCH, the file is opened anew, and the caller sees another start time.
    pub fn read<'b>(
        &mut self,
        directory: RawFd,
        path: &RelativePath,
        budget: &mut DescriptorBudget,
        buffer: &'b mut [u8],
    ) -> Option<&'b [u8]> {
        if let Some(kept) = &self.descriptor {
            if let Ok(length) = read_at_start(kept.as_raw_fd(), buffer) {
                return Some(&buffer[..length]);
            }
            self.close(budget);
        }
        let opened = open_below(directory, path).ok()?;
        let length = read_at_start(opened.as_raw_fd(), buffer).ok()?;
        if budget.take() {
            self.descriptor = Some(opened);
        }
        Some(&buffer[..length])
    }

    /// Gives the descriptor back.
    pub fn close(&mut self, budget: &mut DescriptorBudget) {
        if self.descriptor.take().is_some() {
            budget.give_back();
        }
    }
}

/// Reads a file below a directory once, without keeping it open.
pub fn read_below<'b>(directory: RawFd, path: &RelativePath, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
    let opened = open_below(directory, path)?;
    let length = read_at_start(opened.as_raw_fd(), buffer)?;
    Ok(&buffer[..length])
}

fn open_below(directory: RawFd, path: &RelativePath) -> io::Result<OwnedFd> {
    // SAFETY: the path ends in a zero byte; a descriptor that openat returned belongs to nobody else.
    unsafe {
        let descriptor = libc::openat(directory, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if descriptor < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(OwnedFd::from_raw_fd(descriptor))
        }
    }
}

fn read_at_start(descriptor: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is valid for its length.
    let length = unsafe { libc::pread(descriptor, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    match usize::try_from(length) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(length) => Ok(length),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// A short relative path such as `4242/task/4243/stat`, made on the stack.
pub struct RelativePath {
    bytes: [u8; 64],
    length: usize,
}

impl RelativePath {
    /// `PID/name`
    pub fn of_process(pid: i32, name: &str) -> Self {
        let mut path = Self {
            bytes: [0; 64],
            length: 0,
        };
        path.number(pid);
        path.text("/");
        path.text(name);
        path
    }

    /// `PID/task/TID/name`
    pub fn of_thread(pid: i32, tid: i32, name: &str) -> Self {
        let mut path = Self::of_process(pid, "task/");
        path.number(tid);
        path.text("/");
        path.text(name);
        path
    }

    fn text(&mut self, text: &str) {
        let end = self.length + text.len();
        // The last byte stays zero. Nothing the monitor asks for is near this long.
        assert!(end < self.bytes.len(), "path below /proc too long");
        self.bytes[self.length..end].copy_from_slice(text.as_bytes());
        self.length = end;
    }

    fn number(&mut self, number: i32) {
        let mut digits = [0u8; 12];
        let mut at = digits.len();
        let mut rest = number.unsigned_abs();
        loop {
            at -= 1;
            digits[at] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let end = self.length + digits.len() - at;
        self.bytes[self.length..end].copy_from_slice(&digits[at..]);
        self.length = end;
    }

    fn as_ptr(&self) -> *const libc::c_char {
        self.bytes.as_ptr().cast()
    }
}

/// A directory that is kept open and listed again and again.
#[derive(Debug)]
pub struct KeptDirectory {
    descriptor: OwnedFd,
    buffer: Vec<u8>,
}

impl KeptDirectory {
    /// Opens a directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        use std::os::unix::ffi::OsStrExt;
        let path = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: the path ends in a zero byte; the new descriptor belongs to nobody else.
        unsafe {
            let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
            let descriptor = libc::open(path.as_ptr(), flags);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self {
                descriptor: OwnedFd::from_raw_fd(descriptor),
                buffer: vec![0; 32 * 1024],
            })
        }
    }

    /// Opens a directory below another.
    pub fn open_below(directory: RawFd, path: &RelativePath) -> Option<Self> {
        // Small: it holds one process' threads for a moment.
        Some(Self {
            descriptor: open_below(directory, path).ok()?,
            buffer: vec![0; 4096],
        })
    }

    /// The descriptor, for paths below it.
    pub fn descriptor(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// Puts the entries that are positive numbers into `numbers`, ascending.
    pub fn numbers(&mut self, numbers: &mut Vec<i32>) -> io::Result<()> {
        numbers.clear();
        // SAFETY: the descriptor is open.
        if unsafe { libc::lseek(self.descriptor.as_raw_fd(), 0, libc::SEEK_SET) } < 0 {
            return Err(io::Error::last_os_error());
        }
        loop {
            // SAFETY: the buffer is valid for its length; std has no getdents.
            let length = unsafe {
                libc::syscall(
                    libc::SYS_getdents64,
                    self.descriptor.as_raw_fd(),
                    self.buffer.as_mut_ptr(),
                    self.buffer.len(),
                )
            };
            match usize::try_from(length) {
                Err(_) => return Err(io::Error::last_os_error()),
                Ok(0) => break,
                Ok(length) => numbers_in_entries(&self.buffer[..length], numbers),
            }
        }
        // The kernel lists /proc in order; a directory that a test made is not.
        if !numbers.is_sorted() {
            numbers.sort_unstable();
        }
        Ok(())
    }
}

/// Reads `struct linux_dirent64` entries: 8 bytes inode, 8 offset, 2 length, 1 type, name ending in zero.
fn numbers_in_entries(mut entries: &[u8], numbers: &mut Vec<i32>) {
    while entries.len() > 19 {
        let length = usize::from(u16::from_ne_bytes([entries[16], entries[17]]));
        if length < 20 || length > entries.len() {
            return;
        }
        let name = entries[19..length].split(|&b| b == 0).next().unwrap_or_default();
        let number = satline_program::parse::unsigned(name).and_then(|n| i32::try_from(n).ok());
        numbers.extend(number.filter(|&n| n > 0));
        entries = &entries[length..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_directory_lists_its_numbers_in_order_each_time() {
        let root = tempfile::tempdir().unwrap();
        for name in ["20", "3", "self", "1000", "4x", "0"] {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        let mut directory = KeptDirectory::open(root.path()).unwrap();
        let mut numbers = vec![7];
        for _ in 0..2 {
            directory.numbers(&mut numbers).unwrap();
            assert_eq!(numbers, [3, 20, 1000]);
        }
    }

    #[test]
    fn files_are_read_within_and_beyond_the_budget() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("7")).unwrap();
        std::fs::write(root.path().join("7/stat"), "one").unwrap();
        let directory = KeptDirectory::open(root.path()).unwrap();
        let path = RelativePath::of_process(7, "stat");
        let mut buffer = [0u8; 64];
        for allowed in [0, 1] {
            let mut budget = DescriptorBudget::of(allowed);
            let mut file = KeptFile::default();
            for _ in 0..2 {
                let text = file.read(directory.descriptor(), &path, &mut budget, &mut buffer);
                assert_eq!(text, Some(&b"one"[..]));
                assert_eq!(budget.left, 0);
            }
            file.close(&mut budget);
            assert_eq!(budget.left, allowed);
        }
        let gone = RelativePath::of_process(8, "stat");
        let error = read_below(directory.descriptor(), &gone, &mut buffer).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn paths_are_written_out() {
        let path = RelativePath::of_thread(i32::MAX, 1, "schedstat");
        assert_eq!(&path.bytes[..path.length], b"2147483647/task/1/schedstat");
    }

    proptest! {
        #[test]
        fn no_entries_make_it_panic(entries in proptest::collection::vec(any::<u8>(), 0..200)) {
            numbers_in_entries(&entries, &mut Vec::new());
        }
    }
}
