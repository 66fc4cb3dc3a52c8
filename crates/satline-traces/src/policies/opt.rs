//! OPT: what nobody can do without the future.
//!
//! What: the page whose next reference is farthest in the future is taken.
//! Why: no policy that fetches on demand has fewer misses; what a policy loses is measured against it.
//! Reference: Belady, A study of replacement algorithms for a virtual-storage computer, 1966; Mattson et al., 1970.

use crate::replay::{Job, Outcome};

/// Positions in a trace: a bit for each, and for each 64 bits one above that says whether any is on.
struct Positions(Vec<Vec<u64>>);

impl Positions {
    fn new(len: usize) -> Self {
        let mut levels = vec![vec![0; len.div_ceil(64).max(1)]];
        while let Some(top) = levels.last().map(Vec::len).filter(|&top| top > 1) {
            levels.push(vec![0; top.div_ceil(64)]);
        }
        Self(levels)
    }

    fn insert(&mut self, mut at: usize) {
        for level in &mut self.0 {
            let word = &mut level[at / 64];
            let was = *word;
            *word |= 1 << (at % 64);
            if was != 0 {
                return;
            }
            at /= 64;
        }
    }

    fn remove(&mut self, mut at: usize) {
        for level in &mut self.0 {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return;
            }
            at /= 64;
        }
    }

    fn farthest(&self) -> Option<usize> {
        let mut at = 0;
        for level in self.0.iter().rev() {
            let word = level[at];
            if word == 0 {
                return None;
            }
            at = at * 64 + 63 - word.leading_zeros() as usize;
        }
        Some(at)
    }
}

/// A page in storage is known by the position of its next reference; those that have none are only counted.
pub fn replay(job: &Job) -> Outcome {
    let references = &job.trace.references;
    let next = job.next_uses();
    let mut coming = Positions::new(references.len());
    let (mut misses, mut held, mut done_with) = (0, 0, 0_u32);
    let mut inside = vec![false; job.trace.pages as usize];
    for (first, part) in job.parts() {
        for (at, &page) in part.iter().enumerate() {
            let at = first + at;
            if inside[page as usize] {
                coming.remove(at);
            } else {
                misses += 1;
                inside[page as usize] = true;
                if held < job.frames {
                    held += 1;
                } else if done_with > 0 {
                    // It is not looked for again, so nothing need be known of which it was.
                    done_with -= 1;
                } else if let Some(farthest) = coming.farthest() {
                    coming.remove(farthest);
                    inside[references[farthest] as usize] = false;
                }
            }
            match next[at] as usize {
                none if none == references.len() => done_with += 1,
                coming_up => coming.insert(coming_up),
            }
        }
    }
    Outcome { misses }
}
