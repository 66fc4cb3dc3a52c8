//! What is known of one process's pages: its working set, and what a look at the page tables adds to it.
//!
//! No Linux interface tells which present pages of another process were referenced. But a page that was outside and is present
//! now was touched, since reading ahead and prepaging fill the swap cache and not the page tables; and one that was outside and
//! still is was not. So working sets are learnt from what came back after a swap-out, and a process that never was outside has
//! none. Of a page that was present when a stay began, or that is new, the stay tells nothing: what was known of it goes on holding.

use std::sync::Arc;

use crate::pages::Census;
use crate::policy::QueueDrop;
use crate::process::Process;
use crate::runs::Runs;

/// The book of one process.
#[derive(Debug)]
pub struct Book {
    pub process: Arc<Process>,
    pub knowledge: Knowledge,
    /// Swap space when the last swap-out ended, bytes.
    pub swap_total_bytes: Option<u64>,
}

/// The pages of a process, by what is known of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Knowledge {
    /// The working set: what each of the last stays that could tell touched; none while nothing of it has been learnt.
    pub working: Option<Runs>,
    /// Pages that some stay was seen not to touch, by how many stays have touched them since.
    doubted: Vec<Runs>,
    /// Pages that were outside when the last swap-out or stay ended, or at queue-add: of these a stay can tell.
    outside: Option<Runs>,
    /// Pages that were prepaged at the last queue-add.
    pub prepaged: Runs,
    /// Pages that stayed where they are when they were to be written out, since the last stay: to ask again is no use.
    refused: Runs,
}

/// Parts of a process's pages, in the order in which they go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A stay did not touch them.
    Cold,
    /// Neither known to be in the working set nor outside it.
    Unknown,
    Working,
}

/// What a queue-drop told of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drop {
    pub prepaged_pages: u64,
    /// Prepaged, but not touched in the stay. [T87] prepage error.
    pub prepage_errors: u64,
}

impl Knowledge {
    /// Queue-drop: learns the working set of the stay from what is present.
    pub fn drop_from_queue(&mut self, now: &Census, policy: &QueueDrop) -> Drop {
        let told = Drop {
            prepaged_pages: self.prepaged.pages(),
            prepage_errors: self.prepaged.difference(&now.present).pages(),
        };
        self.prepaged = Runs::default();
        if let Some(outside) = self.outside.take() {
            self.learn(&outside, now, policy);
            self.outside = Some(now.swapped.clone());
        }
        self.refused = Runs::default();
        told
    }

    /// Learns from a stay at whose begin these pages were `outside`.
    fn learn(&mut self, outside: &Runs, now: &Census, policy: &QueueDrop) {
        let touched = outside.intersection(&now.present);
        let first = self.working.is_none();
        if touched.is_empty() && first {
            return;
        }
        let before = self.working.take().unwrap_or_default();
        let climbers = union(self.doubted.get(1..).unwrap_or_default());
        let expected = before.union(&climbers).intersection(outside);
        let missed = match !first && is_short(&touched, &expected, policy) {
            true => Runs::default(),
            false => outside.intersection(&now.swapped),
        };
        self.doubted
            .resize_with(policy.working_set_stays.max(1), Runs::default);
        let doubted_before = union(&self.doubted);
        // Touched once more: each goes one step up, and from the last step into the working set.
        let mut climbing = Runs::default();
        for step in &mut self.doubted {
            let up = step.intersection(&touched);
            *step = step.difference(&touched).union(&climbing);
            climbing = up;
        }
        let proven = touched.difference(&doubted_before).union(&climbing);
        let is_there = now.present.union(&now.swapped);
        let working = before.union(&proven).difference(&missed).intersection(&is_there);
        for step in &mut self.doubted {
            *step = step.difference(&missed).intersection(&is_there);
        }
        if let Some(first) = self.doubted.first_mut() {
            *first = first.union(&missed);
        }
        self.working = Some(working);
    }

    /// Queue-add: from here on, what was outside and is present was touched.
    pub fn add_to_queue(&mut self, now: &Census) {
        self.outside = Some(match self.outside.take() {
            Some(outside) => outside.union(&now.swapped),
            None => now.swapped.clone(),
        });
        self.refused = Runs::default();
    }

    /// A swapoff brought pages back into the page tables: that they are present tells nothing.
    pub fn brought_back(&mut self, now: &Census) {
        self.outside = Some(now.swapped.clone());
    }

    /// A swap-out of the pages that were `asked` for has ended.
    pub fn swapped_out(&mut self, now: &Census, asked: &Runs) {
        self.outside = Some(now.swapped.clone());
        self.refused = self.refused.union(asked).intersection(&now.present);
    }

    /// Present pages that are known to lie outside the working set, since a stay did not touch them.
    pub fn cold(&self, now: &Census) -> Runs {
        union(&self.doubted)
            .intersection(&now.present)
            .difference(&self.refused)
    }

    /// Present pages that are not known to be in the working set; none where none is known.
    pub fn trimmable(&self, now: &Census) -> Option<Runs> {
        let working = self.working.as_ref()?;
        Some(now.present.difference(working).difference(&self.refused))
    }

    /// Present pages of one part, without those that were refused. Where no working set is known all of them are in the last.
    pub fn part(&self, part: Part, now: &Census) -> Runs {
        let beside = self.trimmable(now).unwrap_or_default();
        match part {
            Part::Cold => self.cold(now),
            Part::Unknown => beside.difference(&self.cold(now)),
            Part::Working => now.present.difference(&self.refused).difference(&beside),
        }
    }

    /// What a resume would read: pages of the working set that are outside.
    pub fn wanted(&self, now: &Census) -> Runs {
        self.working
            .as_ref()
            .map_or_else(Runs::default, |working| working.intersection(&now.swapped))
    }
}

fn union(sets: &[Runs]) -> Runs {
    sets.iter().fold(Runs::default(), |all, some| all.union(some))
}

/// Whether a stay touched too little of what it could have to tell what a stay of this user does not touch. `expected`: what the
/// last stays touched, as far as it was outside.
fn is_short(touched: &Runs, expected: &Runs, policy: &QueueDrop) -> bool {
    touched.is_empty() || (touched.pages() as f64) < policy.short_stay_share * expected.pages() as f64
}

#[cfg(test)]
#[path = "book_tests.rs"]
mod tests;
