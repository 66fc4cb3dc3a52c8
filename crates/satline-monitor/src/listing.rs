//! Which processes there are, without listing all of `/proc` each time.
//!
//! A listing costs as much as reading a sixth of the files. The kernel gives process numbers out in turn and tells the last
//! one (`/proc/loadavg`), so that new processes are among the few numbers given since; that a known one
//! has gone shows when it is read. Numbers are looked at twice, since one is given a moment before
//! its process can be seen. A full listing is made when the numbers have begun again from below, when many are new, and now and then.

use std::io;
use std::path::{Path, PathBuf};

use satline_program::parse;

use crate::files::{self, KeptDirectory, RelativePath};

/// A full listing is made at least once in so many scans: numbers can be set by hand (checkpoint and restore).
const FULL_EVERY: u32 = 16;

/// The numbers of all processes, ascending.
#[derive(Debug)]
pub struct Listing {
    directory: KeptDirectory,
    /// `/proc/loadavg`, where its last number is of the same namespace as the listing.
    loadavg: Option<PathBuf>,
    /// The last numbers given at the scan before the last, and at the last.
    given: Option<(i32, i32)>,
    scans_since_full: u32,
}

impl Listing {
    /// Opens `/proc`, or what stands for it.
    pub fn open(proc: &Path) -> io::Result<Self> {
        let own = std::fs::read_link(proc.join("self")).ok();
        let is_our_namespace = own.is_some_and(|p| p.as_os_str() == std::process::id().to_string().as_str());
        Ok(Self {
            directory: KeptDirectory::open(proc)?,
            loadavg: is_our_namespace.then(|| proc.join("loadavg")),
            given: None,
            scans_since_full: 0,
        })
    }

    /// The directory that is listed.
    pub fn directory(&self) -> &KeptDirectory {
        &self.directory
    }

    /// Brings `numbers` up to date. It holds those that the last scan could read; one that has gone may stay in it.
    pub fn update(&mut self, numbers: &mut Vec<i32>) -> io::Result<()> {
        let last = self
            .loadavg
            .as_ref()
            .and_then(|path| last_number(&files::read(path)?));
        let before = self.given.take();
        self.given = last.map(|last| (before.map_or(last, |(_, newer)| newer), last));
        self.scans_since_full += 1;
        let new = before
            .zip(last)
            .and_then(|((older, _), last)| new_numbers(older, last, numbers.len()));
        match new {
            Some(range) if self.scans_since_full < FULL_EVERY => {
                let known = numbers.len();
                for pid in range {
                    if numbers[..known].binary_search(&pid).is_err() && self.is_process(pid) {
                        numbers.push(pid);
                    }
                }
                numbers.sort_unstable();
                Ok(())
            }
            _ => {
                self.scans_since_full = 0;
                self.directory.numbers(numbers)
            }
        }
    }

    /// Threads that are not the first of their process have numbers, and directories, too.
    fn is_process(&self, pid: i32) -> bool {
        let mut buffer = [0u8; 1024];
        let path = RelativePath::of_process(pid, "status");
        let status = files::read_below(self.directory.descriptor(), &path, &mut buffer);
        status.is_ok_and(|text| parse::value_of(text, "Tgid") == Some(i64::from(pid)))
    }
}

fn last_number(loadavg: &[u8]) -> Option<i32> {
    i32::try_from(parse::unsigned(parse::fields(loadavg).nth(4)?)?).ok()
}

/// The numbers to look at, if that is cheaper than a listing.
fn new_numbers(older: i32, last: i32, known: usize) -> Option<std::ops::RangeInclusive<i32>> {
    let count = usize::try_from(last.checked_sub(older)?).ok()?;
    (count <= known / 8).then(|| older + 1..=last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn the_numbers_looked_at() {
        assert_eq!(new_numbers(100, 103, 80), Some(101..=103));
        assert_eq!(new_numbers(100, 100, 0).map(Iterator::count), Some(0));
        assert_eq!(new_numbers(100, 111, 80), None, "many are new");
        assert_eq!(new_numbers(32_000, 310, 80), None, "they have begun again");
        assert_eq!(last_number(b"0.00 0.01 0.05 1/84 4242\n"), Some(4242));
        assert_eq!(last_number(b"0.00 0.01\n"), None);
    }

    #[test]
    fn a_new_process_is_found_and_its_threads_are_not_taken_for_processes() {
        let mut listing = Listing::open(Path::new("/proc")).unwrap();
        let mut numbers = Vec::new();
        listing.update(&mut numbers).unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(numbers.contains(&own));
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || receiver.recv());
        let mut child = Command::new("sleep")
            .arg("1000")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        // Within twice the period in which a full listing is made for certain.
        for _ in 0..2 * FULL_EVERY {
            listing.update(&mut numbers).unwrap();
            assert!(numbers.contains(&pid) && numbers.is_sorted());
        }
        let threads: Vec<i32> = std::fs::read_dir("/proc/self/task")
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_string_lossy().parse().ok())
            .filter(|&tid| tid != own)
            .collect();
        assert!(!threads.is_empty() && threads.iter().all(|tid| !numbers.contains(tid)));
        child.kill().unwrap();
        child.wait().unwrap();
        sender.send(()).unwrap();
        thread.join().unwrap().unwrap();
    }
}
