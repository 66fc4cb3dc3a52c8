//! A server with its queue: first come, first served within a priority; who is served is not interrupted.

use std::collections::VecDeque;

use super::{Level, Stays, Time};

/// One or more equal servers before which items wait.
///
/// The server knows who is next, not for how long: the model schedules the end of each service.
#[derive(Debug)]
pub struct Server<T> {
    servers: u64,
    /// By priority, the first goes first.
    lines: Vec<VecDeque<(T, Time)>>,
    /// Items in service and in the lines.
    pub present: Level,
    /// Servers at work.
    pub busy: Level,
    /// Times from arrival to the start of service, of those that have started.
    pub waits: Stays,
}

impl<T: Copy> Server<T> {
    /// So many servers with so many priorities; lines up to this capacity allocate nothing.
    pub fn new(servers: u32, priorities: usize, capacity: usize) -> Self {
        Self {
            servers: u64::from(servers),
            lines: (0..priorities.max(1))
                .map(|_| VecDeque::with_capacity(capacity))
                .collect(),
            present: Level::default(),
            busy: Level::default(),
            waits: Stays::default(),
        }
    }

    /// An item comes; true if its service starts now.
    ///
    /// # Panics
    /// There is no such priority.
    #[inline]
    pub fn arrive(&mut self, now: Time, priority: usize, item: T) -> bool {
        self.present.raise(now);
        let starts = self.busy.value() < self.servers;
        if starts {
            self.busy.raise(now);
            self.waits.count += 1;
        } else {
            self.lines[priority].push_back((item, now));
        }
        starts
    }

    /// A service ends; the item whose service starts now.
    #[inline]
    pub fn depart(&mut self, now: Time) -> Option<T> {
        self.present.lower(now);
        let next = self.lines.iter_mut().find_map(VecDeque::pop_front);
        let Some((item, arrived)) = next else {
            self.busy.lower(now);
            return None;
        };
        self.waits.add(now - arrived);
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_priority_goes_first_and_within_it_the_first_come() {
        let mut server = Server::new(1, 2, 4);
        let at = Time::from_ns;
        assert!(server.arrive(at(0), 1, "a"));
        for (time, priority, item) in [(1, 1, "b"), (2, 0, "c"), (3, 1, "d"), (4, 0, "e")] {
            assert!(!server.arrive(at(time), priority, item));
        }
        let order: Vec<_> = (0..5).map(|n| server.depart(at(10 + n))).collect();
        assert_eq!(order, [Some("c"), Some("e"), Some("b"), Some("d"), None]);
        // Waits: c 8, e 7, b 11, d 10.
        assert_eq!((server.waits.count, server.waits.total_ns), (5, 36));
        assert_eq!(server.busy.integral(at(50)), 14);
        assert_eq!(server.present.integral(at(50)), 14 + 36);
    }

    #[test]
    fn two_servers_serve_two() {
        let mut server = Server::new(2, 1, 0);
        assert!(server.arrive(Time::START, 0, 1));
        assert!(server.arrive(Time::START, 0, 2));
        assert!(!server.arrive(Time::START, 0, 3));
        assert_eq!(server.depart(Time::from_ns(5)), Some(3));
        assert_eq!(server.depart(Time::from_ns(6)), None);
        assert_eq!(server.busy.value(), 1);
    }
}
