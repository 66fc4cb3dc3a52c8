//! File locks and who waits for them: `/proc/locks`, sampled.
//!
//! The kernel does not add up how long locks are held and waited for. So each sample counts who waits and what is held, and
//! adds the time since the sample before for each: the sums are right on average, also for holds that are shorter than the
//! interval, as long as they do not keep step with the samples. A lock has rows once a task has been seen waiting for
//! it; the first is the base from which its times are counted.
//!
//! It is named by its file, if the one that holds it or one that waits has the file open under a name, else by device and inode: so
//! it keeps its name whoever holds it.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use satline_program::parse;
use satline_recording::row;

use crate::files;
use crate::missing::Missing;

/// A longer list is not read: the kernel holds all file locks still meanwhile. It is tried again after a minute.
const LIST_BYTES: u64 = 1 << 20;
const RETRY_NS: i64 = 60_000_000_000;
/// So many locks have rows. One that nobody has waited for in a minute gives way to another.
const LOCKS: usize = 64;
const QUIET_NS: i64 = 60_000_000_000;
/// So many descriptors of a process are looked at for a file's name, and so much of the name is kept.
const DESCRIPTORS: usize = 1024;
const NAME_BYTES: usize = 200;

/// What tells one lock from another: how it was taken, and the file as the list has it (`fe:00:5392288`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    kind: &'static str,
    file: String,
}

/// One file's locks of one kind in the list: who holds some, who waits.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listed {
    key: Key,
    holders: Vec<i32>,
    waiters: Vec<i32>,
}

row! {
    /// One row of table `lock`.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct LockReading {
        pub name: String as "lock",
        pub wait_us: i64,
        pub hold_us: i64,
    }
}

/// One sample of the list; `None` in both where it could not be read.
#[derive(Debug, Default)]
pub struct LockSample {
    /// Of all locks since the run began, µs.
    pub wait_us: Option<i64>,
    /// Processes that wait now, once for each lock.
    pub waiting: Option<Vec<i32>>,
    pub rows: Vec<LockReading>,
}

#[derive(Debug)]
struct Known {
    name: String,
    wait_ns: i64,
    hold_ns: i64,
    waited_at_ns: i64,
}

/// The locks and their times so far.
#[derive(Debug)]
pub struct Locks {
    proc: PathBuf,
    known: Vec<Known>,
    names: HashMap<Key, (String, i64)>,
    wait_ns: i64,
    before_ns: Option<i64>,
    retry_ns: i64,
    missing: Vec<Missing>,
    is_cut: bool,
}

impl Locks {
    /// Of the host whose processes are in `proc`.
    pub fn new(proc: &Path) -> Self {
        Self {
            proc: proc.to_owned(),
            known: Vec::new(),
            names: HashMap::new(),
            wait_ns: 0,
            before_ns: None,
            retry_ns: i64::MIN,
            missing: Vec::new(),
            is_cut: false,
        }
    }

    /// What could not be recorded, and was not told before.
    pub fn take_missing(&mut self) -> Vec<Missing> {
        std::mem::take(&mut self.missing)
    }

    /// Reads the list and adds the time since the last reading to what is held and waited for.
    pub fn sample(&mut self, now_ns: i64) -> LockSample {
        let Some(list) = self.read(now_ns) else {
            self.before_ns = None;
            return LockSample::default();
        };
        let elapsed_ns = self.before_ns.replace(now_ns).map_or(0, |before| now_ns - before);
        let mut waiting = Vec::new();
        for listed in &list {
            let count = i64::try_from(listed.waiters.len()).unwrap_or(i64::MAX);
            let wait_ns = elapsed_ns.saturating_mul(count);
            self.wait_ns = self.wait_ns.saturating_add(wait_ns);
            waiting.extend_from_slice(&listed.waiters);
            let Some(name) = self.name(listed, now_ns) else {
                continue;
            };
            if let Some(known) = self.known.iter_mut().find(|known| known.name == name) {
                known.wait_ns = known.wait_ns.saturating_add(wait_ns);
                if !listed.holders.is_empty() {
                    known.hold_ns = known.hold_ns.saturating_add(elapsed_ns);
                }
                if count > 0 {
                    known.waited_at_ns = now_ns;
                }
            } else if count > 0 {
                self.add(name, now_ns);
            }
        }
        self.names.retain(|_, (_, seen_ns)| now_ns - *seen_ns < QUIET_NS);
        let row = |known: &Known| LockReading {
            name: known.name.clone(),
            wait_us: known.wait_ns / 1000,
            hold_us: known.hold_ns / 1000,
        };
        LockSample {
            wait_us: Some(self.wait_ns / 1000),
            waiting: Some(waiting),
            rows: self.known.iter().map(row).collect(),
        }
    }

    fn read(&mut self, now_ns: i64) -> Option<Vec<Listed>> {
        if now_ns < self.retry_ns {
            return None;
        }
        let path = self.proc.join("locks");
        let mut text = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(LIST_BYTES + 1).read_to_end(&mut text));
        let reason = match read {
            Ok(_) if text.len() as u64 <= LIST_BYTES => return Some(list(&text)),
            Ok(_) => "/proc/locks is longer than 1 MiB".to_owned(),
            Err(error) => format!("/proc/locks cannot be read: {error}"),
        };
        if self.retry_ns == i64::MIN {
            self.missing
                .push(Missing::new("lock_wait_us", reason, "a list of at most 1 MiB"));
        }
        self.retry_ns = now_ns.saturating_add(RETRY_NS);
        None
    }

    /// The name of a lock that has rows or is to have some.
    fn name(&mut self, listed: &Listed, now_ns: i64) -> Option<String> {
        if let Some((name, seen_ns)) = self.names.get_mut(&listed.key) {
            *seen_ns = now_ns;
            return Some(name.clone());
        }
        if listed.waiters.is_empty() {
            return None;
        }
        let tasks = listed.holders.iter().take(2).chain(listed.waiters.iter().take(2));
        let path = tasks
            .filter(|&&pid| pid > 0)
            .find_map(|&pid| self.path(pid, &listed.key.file));
        let file = path.unwrap_or_else(|| listed.key.file.clone());
        let name = format!("{} {file}", listed.key.kind);
        self.names.insert(listed.key.clone(), (name.clone(), now_ns));
        Some(name)
    }

    /// The name under which a process has a file open.
    fn path(&self, pid: i32, file: &str) -> Option<String> {
        let (device, inode) = file.rsplit_once(':')?;
        let inode: u64 = inode.parse().ok()?;
        let process = self.proc.join(pid.to_string());
        for entry in std::fs::read_dir(process.join("fd"))
            .ok()?
            .flatten()
            .take(DESCRIPTORS)
        {
            let Ok(found) = std::fs::metadata(entry.path()) else {
                continue;
            };
            if found.ino() != inode {
                continue;
            }
            // Some file systems give a file another device number than the list does; then its descriptor tells.
            let same_device = device_text(found.dev()) == device;
            let told = || files::read(&process.join("fdinfo").join(entry.file_name())).unwrap_or_default();
            if same_device || parse::fields(&told()).any(|field| field == file.as_bytes()) {
                let path = std::fs::read_link(entry.path()).ok()?;
                return Some(end_of(&path.to_string_lossy()));
            }
        }
        None
    }

    fn add(&mut self, name: String, now_ns: i64) {
        if self.known.len() >= LOCKS {
            let quiet = |known: &Known| now_ns - known.waited_at_ns >= QUIET_NS;
            let place = (0..self.known.len()).min_by_key(|&place| self.known[place].waited_at_ns);
            match place.filter(|&place| quiet(&self.known[place])) {
                Some(place) => drop(self.known.remove(place)),
                None if self.is_cut => return,
                None => {
                    self.is_cut = true;
                    let reason = format!("tasks wait for more than {LOCKS} file locks; so many have rows");
                    self.missing
                        .push(Missing::new("lock: further locks", reason, "fewer locks"));
                    return;
                }
            }
        }
        self.known.push(Known {
            name,
            wait_ns: 0,
            hold_ns: 0,
            waited_at_ns: now_ns,
        });
    }
}

/// A device number as the list has it.
fn device_text(device: u64) -> String {
    format!("{:02x}:{:02x}", libc::major(device), libc::minor(device))
}

/// The end of a path, which tells more than its beginning.
fn end_of(path: &str) -> String {
    if path.len() <= NAME_BYTES {
        return path.to_owned();
    }
    let start = (path.len() - NAME_BYTES..path.len()).find(|&at| path.is_char_boundary(at));
    format!("…{}", &path[start.unwrap_or(path.len())..])
}

/// The locks in the list, those of one file and kind together.
///
/// `1: FLOCK  ADVISORY  WRITE 14167 fe:00:5392288 0 EOF`, and behind it, for each that waits for it, the same with `->`
/// after the number.
fn list(text: &[u8]) -> Vec<Listed> {
    let mut places: HashMap<Key, usize> = HashMap::new();
    let mut locks: Vec<Listed> = Vec::new();
    for line in parse::lines(text) {
        let mut fields = parse::fields(line).skip(1).peekable();
        let waits = fields.next_if_eq(&&b"->"[..]).is_some();
        let kind = match fields.next() {
            Some(b"FLOCK") => "flock",
            Some(b"POSIX") => "posix",
            Some(b"OFDLCK") => "ofd",
            _ => continue,
        };
        let mut fields = fields.skip(2);
        let (Some(pid), Some(file)) = (fields.next(), fields.next()) else {
            continue;
        };
        // OFD locks belong to no process: -1.
        let Some(pid) = parse::signed(pid).and_then(|pid| i32::try_from(pid).ok()) else {
            continue;
        };
        let key = Key {
            kind,
            file: String::from_utf8_lossy(file).into_owned(),
        };
        let place = *places.entry(key.clone()).or_insert(locks.len());
        if place == locks.len() {
            locks.push(Listed {
                key,
                holders: Vec::new(),
                waiters: Vec::new(),
            });
        }
        let lock = &mut locks[place];
        if waits {
            &mut lock.waiters
        } else {
            &mut lock.holders
        }
        .push(pid);
    }
    locks
}

#[cfg(test)]
#[path = "locks_tests.rs"]
mod tests;
