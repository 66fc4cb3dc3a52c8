//! Every device in turn.
//!
//! What: page-outs go to the devices of the tier in turn, one page each; on a device with several areas to the first that
//! has room.
//! Why: the load spreads evenly over the devices; but no two pages written after one another are on one device.
//! Reference: [T87], base system.

use super::PageOutDevice;
use crate::storage::Area;

#[derive(Debug, Default)]
struct RoundRobin {
    /// By tier: the device whose turn it is, or the next after it. A page for one tier moves no other tier's turn.
    turns: Vec<(u32, usize)>,
}

pub fn make() -> Box<dyn PageOutDevice> {
    Box::new(RoundRobin::default())
}

impl PageOutDevice for RoundRobin {
    fn choose(&mut self, areas: &[Area], tier: u32) -> usize {
        let known = self.turns.iter().position(|&(of, _)| of == tier);
        let place = known.unwrap_or_else(|| {
            self.turns.push((tier, 0));
            self.turns.len() - 1
        });
        let next = &mut self.turns[place].1;
        // Those whose turn has passed come after all others; the first of equals is taken. One number, for its comparisons
        // need no branches.
        let turn = |area: &Area| match area.tier == tier && area.free() > 0 {
            true => u64::from(area.device < *next) << 32 | area.device as u64,
            false => u64::MAX,
        };
        let first = areas.iter().enumerate().min_by_key(|(_, area)| turn(area));
        let open = first.filter(|(_, area)| turn(area) != u64::MAX);
        let (chosen, area) = open.expect("the tier has a free slot");
        *next = area.device + 1;
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_take_turns_and_full_ones_or_other_tiers_are_passed_over() {
        let mut areas =
            [(0, 0), (1, 0), (2, 1), (3, 0)].map(|(device, tier)| Area::new(device, tier, 0, 1, 2));
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

    #[test]
    fn a_page_for_another_tier_takes_nobodys_turn() {
        let areas = [(0, 0), (1, 1), (2, 1)].map(|(device, tier)| Area::new(device, tier, 0, 1, 2));
        let mut policy = make();
        let chosen = [1, 0, 1, 0, 1].map(|tier| policy.choose(&areas, tier));
        assert_eq!(chosen, [1, 0, 2, 0, 1]);
    }

    #[test]
    fn a_device_with_two_areas_has_one_turn() {
        let mut areas = [4, 4, 7].map(|device| Area::new(device, 0, 0, 1, 2));
        let mut policy = make();
        let chosen: Vec<usize> = (0..4).map(|_| policy.choose(&areas, 0)).collect();
        assert_eq!(chosen, [0, 2, 0, 2]);
        areas[0].take(0);
        areas[0].take(1);
        assert_eq!((policy.choose(&areas, 0), policy.choose(&areas, 0)), (1, 2));
    }
}
