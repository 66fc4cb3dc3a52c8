//! Always from the same edge.
//!
//! What: the free slot nearest the area's first.
//! Why: the control of the moving cursor: what is written together fills the holes that reads left, all over the area.
//! Reference: [T87], round-turkey prototype with the cursor off.

use super::SlotChoice;
use crate::storage::Area;

#[derive(Debug)]
struct OneEdge;

pub fn make(_areas: usize) -> Box<dyn SlotChoice> {
    Box::new(OneEdge)
}

impl SlotChoice for OneEdge {
    fn choose(&mut self, _number: usize, area: &Area) -> u32 {
        area.next_free(0).expect("the area has a free slot")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_near_the_edge_are_filled_before_anything_beyond() {
        let mut area = Area::new(0, 0, 100, 5, 2);
        area.last_cylinder = 4;
        let mut policy = make(1);
        let mut next = |area: &mut Area| {
            let slot = policy.choose(0, area);
            area.take(slot);
            slot
        };
        let first: Vec<u32> = (0..4).map(|_| next(&mut area)).collect();
        assert_eq!(first, [0, 1, 2, 3]);
        area.give_back(2);
        area.give_back(0);
        let holes: Vec<u32> = (0..3).map(|_| next(&mut area)).collect();
        assert_eq!(holes, [0, 2, 4]);
    }
}
