//! Slots in a wave that sweeps to and fro.
//!
//! What: the next free slot ahead of a cursor that sweeps over the paging area and is reflected at its ends.
//! Why: what is written together lies together, and what is read soon after follows as a wave.
//! Reference: [T87], round-turkey and contiguous block prototypes.

use super::SlotChoice;
use crate::storage::Area;

#[derive(Debug, Clone, Copy)]
struct Cursor {
    at: u32,
    up: bool,
}

#[derive(Debug)]
struct MovingCursor(Vec<Cursor>);

pub fn make(areas: usize) -> Box<dyn SlotChoice> {
    Box::new(MovingCursor(vec![Cursor { at: 0, up: true }; areas]))
}

impl SlotChoice for MovingCursor {
    fn choose(&mut self, number: usize, area: &Area) -> u32 {
        let cursor = &mut self.0[number];
        // To the end and back again passes every slot.
        for _ in 0..2 {
            let ahead = if cursor.up {
                area.next_free(cursor.at)
            } else {
                area.previous_free(cursor.at)
            };
            if let Some(slot) = ahead {
                cursor.at = slot;
                return slot;
            }
            cursor.up = !cursor.up;
        }
        unreachable!("the area has a free slot")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sweeps_up_and_back_down_over_what_became_free() {
        let mut area = Area::new(0, 0, 0, 2, 3);
        let mut policy = make(1);
        let mut next = |area: &mut Area| {
            let slot = policy.choose(0, area);
            area.take(slot);
            slot
        };
        area.take(1);
        let up: Vec<u32> = (0..4).map(|_| next(&mut area)).collect();
        assert_eq!(up, [0, 2, 3, 4]);
        // Behind the cursor; it goes on to the end first.
        area.give_back(0);
        area.give_back(3);
        let back: Vec<u32> = (0..3).map(|_| next(&mut area)).collect();
        assert_eq!(back, [5, 3, 0]);
        area.give_back(2);
        assert_eq!(next(&mut area), 2);
    }
}
