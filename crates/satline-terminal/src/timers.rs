//! The clockwork's timer heap: events in order of (due time, order of setting).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Timers that carry a `T`. Cancelling is the owner's affair: it ignores what it no longer expects.
#[derive(Debug)]
pub struct Timers<T> {
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

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            sequence: 0,
        }
    }
}

impl<T> Timers<T> {
    /// Sets a timer for a monotonic time.
    pub fn set(&mut self, due_ns: i64, what: T) {
        self.sequence += 1;
        self.heap.push(Reverse(Entry {
            due_ns,
            sequence: self.sequence,
            what,
        }));
    }

    /// When the next timer is due.
    pub fn next_due_ns(&self) -> Option<i64> {
        self.heap.peek().map(|entry| entry.0.due_ns)
    }

    /// Takes the next timer if it is due at `now_ns`: its due time and what it carries.
    pub fn take_due(&mut self, now_ns: i64) -> Option<(i64, T)> {
        if self.next_due_ns()? > now_ns {
            return None;
        }
        self.heap.pop().map(|entry| (entry.0.due_ns, entry.0.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_by_due_time_then_by_setting() {
        let mut timers = Timers::default();
        for (due, what) in [(30, "d"), (10, "a"), (20, "b"), (20, "c")] {
            timers.set(due, what);
        }
        assert_eq!(timers.next_due_ns(), Some(10));
        assert_eq!(timers.take_due(9), None);
        let taken: Vec<_> = std::iter::from_fn(|| timers.take_due(25)).collect();
        assert_eq!(taken, [(10, "a"), (20, "b"), (20, "c")]);
        assert_eq!(timers.next_due_ns(), Some(30));
    }
}
