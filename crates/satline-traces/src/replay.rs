//! A trace against a policy at a number of frames, and many of these at a time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::policies::{Entry, NONE, Policy, Setup};
use crate::trace::Trace;

/// How often progress is told: after so many references.
const PART: usize = 1 << 20;

/// What a replay is made of.
#[derive(Debug)]
pub struct Job<'a> {
    pub trace: &'a Trace,
    /// How many pages storage holds.
    pub frames: u32,
    /// Of policies that draw.
    pub seed: u64,
    /// Of all jobs of this trace; made by the first that needs it.
    next_uses: &'a OnceLock<Vec<u32>>,
    done: &'a AtomicU64,
}

impl<'a> Job<'a> {
    /// The trace in parts, each with the position of its first reference; progress is counted on the way.
    pub fn parts(&self) -> impl Iterator<Item = (usize, &'a [u32])> + use<'a> {
        let done = self.done;
        let parts = self.trace.references.chunks(PART).enumerate();
        parts.map(move |(number, part)| {
            done.fetch_add(part.len() as u64, Ordering::Relaxed);
            (number * PART, part)
        })
    }

    /// [`Trace::next_uses`], once for all.
    pub fn next_uses(&self) -> &'a [u32] {
        self.next_uses.get_or_init(|| self.trace.next_uses())
    }
}

/// What a replay counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    pub misses: u64,
}

/// How a policy is replayed.
pub type Replay = fn(&Job) -> Outcome;

/// A policy that does not know the future.
pub fn online<P: Policy>(job: &Job) -> Outcome {
    let setup = Setup {
        frames: job.frames,
        pages: job.trace.pages,
        seed: job.seed,
    };
    let mut policy = P::new(&setup);
    let mut frame_of = vec![NONE; job.trace.pages as usize];
    let mut page_of = vec![NONE; job.frames as usize];
    let (mut misses, mut used) = (0, 0);
    for (_, part) in job.parts() {
        for &page in part {
            let frame = frame_of[page as usize];
            if frame != NONE {
                policy.touched(frame);
                continue;
            }
            misses += 1;
            let frame = if used < job.frames {
                used += 1;
                used - 1
            } else {
                let victim = policy
                    .victim(Some(page), &mut |_| true)
                    .expect("every frame can be taken");
                frame_of[page_of[victim as usize] as usize] = NONE;
                victim
            };
            frame_of[page as usize] = frame;
            page_of[frame as usize] = page;
            policy.came(frame, page);
        }
    }
    Outcome { misses }
}

/// Replays every policy at every size.
///
/// Returns the outcomes by policy and size. `told` hears the part that is done, from one thread at a time.
pub fn replay_all(
    trace: &Trace,
    policies: &[&Entry],
    sizes: &[u32],
    seed: u64,
    workers: usize,
    told: &(dyn Fn(f64) + Sync),
) -> Vec<Vec<Outcome>> {
    let (next_uses, done, begun) = (OnceLock::new(), AtomicU64::new(0), AtomicUsize::new(0));
    let count = policies.len() * sizes.len();
    let all = (count * trace.references.len()).max(1) as f64;
    let outcomes: Vec<OnceLock<Outcome>> = (0..count).map(|_| OnceLock::new()).collect();
    let work = || {
        loop {
            let at = begun.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return;
            }
            let job = Job {
                trace,
                // More than all pages hold no more.
                frames: sizes[at % sizes.len()].min(trace.pages.max(1)),
                seed,
                next_uses: &next_uses,
                done: &done,
            };
            let _ = outcomes[at].set((policies[at / sizes.len()].replay)(&job));
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers.clamp(1, count.max(1)))
            .map(|_| scope.spawn(work))
            .collect();
        while !workers.iter().all(|worker| worker.is_finished()) {
            std::thread::sleep(std::time::Duration::from_millis(5));
            told(done.load(Ordering::Relaxed) as f64 / all);
        }
    });
    let mut found = outcomes.into_iter().filter_map(OnceLock::into_inner);
    policies
        .iter()
        .map(|_| found.by_ref().take(sizes.len()).collect())
        .collect()
}
