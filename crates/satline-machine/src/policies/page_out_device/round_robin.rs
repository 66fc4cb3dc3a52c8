//! Every device in turn.
//!
//! What: page-outs go to the areas of the tier in turn, one page each.
//! Why: the load spreads evenly over the devices; but no two pages written after one another are on one device.
//! Reference: [T87], base system.

use super::PageOutDevice;
use crate::storage::Area;

#[derive(Debug, Default)]
struct RoundRobin {
    next: usize,
}

pub fn make() -> Box<dyn PageOutDevice> {
    Box::new(RoundRobin::default())
}

impl PageOutDevice for RoundRobin {
    fn choose(&mut self, areas: &[Area], tier: u32) -> usize {
        let turns = (self.next..areas.len()).chain(0..self.next);
        let open = |&area: &usize| areas[area].tier == tier && areas[area].free() > 0;
        let chosen = { turns }.find(open).expect("the tier has a free slot");
        self.next = (chosen + 1) % areas.len();
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_take_turns_and_full_ones_or_other_tiers_are_passed_over() {
        let mut areas = [0, 0, 1, 0].map(|tier| Area::new(0, tier, 0, 1, 2));
        let mut policy = make();
        let turns = |policy: &mut Box<dyn PageOutDevice>, areas: &[Area]| -> Vec<usize> {
            (0..4).map(|_| policy.choose(areas, 0)).collect()
        };
        assert_eq!(turns(&mut policy, &areas), [0, 1, 3, 0]);
        areas[1].take(0);
        areas[1].take(1);
        assert_eq!(turns(&mut policy, &areas), [3, 0, 3, 0]);
        assert_eq!(policy.choose(&areas, 1), 2);
    }
}
