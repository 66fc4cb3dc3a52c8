//! What is done to the pages of one user. Each job runs on a thread of its own: a call that hangs on a device holds up nobody else.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::book::{Book, Drop};
use crate::budget::Budget;
use crate::calls::{self, Advice, MAX_RANGES};
use crate::pages::{Census, Method};
use crate::policy::{Policy, Rest};
use crate::process::Process;
use crate::roots::{Roots, value_of};
use crate::runs::{Run, Runs};

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
    pub trimmable_pages: u64,
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
        self.beat_ns.store(calls::monotonic_ns(), Ordering::Relaxed);
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
            .drop_from_queue(&now, surroundings.policy.queue_drop.short_stay_share);
        all.drop.prepaged_pages += drop.prepaged_pages;
        all.drop.prepage_errors += drop.prepage_errors;
        if let Some(working) = &book.knowledge.working {
            all.working_set_pages = Some(all.working_set_pages.unwrap_or(0) + working.pages());
            all.working_set_runs += working.len() as u64;
        }
        all.trimmable_pages += book.knowledge.trimmable(&now).map_or(0, |runs| runs.pages());
        all.resident_pages += now.present.pages();
        all.outside.push(Outside {
            pid: book.process.pid,
            swapped: now.swapped,
        });
    }
    all
}

/// Swap-out: first the pages outside the working sets, then (unless only these are to go) the working sets, each in order of
/// address, until `bytes` have gone.
pub fn write_out(
    surroundings: &Surroundings,
    books: &mut Books,
    trim_only: bool,
    bytes: u64,
    control: &Control,
) -> Written {
    current(surroundings, books);
    let mut written = Written::default();
    let before: Vec<Option<Census>> = books
        .iter()
        .map(|book| census(surroundings, &book.process))
        .collect();
    let mut parts: Vec<(&Process, Runs)> = Vec::new();
    for working in [false, true] {
        for (book, now) in books.iter().zip(&before) {
            let Some(now) = now else { continue };
            let rest = book.knowledge.trimmable(now);
            match (working, rest) {
                (false, Some(rest)) => parts.push((&book.process, rest)),
                (true, Some(rest)) if !trim_only => {
                    parts.push((&book.process, now.present.difference(&rest)));
                }
                (true, None) if !trim_only => parts.push((&book.process, now.present.clone())),
                _ => {}
            }
        }
    }
    let mut left = bytes / surroundings.page_bytes;
    'parts: for (process, runs) in &parts {
        for set in runs.sets(surroundings.policy.swap_out.set_pages.max(LEAST_WRITE_PAGES)) {
            if left == 0 || control.stops() {
                break 'parts;
            }
            let pages = set.pages();
            if !spend(
                surroundings,
                &surroundings.out_budget,
                pages,
                set.len() as u64,
                control,
            ) {
                break 'parts;
            }
            written.sets += pages.div_ceil(surroundings.policy.swap_out.set_pages);
            written.asked_pages += pages;
            left = left.saturating_sub(pages);
            advise(surroundings, process, &set, Advice::PageOut);
        }
    }
    if surroundings.dry_run {
        let present: u64 = before.iter().flatten().map(|now| now.present.pages()).sum();
        written.freed_pages = written.asked_pages;
        written.left_pages = present.saturating_sub(written.asked_pages);
        return written;
    }
    let swap_total = swap_total_bytes(surroundings);
    for (book, before) in books.iter_mut().zip(&before) {
        let (Some(before), Some(now)) = (before, census(surroundings, &book.process)) else {
            continue;
        };
        written.freed_pages += before.present.difference(&now.present).pages();
        written.left_pages += now.present.pages();
        book.knowledge.swapped_out(&now);
        book.swap_total_bytes = swap_total;
        written.outside.push(Outside {
            pid: book.process.pid,
            swapped: now.swapped,
        });
    }
    written
}

/// Queue-add: reads swap sets, `first_pid`'s first: so many at once, the rest as the policy says. `free_bytes` is the free
/// storage now.
pub fn read_in(
    surroundings: &Surroundings,
    books: &mut Books,
    first_pid: Option<i32>,
    free_bytes: u64,
    control: &Control,
) -> Read {
    let Surroundings {
        policy, page_bytes, ..
    } = surroundings;
    let prepage = &policy.prepage;
    current(surroundings, books);
    books.sort_by_key(|book| (Some(book.process.pid) != first_pid, book.process.pid));
    let mut read = Read::default();
    let mut room = (prepage.share_of_free_storage * free_bytes as f64) as u64 / page_bytes;
    let mut at_once = prepage.sets;
    let mut paced: Vec<(usize, Runs)> = Vec::new();
    let mut first = Vec::new();
    for (index, book) in books.iter_mut().enumerate() {
        let Some(now) = census(surroundings, &book.process) else {
            continue;
        };
        book.knowledge.add_to_queue(&now);
        let mut wanted = book.knowledge.wanted(&now);
        if is_read_whole(surroundings, &wanted, &now.swapped) {
            wanted = now.swapped.clone();
            read.whole = true;
        }
        for set in wanted
            .bridged(prepage.gap_pages, &now.swapped)
            .sets(policy.swap_out.set_pages)
        {
            if set.pages() > room {
                room = 0;
                break;
            }
            room -= set.pages();
            if at_once > 0 {
                at_once -= 1;
                first.push((index, set));
            } else {
                paced.push((index, set));
            }
        }
    }
    let mut untouched = Vec::new();
    match prepage.rest {
        Rest::Paced => {}
        Rest::Demand => paced.clear(),
        Rest::Touched => untouched = std::mem::take(&mut paced),
    }
    let first_sets = first.len();
    let mut ahead: VecDeque<(usize, Runs)> = first.into_iter().chain(paced).collect();
    let mut place = 0;
    while !(ahead.is_empty() && untouched.is_empty()) {
        let Some((index, set)) = ahead.pop_front() else {
            if control.stops() {
                break;
            }
            ahead.extend(swap_faults(control, books, &mut untouched));
            if ahead.is_empty() {
                std::thread::sleep(Duration::from_millis(1));
            }
            continue;
        };
        let (pages, reads) = (set.pages(), set.len() as u64);
        if control.stops() || !spend(surroundings, &surroundings.in_budget, pages, reads, control) {
            break;
        }
        let Some(book) = books.get_mut(index) else {
            break;
        };
        advise(surroundings, &book.process, &set, Advice::WillNeed);
        book.knowledge.prepaged = book.knowledge.prepaged.union(&set);
        read.pages += pages;
        read.reads += reads;
        read.sets += 1;
        if place < first_sets {
            read.pages_at_once += pages;
        }
        place += 1;
    }
    read
}

/// Sets of which a page was touched. [T87] swap fault: the whole set is read.
fn swap_faults(control: &Control, books: &Books, untouched: &mut Vec<(usize, Runs)>) -> Vec<(usize, Runs)> {
    let touched = std::mem::take(&mut *control.touched.lock().unwrap_or_else(PoisonError::into_inner));
    let is_touched = |(index, set): &(usize, Runs)| {
        let pid = books.get(*index).map(|book| book.process.pid);
        touched
            .iter()
            .any(|(of, page)| Some(*of) == pid && set.holds(*page))
    };
    let (found, left) = std::mem::take(untouched).into_iter().partition(is_touched);
    *untouched = left;
    found
}

/// Whether reading all that is outside takes less time than the working set alone: bytes ÷ bandwidth < runs × service time,
/// by the figures that the policy states. Without `[prepage.whole]` never.
fn is_read_whole(surroundings: &Surroundings, wanted: &Runs, swapped: &Runs) -> bool {
    let Some(whole) = &surroundings.policy.prepage.whole else {
        return false;
    };
    let bytes = swapped.pages() * surroundings.page_bytes;
    let whole_s = bytes as f64 / whole.device_bytes_per_second.bytes(0) as f64;
    let set_s = wanted.len() as f64 * whole.device_service_us as f64 / 1e6;
    !wanted.is_empty() && bytes <= whole.max_bytes.bytes(0) && whole_s < set_s
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
                .spend(bytes, ios, calls::monotonic_ns());
        match asked {
            Ok(()) => return true,
            Err(_) if control.stops() => return false,
            Err(wait) => std::thread::sleep(wait.min(Duration::from_millis(20))),
        }
    }
}

/// Advises run after run. One that the kernel refuses (locked, unmapped meanwhile, of huge pages) is left out.
fn advise(surroundings: &Surroundings, process: &Process, set: &Runs, advice: Advice) {
    if surroundings.dry_run {
        return;
    }
    let runs: Vec<Run> = set.iter().collect();
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
