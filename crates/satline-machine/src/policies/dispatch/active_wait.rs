//! A list for each processor, and idle processors that look at the others'.
//!
//! What: as `affinity`; and a processor without work looks at the lists, its own first, and takes the second of those who wait on
//! one with at least two; nobody has to wake it.
//! Why: work is spread without signals; one who waits alone waits for his own processor, however idle the others are: the
//! low-utilisation effect.
//! Reference: [TB84], VM/SP HPO; [Bitner], stealing from others' lists.

use super::Dispatch;
use super::affinity::Lists;

pub fn make(users: usize, processors: usize) -> Box<dyn Dispatch> {
    Box::new(Lists::new(users, processors, true))
}

#[cfg(test)]
mod tests {
    use super::super::tests::ready;
    use super::*;

    #[test]
    fn one_who_waits_alone_is_left_and_idle_processors_look() {
        let mut lists = make(4, 2);
        assert!(lists.looks());
        lists.enter(ready(1, true, 1, false));
        // He went to the first list.
        assert!(!lists.has_for(1) && lists.has_for(0));
        assert_eq!((lists.next(1), lists.next(0)), (None, Some(1)));
    }
}
