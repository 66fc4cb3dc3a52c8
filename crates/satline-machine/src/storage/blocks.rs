//! Paging areas that hold swap sets: divided into blocks of a set's length, so that a set lies in one piece.
//!
//! Reference: [T87], contiguous block page prototype: sets go to areas of their own, allocated a whole set at a time by
//! the moving cursor. Devices take turns.

use satline_program::Error;

use super::areas::Area;
use super::decisions::{PageOutDevice, Places, SlotChoice};
use crate::configuration::{MOST_SET_PAGES, Machine};

/// The blocks of all areas for sets. A block lies on one cylinder; slots behind a cylinder's last whole block are in none.
#[derive(Debug)]
pub(super) struct Blocks {
    /// Slots of a block.
    size: u32,
    /// By area: its place in the lists below.
    of_area: Vec<Option<usize>>,
    divided: Vec<Divided>,
    /// Each as an area whose slots are blocks; one is taken while any slot of it is.
    free: Vec<Area>,
    turns: Box<dyn PageOutDevice>,
    cursors: Box<dyn SlotChoice>,
}

#[derive(Debug)]
struct Divided {
    area: usize,
    slots_per_cylinder: u32,
    blocks_per_cylinder: u32,
    /// By block: slots taken.
    taken: Vec<u8>,
}

impl Blocks {
    /// The blocks of a machine's areas for sets; none where nothing is swapped.
    ///
    /// # Errors
    /// A set does not fit on a cylinder.
    pub fn new(machine: &Machine, places: Places) -> Result<Self, Error> {
        let size = machine.swapping.as_ref().map(|plan| plan.set_pages);
        if let Some(wrong) = size.filter(|size| !(1..=MOST_SET_PAGES).contains(size)) {
            return Err(Error::input(
                format!("swapping.set_pages is {wrong}"),
                format!("give 1 to {MOST_SET_PAGES}"),
            ));
        }
        let mut of_area = vec![None; machine.paging.areas.len()];
        let (mut divided, mut free) = (Vec::new(), Vec::new());
        for (number, area) in machine.paging.areas.iter().enumerate() {
            let Some(size) = size.filter(|_| area.purpose.holds_sets()) else {
                continue;
            };
            let slots_per_cylinder = machine.devices[area.device].model.slots_per_cylinder();
            let blocks_per_cylinder = slots_per_cylinder / size;
            if blocks_per_cylinder == 0 {
                return Err(Error::input(
                    format!(
                        "swapping.set_pages is {size}, and a cylinder of paging area {} has {slots_per_cylinder} slots",
                        number + 1
                    ),
                    "give a set that fits on a cylinder",
                ));
            }
            of_area[number] = Some(divided.len());
            divided.push(Divided {
                area: number,
                slots_per_cylinder,
                blocks_per_cylinder,
                taken: vec![0; (area.cylinders * blocks_per_cylinder) as usize],
            });
            free.push(Area::new(
                area.device,
                area.tier,
                0,
                area.cylinders,
                blocks_per_cylinder,
            ));
        }
        Ok(Self {
            size: size.unwrap_or(1),
            of_area,
            turns: places.device,
            cursors: (places.slot)(divided.len()),
            divided,
            free,
        })
    }

    /// The area and the first slot of a free block; `None`: there is none.
    pub fn choose(&mut self) -> Option<(usize, u32)> {
        let open = self.free.iter().filter(|area| area.free() > 0);
        let tier = open.map(|area| area.tier).min()?;
        let which = self.turns.choose(&self.free, tier);
        let block = self.cursors.choose(which, &self.free[which]);
        let of = &self.divided[which];
        let (cylinder, inside) = (block / of.blocks_per_cylinder, block % of.blocks_per_cylinder);
        Some((of.area, cylinder * of.slots_per_cylinder + inside * self.size))
    }

    /// A slot of an area was taken.
    pub fn took(&mut self, area: usize, slot: u32) {
        if let Some((which, block)) = self.block_of(area, slot) {
            let taken = &mut self.divided[which].taken[block as usize];
            *taken += 1;
            if *taken == 1 {
                self.free[which].take(block);
            }
        }
    }

    /// A slot of an area was given back.
    pub fn gave_back(&mut self, area: usize, slot: u32) {
        if let Some((which, block)) = self.block_of(area, slot) {
            let taken = &mut self.divided[which].taken[block as usize];
            *taken -= 1;
            if *taken == 0 {
                self.free[which].give_back(block);
            }
        }
    }

    fn block_of(&self, area: usize, slot: u32) -> Option<(usize, u32)> {
        let which = self.of_area[area]?;
        let of = &self.divided[which];
        let inside = slot % of.slots_per_cylinder / self.size;
        let block = slot / of.slots_per_cylinder * of.blocks_per_cylinder + inside;
        (inside < of.blocks_per_cylinder).then_some((which, block))
    }

    /// Every block is as its slots are.
    ///
    /// # Errors
    /// One is not: a mistake of the program.
    pub fn check(&self, areas: &[Area]) -> Result<(), String> {
        for (of, free) in self.divided.iter().zip(&self.free) {
            let area = &areas[of.area];
            let mut taken = vec![0_u8; of.taken.len()];
            for slot in (0..area.slots()).filter(|&slot| !area.is_free(slot)) {
                if let Some((_, block)) = self.block_of(of.area, slot) {
                    taken[block as usize] += 1;
                }
            }
            let agrees = (0_u32..)
                .zip(&taken)
                .all(|(block, &count)| free.is_free(block) == (count == 0));
            if taken != of.taken || !agrees {
                return Err(format!(
                    "blocks of paging area {} are not as their slots",
                    of.area + 1
                ));
            }
        }
        Ok(())
    }
}
