//! What is done to the pages of one user. Each job runs on a thread of its own: a call that hangs on a device holds up nobody else.

mod reading;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use satline_program::clock;

pub use crate::book::Part;
use crate::book::{Book, Drop};
use crate::budget::Budget;
use crate::calls::{self, Advice, MAX_RANGES};
use crate::pages::{Census, Method};
use crate::policy::Policy;
use crate::process::Process;
use crate::roots::{Roots, value_of};
use crate::runs::{Run, Runs};

pub use reading::read_in;

/// What every job has.
#[derive(Debug)]
pub struct Surroundings {
    pub roots: Roots,
    pub policy: Policy,
    pub method: Method,
    pub page_bytes: u64,
    pub out_budget: Mutex<Budget>,
    pub in_budget: Mutex<Budget>,
    /// Say what would be done and do nothing.
    pub dry_run: bool,
}

/// The books of one user.
pub type Books = Vec<Book>;

/// Pages of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside {
    pub pid: i32,
    pub swapped: Runs,
}

/// What a recording of the working set found.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    pub working_set_pages: Option<u64>,
    pub working_set_runs: u64,
    /// Of the working set, outside.
    pub wanted_pages: u64,
    pub trimmable_pages: u64,
    /// Of these, known not to have been touched in a stay.
    pub cold_pages: u64,
    pub resident_pages: u64,
    pub drop: Drop,
    pub outside: Vec<Outside>,
}

/// What a page-out came to.
#[derive(Debug, Clone, Default)]
pub struct Written {
    pub asked_pages: u64,
    pub freed_pages: u64,
    pub left_pages: u64,
    /// Of the working set, outside.
    pub wanted_pages: u64,
    pub sets: u64,
    pub outside: Vec<Outside>,
}

/// What a prepaging came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Read {
    pub pages: u64,
    /// Of these, read at once.
    pub pages_at_once: u64,
    pub sets: u64,
    pub reads: u64,
    /// Whether more than the working set was read, as `[prepage.whole]` allows.
    pub whole: bool,
}

/// What a job and whoever began it tell each other.
#[derive(Debug, Default)]
pub struct Control {
    /// Set when the job is to end.
    pub stop: AtomicBool,
    /// When it last got on, ns.
    pub beat_ns: AtomicI64,
    /// Pages that the user touched while his sets are being read.
    pub touched: Mutex<Vec<(i32, u64)>>,
}

impl Control {
    fn stops(&self) -> bool {
        self.beat_ns.store(clock::monotonic_ns(), Ordering::Relaxed);
        self.stop.load(Ordering::Relaxed)
    }
}

/// Books of processes that still run what they ran; those of others are forgotten.
fn current(surroundings: &Surroundings, books: &mut Books) {
    books.retain(|book| book.process.is_same(&surroundings.roots));
}

fn census(surroundings: &Surroundings, process: &Process) -> Option<Census> {
    process
        .census(&surroundings.roots, surroundings.method, surroundings.page_bytes)
        .ok()
}

/// All swap space now.
fn swap_total_bytes(surroundings: &Surroundings) -> Option<u64> {
    let meminfo = std::fs::read_to_string(surroundings.roots.proc.join("meminfo")).ok()?;
    value_of(&meminfo, "SwapTotal").map(|kib| kib * 1024)
}

/// Least pages of one call that writes: smaller ones would be split by the kernel's own work for each call.
const LEAST_WRITE_PAGES: u64 = 256;

/// Queue-drop: learns the working set of every process.
pub fn record(surroundings: &Surroundings, books: &mut Books) -> Recorded {
    let mut all = Recorded::default();
    current(surroundings, books);
    let swap_total = swap_total_bytes(surroundings);
    for book in books {
        let Some(now) = census(surroundings, &book.process) else {
            continue;
        };
        if swap_total < book.swap_total_bytes {
            book.knowledge.brought_back(&now);
        }
        book.swap_total_bytes = swap_total;
        let drop = book
            .knowledge
            .drop_from_queue(&now, &surroundings.policy.queue_drop);
        all.drop.prepaged_pages += drop.prepaged_pages;
        all.drop.prepage_errors += drop.prepage_errors;
        if let Some(working) = &book.knowledge.working {
            all.working_set_pages = Some(all.working_set_pages.unwrap_or(0) + working.pages());
            all.working_set_runs += working.len() as u64;
        }
        all.trimmable_pages += book.knowledge.trimmable(&now).map_or(0, |runs| runs.pages());
        all.cold_pages += book.knowledge.cold(&now).pages();
        all.wanted_pages += book.knowledge.wanted(&now).pages();
        all.resident_pages += now.present.pages();
        all.outside.push(Outside {
            pid: book.process.pid,
            swapped: now.swapped,
        });
    }
    all
}

/// Swap-out, part after part up to the `last`, each in order of address, until `bytes` have gone.
pub fn write_out(
    surroundings: &Surroundings,
    books: &mut Books,
    last: Part,
    bytes: u64,
    control: &Control,
) -> Written {
    current(surroundings, books);
    let mut written = Written::default();
    let before: Vec<Option<Census>> = books
        .iter()
        .map(|book| census(surroundings, &book.process))
        .collect();
    let mut parts: Vec<(usize, Runs, Runs)> = Vec::new();
    let wanted = [Part::Cold, Part::Unknown, Part::Working];
    for part in wanted.into_iter().filter(|part| *part <= last) {
        for (index, (book, now)) in books.iter().zip(&before).enumerate() {
            let Some(now) = now else { continue };
            let between = match part {
                Part::Cold | Part::Unknown => now.swapped.clone(),
                Part::Working => now.swapped.union(&now.present),
            };
            parts.push((index, book.knowledge.part(part, now), between));
        }
    }
    let mut asked = vec![Runs::default(); books.len()];
    let mut left = bytes / surroundings.page_bytes;
    'parts: for (index, runs, between) in &parts {
        let (Some(book), Some(asked)) = (books.get(*index), asked.get_mut(*index)) else {
            continue;
        };
        for set in runs.sets(surroundings.policy.swap_out.set_pages.max(LEAST_WRITE_PAGES)) {
            if left == 0 || control.stops() {
                break 'parts;
            }
            let pages = set.pages();
            // The kernel joins writes within one range, and passes over what is out already: ranges as long as can be.
            let runs: Vec<Run> = set.bridged(u64::MAX, between).iter().collect();
            let writes = runs.len() as u64;
            if !spend(surroundings, &surroundings.out_budget, pages, writes, control) {
                break 'parts;
            }
            written.sets += pages.div_ceil(surroundings.policy.swap_out.set_pages);
            written.asked_pages += pages;
            *asked = asked.union(&set);
            left = left.saturating_sub(pages);
            advise(surroundings, &book.process, &runs, Advice::PageOut);
        }
    }
    if surroundings.dry_run {
        for ((book, now), asked) in books.iter().zip(before.iter().flatten()).zip(&asked) {
            let gone = Census {
                present: now.present.difference(asked),
                swapped: now.swapped.union(asked),
            };
            written.left_pages += gone.present.pages();
            written.wanted_pages += book.knowledge.wanted(&gone).pages();
        }
        written.freed_pages = written.asked_pages;
        return written;
    }
    let swap_total = swap_total_bytes(surroundings);
    for ((book, before), asked) in books.iter_mut().zip(&before).zip(&asked) {
        let (Some(before), Some(now)) = (before, census(surroundings, &book.process)) else {
            continue;
        };
        written.freed_pages += before.present.difference(&now.present).pages();
        written.left_pages += now.present.pages();
        written.wanted_pages += book.knowledge.wanted(&now).pages();
        book.knowledge.swapped_out(&now, asked);
        book.swap_total_bytes = swap_total;
        written.outside.push(Outside {
            pid: book.process.pid,
            swapped: now.swapped,
        });
    }
    written
}

/// Waits until the budget allows it; false if the job was stopped meanwhile.
fn spend(
    surroundings: &Surroundings,
    budget: &Mutex<Budget>,
    pages: u64,
    ios: u64,
    control: &Control,
) -> bool {
    let bytes = pages * surroundings.page_bytes;
    loop {
        let asked =
            budget
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .spend(bytes, ios, clock::monotonic_ns());
        match asked {
            Ok(()) => return true,
            Err(_) if control.stops() => return false,
            Err(wait) => std::thread::sleep(wait.min(Duration::from_millis(20))),
        }
    }
}

/// Advises run after run. One that the kernel refuses (locked, unmapped meanwhile, of huge pages) is left out.
fn advise(surroundings: &Surroundings, process: &Process, runs: &[Run], advice: Advice) {
    if surroundings.dry_run {
        return;
    }
    let mut at = 0;
    while at < runs.len() {
        let some = &runs[at..(at + MAX_RANGES).min(runs.len())];
        match calls::process_madvise(&process.pidfd, some, advice, surroundings.page_bytes) {
            Ok(mut pages) => {
                let mut whole = 0;
                while let Some(run) = some.get(whole).filter(|run| run.pages() <= pages) {
                    pages -= run.pages();
                    whole += 1;
                }
                at += whole;
                if whole < some.len() {
                    at += 1;
                }
            }
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => at += 1,
        }
    }
}
