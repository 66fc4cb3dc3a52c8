//! Queue-add: what is read of a user who comes back, in which order.

use std::collections::{BTreeMap, VecDeque};
use std::sync::PoisonError;
use std::time::Duration;

use crate::calls::Advice;
use crate::jobs::{Books, Control, Read, Surroundings, advise, census, current, spend};
use crate::policy::Rest;
use crate::roots::Roots;
use crate::runs::{Run, Runs};

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
    if !prepage.from_compressed && is_all_compressed(&surroundings.roots) {
        // Even a look at his page tables takes as long as hundreds of his pages do.
        return Read::default();
    }
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
        if room == 0 {
            continue;
        }
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
    let mut ahead = VecDeque::from(portions(surroundings, books, first));
    let mut left_at_once = ahead.len();
    ahead.extend(portions(surroundings, books, paced));
    while !(ahead.is_empty() && untouched.is_empty()) {
        let Some((index, runs)) = ahead.pop_front() else {
            if control.stops() {
                break;
            }
            let touched = swap_faults(control, books, &mut untouched);
            ahead.extend(portions(surroundings, books, touched));
            if ahead.is_empty() {
                std::thread::sleep(Duration::from_millis(1));
            }
            continue;
        };
        let (pages, reads) = (runs.iter().map(|run| run.pages()).sum(), runs.len() as u64);
        if control.stops() || !spend(surroundings, &surroundings.in_budget, pages, reads, control) {
            break;
        }
        let Some(book) = books.get_mut(index) else {
            break;
        };
        advise(surroundings, &book.process, &runs, Advice::WillNeed);
        book.knowledge.prepaged = book.knowledge.prepaged.union(&in_order_of_address(runs));
        read.pages += pages;
        read.reads += reads;
        read.sets += 1;
        if left_at_once > 0 {
            left_at_once -= 1;
            read.pages_at_once += pages;
        }
    }
    read
}

/// Runs of one process, that of the book with this index, in the order in which they are read.
type Portion = (usize, Vec<Run>);

/// What is read of these sets, a set's worth at a time: in order of their places in swap where these can be told, so that the device goes one
/// way and neighbours there become one read; else in order of address.
fn portions(surroundings: &Surroundings, books: &Books, sets: Vec<(usize, Runs)>) -> Vec<Portion> {
    let mut whole: BTreeMap<usize, Runs> = BTreeMap::new();
    for (index, set) in sets {
        let of_process = whole.entry(index).or_default();
        *of_process = of_process.union(&set);
    }
    let mut portions = Vec::new();
    for (index, runs) in whole {
        let placed = books
            .get(index)
            .and_then(|book| book.process.in_order_of_place(&runs));
        let ordered = placed.unwrap_or_else(|| runs.iter().collect());
        portions.extend(
            cut(ordered, surroundings.policy.swap_out.set_pages)
                .into_iter()
                .map(|part| (index, part)),
        );
    }
    portions
}

/// Cuts runs in the order they have into parts of `pages` pages or, by less than a run, more.
fn cut(runs: Vec<Run>, pages: u64) -> Vec<Vec<Run>> {
    let (mut parts, mut part, mut held) = (Vec::new(), Vec::new(), 0);
    for run in runs {
        held += run.pages();
        part.push(run);
        if held >= pages {
            parts.push(std::mem::take(&mut part));
            held = 0;
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

fn in_order_of_address(mut runs: Vec<Run>) -> Runs {
    runs.sort_unstable_by_key(|run| run.start);
    runs.into_iter().collect()
}

/// Whether there is swap, and nothing of it but compressed storage (zram).
fn is_all_compressed(roots: &Roots) -> bool {
    let areas = std::fs::read_to_string(roots.proc.join("swaps")).unwrap_or_default();
    let mut names = areas
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .peekable();
    names.peek().is_some()
        && names.all(|name| {
            name.rsplit('/')
                .next()
                .is_some_and(|name| name.starts_with("zram"))
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_swap_is_compressed_or_it_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::with_proc(dir.path());
        assert!(!is_all_compressed(&roots), "no list");
        for (lines, expected) in [
            ("", false),
            ("/dev/zram0 partition 1 0 5\n", true),
            ("/dev/zram0 partition 1 0 5\n/dev/zram1 partition 1 0 5\n", true),
            ("/dev/zram0 partition 1 0 5\n/dev/vda2 partition 1 0 5\n", false),
            ("/srv/zram/file file 1 0 5\n", false),
        ] {
            let text = format!("Filename Type Size Used Priority\n{lines}");
            std::fs::write(dir.path().join("swaps"), text).unwrap();
            assert_eq!(is_all_compressed(&roots), expected, "{lines}");
        }
    }

    proptest! {
        #[test]
        fn parts_keep_the_order_and_lose_nothing(
            lengths in proptest::collection::vec(1u64..30, 0..40), pages in 1u64..100,
        ) {
            let runs: Vec<Run> = lengths
                .iter()
                .enumerate()
                .map(|(place, length)| {
                    let start = 1000 * (97 * place as u64 % 41);
                    Run { start, end: start + length }
                })
                .collect();
            let parts = cut(runs.clone(), pages);
            prop_assert_eq!(parts.concat(), runs);
            let sizes: Vec<u64> = parts.iter().map(|part| part.iter().map(|run| run.pages()).sum()).collect();
            prop_assert!(sizes.iter().all(|&size| size > 0 && size < pages + 30));
            prop_assert!(sizes.iter().rev().skip(1).all(|&size| size >= pages));
        }
    }
}
