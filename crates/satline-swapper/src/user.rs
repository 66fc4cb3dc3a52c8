//! What the daemon holds for one user.

use std::sync::{Arc, Mutex, TryLockError};

use crate::book::{Book, Knowledge};
use crate::decision::UserId;
use crate::jobs::{Books, Outside};
use crate::meter::Meter;
use crate::population::Found;
use crate::process::Process;
use crate::roots::Roots;
use crate::sentry::Sentry;
use crate::stat::Stat;

/// Counters of one user since he was first seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub stays: i64,
    pub resumes: i64,
    pub resume_us: i64,
    pub swapped_out_pages: i64,
    pub prepaged_pages: i64,
    pub prepaged_at_once_pages: i64,
    pub prepage_errors: i64,
    pub swap_sets_out: i64,
    pub swap_sets_in: i64,
}

/// A resume under way: the faults after it.
#[derive(Debug, Clone, Copy)]
pub struct Resume {
    pub begun_ns: i64,
    last_total: u64,
    last_fault_ns: i64,
}

/// How a resume gets on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// There were major faults since the last look.
    Faulting,
    Quiet,
    /// From the first touch to the last major fault it took so long.
    Over {
        length_us: i64,
    },
}

/// Major faults have ended when there was none for so long.
const QUIET_NS: i64 = 300_000_000;

impl Resume {
    /// Begins now, after so many major faults.
    pub fn begin(now_ns: i64, major_faults: u64) -> Self {
        Resume {
            begun_ns: now_ns,
            last_total: major_faults,
            last_fault_ns: now_ns,
        }
    }

    /// How it gets on, after `total` major faults. `waits`: whether he waits for a device or a processor, asked only when it
    /// would be over.
    pub fn look(&mut self, now_ns: i64, total: u64, waits: impl FnOnce() -> bool) -> Progress {
        if total != self.last_total {
            self.last_total = total;
            self.last_fault_ns = now_ns;
            return Progress::Faulting;
        }
        if now_ns - self.last_fault_ns > QUIET_NS {
            // One read may take longer than that where many are ahead of it.
            if waits() {
                self.last_fault_ns = now_ns;
                return Progress::Faulting;
            }
            return Progress::Over {
                length_us: (self.last_fault_ns - self.begun_ns) / 1000,
            };
        }
        Progress::Quiet
    }
}

/// One user.
#[derive(Debug)]
pub struct User {
    pub id: UserId,
    pub found: Found,
    pub meter: Meter,
    pub books: Arc<Mutex<Books>>,
    /// Pages that were outside when last looked.
    pub outside: Vec<Outside>,
    pub sentry: Option<Sentry>,
    pub resume: Option<Resume>,
    pub totals: Totals,
    pub working_set_runs: u64,
    /// Seen since the last decision.
    pub active: bool,
    pub faulted: bool,
    pub announced: bool,
}

impl User {
    /// A user who has just been found.
    pub fn new(id: UserId, roots: &Roots, found: Found) -> Self {
        let mut user = User {
            id,
            found,
            meter: Meter::default(),
            books: Arc::default(),
            outside: Vec::new(),
            sentry: None,
            resume: None,
            totals: Totals::default(),
            working_set_runs: 0,
            active: false,
            faulted: false,
            announced: false,
        };
        let found = user.found.clone();
        user.follow(roots, found);
        user
    }

    /// His processes as they are now.
    pub fn follow(&mut self, roots: &Roots, found: Found) {
        self.found = found;
        self.meter.follow(roots, &self.found);
        if let Some(sentry) = &mut self.sentry {
            sentry.follow(roots, &self.found);
        }
    }

    /// Opens a book for each of his processes that has none. While a job has the books, the next call will.
    pub fn keep_books(&self, roots: &Roots) {
        let mut books = match self.books.try_lock() {
            Ok(books) => books,
            Err(TryLockError::Poisoned(books)) => books.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        books.retain(|book| {
            self.found.processes.get(&book.process.pid).is_some_and(|stat| {
                stat.start_ticks == book.process.start_ticks && stat.image == book.process.image
            })
        });
        for (&pid, stat) in &self.found.processes {
            if books.iter().any(|book| book.process.pid == pid) {
                continue;
            }
            if let Ok(process) = Process::open(roots, pid, stat.start_ticks) {
                books.push(Book {
                    process: Arc::new(process),
                    knowledge: Knowledge::default(),
                    swap_total_bytes: None,
                });
            }
        }
    }

    /// He is back: from here on the faults of his resume are counted.
    pub fn come_back(&mut self, roots: &Roots, now_ns: i64) {
        self.totals.resumes += 1;
        self.resume = Some(Resume::begin(now_ns, self.major_faults(roots)));
    }

    /// Major faults of his processes so far. From the process list: an event at each would cost him as much as a page of
    /// compressed storage does.
    pub fn major_faults(&self, roots: &Roots) -> u64 {
        let pids = self.found.processes.keys();
        pids.filter_map(|&pid| Some(Stat::read(roots, pid)?.1.major_faults))
            .sum()
    }

    /// Whether one of his tasks runs, or waits for a processor or a device.
    pub fn is_busy(&self, roots: &Roots) -> bool {
        self.found.processes.keys().any(|&pid| Stat::is_busy(roots, pid))
    }

    /// Pages that were outside when last looked.
    pub fn outside_pages(&self) -> u64 {
        self.outside.iter().map(|one| one.swapped.pages()).sum()
    }

    /// Resident storage as the process list has it, bytes.
    pub fn resident_bytes(&self, page_bytes: u64) -> u64 {
        let pages: u64 = self
            .found
            .processes
            .values()
            .map(|stat| stat.resident_pages)
            .sum();
        pages * page_bytes
    }
}
