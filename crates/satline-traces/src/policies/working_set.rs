//! The working set.
//!
//! What: a page is kept as long as it was referenced within a window of references; the window is the largest whose
//! mean working set is no larger than the size asked for. The size bounds the mean, not every moment.
//! Why: what storage does for a program alone when it may vary with the program's need.
//! Reference: Denning, The working set model for program behavior, 1968; in one pass: Denning, Schwartz, Properties of the
//! working-set model, 1972: with x the time since the page's last reference, the misses of window T are the references
//! with x > T, and the mean size is s(T) = (1/K) Σ min(x, T), where each page's stay after its last reference counts too.

use crate::replay::{Job, Outcome};

/// By x: the references whose page is referenced again after x, and those whose page is not before the end, x away.
fn intervals(job: &Job) -> (Vec<u64>, Vec<u64>) {
    let len = job.trace.references.len();
    let next = job.next_uses();
    let (mut again, mut last) = (vec![0; len + 1], vec![0; len + 1]);
    for (first, part) in job.parts() {
        for at in first..first + part.len() {
            let coming = next[at] as usize;
            if coming == len {
                last[len - at] += 1;
            } else {
                again[coming - at] += 1;
            }
        }
    }
    (again, last)
}

pub fn replay(job: &Job) -> Outcome {
    let (again, last) = intervals(job);
    let len = job.trace.references.len() as u64;
    let most = u64::from(job.frames) * len;
    // s(T+1) − s(T) is the part of references whose interval is longer than T.
    let (mut longer, mut space, mut misses) = (len, 0, len);
    for window in 1..again.len() {
        space += longer;
        if space > most {
            break;
        }
        longer -= again[window] + last[window];
        misses -= again[window];
    }
    Outcome { misses }
}
