//! The clockwork's timer heap: events in order of (due time, order of setting), and others that may wait for one of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Timers that carry a `T`. Cancelling is the owner's affair: it ignores what it no longer expects.
#[derive(Debug)]
pub struct Timers<T> {
    prompt: Heap<T>,
    /// For these alone nobody is woken before `slack_ns` is over; a turn for something else takes them along.
    patient: Heap<T>,
    slack_ns: i64,
}

#[derive(Debug)]
struct Heap<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    sequence: u64,
}

#[derive(Debug)]
struct Entry<T> {
    due_ns: i64,
    sequence: u64,
    what: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.due_ns, self.sequence) == (other.due_ns, other.sequence)
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.due_ns, self.sequence).cmp(&(other.due_ns, other.sequence))
    }
}

impl<T> Heap<T> {
    fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            sequence: 0,
        }
    }

    fn set(&mut self, due_ns: i64, what: T) {
        self.sequence += 1;
        self.heap.push(Reverse(Entry {
            due_ns,
            sequence: self.sequence,
            what,
        }));
    }

    fn next_due_ns(&self) -> Option<i64> {
        self.heap.peek().map(|entry| entry.0.due_ns)
    }

    fn take_due(&mut self, now_ns: i64) -> Option<(i64, T)> {
        if self.next_due_ns()? > now_ns {
            return None;
        }
        self.heap.pop().map(|entry| (entry.0.due_ns, entry.0.what))
    }
}

impl<T> Timers<T> {
    pub fn new(slack_ns: i64) -> Self {
        Self {
            prompt: Heap::new(),
            patient: Heap::new(),
            slack_ns,
        }
    }

    /// Sets a timer for a monotonic time.
    pub fn set(&mut self, due_ns: i64, what: T) {
        self.prompt.set(due_ns, what);
    }

    /// Sets a timer for a monotonic time or up to the slack later.
    pub fn set_patient(&mut self, due_ns: i64, what: T) {
        self.patient.set(due_ns, what);
    }

    pub fn slack_ns(&self) -> i64 {
        self.slack_ns
    }

    /// When somebody must look at the timers.
    pub fn next_ns(&self) -> Option<i64> {
        let latest = self.patient.next_due_ns().map(|due| due + self.slack_ns);
        self.prompt.next_due_ns().into_iter().chain(latest).min()
    }

    /// Takes the next timer if it is due at `now_ns`: its due time and what it carries. The patient wait for the others.
    pub fn take_due(&mut self, now_ns: i64) -> Option<(i64, T)> {
        self.prompt
            .take_due(now_ns)
            .or_else(|| self.patient.take_due(now_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn order_is_by_due_time_then_by_setting() {
        let mut timers = Timers::new(5);
        for (due, what) in [(30, "d"), (10, "a"), (20, "b"), (20, "c")] {
            timers.set(due, what);
        }
        assert_eq!(timers.next_ns(), Some(10));
        assert_eq!(timers.take_due(9), None);
        let taken: Vec<_> = std::iter::from_fn(|| timers.take_due(25)).collect();
        assert_eq!(taken, [(10, "a"), (20, "b"), (20, "c")]);
        assert_eq!(timers.next_ns(), Some(30));
    }

    #[test]
    fn the_patient_go_along_and_wake_nobody_before_the_slack_is_over() {
        let mut timers = Timers::new(5);
        timers.set_patient(10, "patient");
        timers.set(12, "prompt");
        assert_eq!(timers.next_ns(), Some(12));
        assert_eq!(timers.take_due(9), None);
        assert_eq!(timers.take_due(12), Some((12, "prompt")));
        assert_eq!(timers.take_due(12), Some((10, "patient")));
        timers.set_patient(20, "alone");
        assert_eq!((timers.next_ns(), timers.take_due(19)), (Some(25), None));
        assert_eq!(timers.take_due(25), Some((20, "alone")));
        assert_eq!(timers.next_ns(), None);
    }

    proptest! {
        /// Whoever wakes at `next_ns` finds something due, and nothing is taken early or later than it may be.
        #[test]
        fn nothing_is_early_and_nothing_too_late(
            set in prop::collection::vec((0i64..1000, any::<bool>()), 1..60),
            slack in 0i64..100,
        ) {
            let mut timers = Timers::new(slack);
            for &(due, patient) in &set {
                if patient { timers.set_patient(due, patient) } else { timers.set(due, patient) }
            }
            let mut taken = 0;
            while let Some(now) = timers.next_ns() {
                let before = taken;
                while let Some((due, patient)) = timers.take_due(now) {
                    let most = if patient { slack } else { 0 };
                    prop_assert!(due <= now && now <= due + most);
                    taken += 1;
                }
                prop_assert!(taken > before);
            }
            prop_assert_eq!(taken, set.len());
        }
    }
}
