//! The slot nearest the arm, else nearest the centre.
//!
//! What: an unused slot on the device's last-used cylinder; else the free slot nearest the centre of the volume.
//! Why: a page-out hardly moves the arm, and what is kept stays in a narrow band; but pages written together end up on
//! as many devices and cylinders as there are.
//! Reference: [T87], base system.

use super::SlotChoice;
use crate::storage::Area;

#[derive(Debug)]
struct ZigZag;

pub fn make(_areas: usize) -> Box<dyn SlotChoice> {
    Box::new(ZigZag)
}

impl SlotChoice for ZigZag {
    fn choose(&mut self, _number: usize, area: &Area) -> u32 {
        let centre = area.centre;
        // Centre, one below, one above, two below …
        let outward = (0..area.cylinders()).flat_map(|by| [centre.checked_sub(by), Some(centre + by)]);
        let cylinders = outward.flatten().filter(|&cylinder| cylinder < area.cylinders());
        std::iter::once(area.last_cylinder)
            .chain(cylinders)
            .find_map(|cylinder| area.first_free_on(cylinder))
            .expect("the area has a free slot")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_the_last_used_cylinder_then_from_the_centre_outward() {
        // Five cylinders of two slots; the arm stands on the first.
        let mut area = Area::new(0, 0, 100, 5, 2);
        area.last_cylinder = 0;
        let mut policy = make(1);
        let chosen: Vec<u32> = std::iter::repeat_with(|| {
            let slot = policy.choose(0, &area);
            area.take(slot);
            slot
        })
        .take(10)
        .collect();
        assert_eq!(chosen, [0, 1, 4, 5, 2, 3, 6, 7, 8, 9]);
        // The arm moved, and a place there became free.
        area.give_back(9);
        area.give_back(5);
        area.last_cylinder = 4;
        assert_eq!(policy.choose(0, &area), 9);
    }

    #[test]
    fn an_area_beside_the_volumes_centre_fills_from_there() {
        let mut area = Area::new(0, 0, 0, 5, 2);
        (area.centre, area.last_cylinder) = (4, 0);
        let mut policy = make(1);
        let chosen: Vec<u32> = std::iter::repeat_with(|| {
            let slot = policy.choose(0, &area);
            area.take(slot);
            slot
        })
        .take(10)
        .collect();
        assert_eq!(chosen, [0, 1, 8, 9, 6, 7, 4, 5, 2, 3]);
    }
}
