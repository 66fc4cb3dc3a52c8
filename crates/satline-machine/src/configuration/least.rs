//! How long slices and the quantum must be, so that users get anywhere.

use satline_program::Error;

use super::{Costs, Machine, SchedulerFigures};
use crate::engine::Span;

impl SchedulerFigures {
    /// Names, lengths, and what each must exceed with so many shared pages in storage: a quantum covers a dispatch, a stay
    /// in queue its queue-add and one page that is waited for, with a dispatch before and after.
    pub fn least(&self, costs: &Costs, shared_pages: u32) -> [(&'static str, Span, Span); 3] {
        let dispatch = costs.dispatch + costs.shared_page_check * u64::from(shared_pages);
        let stay = costs.queue_add + dispatch + costs.page_fault + costs.page_in_end + dispatch;
        [
            ("quantum", self.quantum, dispatch),
            ("q1_slice", self.q1_slice, stay),
            ("q2_slice", self.q2_slice, stay),
        ]
    }
}

impl Machine {
    /// Slices and the quantum are long enough when so many pages are shared.
    ///
    /// # Errors
    /// One is not.
    pub fn covers(&self, shared_pages: u32) -> Result<(), Error> {
        let resident = shared_pages.min(self.storage.pageable_frames);
        let least = self.scheduler.least(&self.costs, resident);
        match least.into_iter().find(|(_, length, least)| length <= least) {
            Some((name, length, least)) => Err(Error::input(
                format!(
                    "machine {:?}: {name} is {:.3} ms, and the control program's paths alone take {:.3} ms with {resident} shared \
                     pages in storage",
                    self.name,
                    length.ns() as f64 * 1e-6,
                    least.ns() as f64 * 1e-6
                ),
                "users would get nowhere: give longer slices, shorter paths in [costs], or fewer shared pages",
            )),
            None => Ok(()),
        }
    }
}
