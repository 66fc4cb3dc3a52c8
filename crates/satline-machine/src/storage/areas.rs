//! Where pages are kept outside storage: slots of paging areas.

use rand::RngExt;
use satline_program::Error;

use super::blocks::Blocks;
use super::decisions::Places;
use crate::configuration::Machine;
use crate::engine::Stream;

/// The tier of areas that hold whole sets only: no page goes there by itself.
pub(super) const SETS_ONLY: u32 = u32::MAX;

/// A part of a device that holds pages. Slots are numbered from its first cylinder on.
#[derive(Debug, Clone)]
pub struct Area {
    /// Its place in [`Machine::devices`].
    pub device: usize,
    pub tier: u32,
    /// The cylinder, from the area's first, to which the last start-I/O of paging went.
    pub last_cylinder: u32,
    /// Of the area's cylinders that nearest the volume's centre.
    pub centre: u32,
    first_cylinder: u32,
    per_cylinder: u32,
    /// One bit per slot.
    used: Vec<u64>,
    slots: u32,
    free: u32,
    free_on: Vec<u32>,
}

impl Area {
    /// An empty area in the middle of its volume; the arm stands in its middle.
    pub fn new(device: usize, tier: u32, first_cylinder: u32, cylinders: u32, per_cylinder: u32) -> Self {
        let slots = cylinders * per_cylinder;
        Self {
            device,
            tier,
            last_cylinder: cylinders / 2,
            centre: cylinders / 2,
            first_cylinder,
            per_cylinder,
            used: vec![0; slots.div_ceil(64) as usize],
            slots,
            free: slots,
            free_on: vec![per_cylinder; cylinders as usize],
        }
    }

    pub fn slots(&self) -> u32 {
        self.slots
    }

    pub fn free(&self) -> u32 {
        self.free
    }

    pub fn cylinders(&self) -> u32 {
        self.free_on.len() as u32
    }

    /// Free slots on a cylinder of the area.
    pub fn free_on(&self, cylinder: u32) -> u32 {
        self.free_on[cylinder as usize]
    }

    pub fn cylinder_of(&self, slot: u32) -> u32 {
        slot / self.per_cylinder
    }

    pub fn is_free(&self, slot: u32) -> bool {
        self.used[slot as usize / 64] >> (slot % 64) & 1 == 0
    }

    /// The lowest free slot of a cylinder.
    pub fn first_free_on(&self, cylinder: u32) -> Option<u32> {
        if self.free_on(cylinder) == 0 {
            return None;
        }
        self.next_free(cylinder * self.per_cylinder)
    }

    /// The first free slot at or above one.
    pub fn next_free(&self, from: u32) -> Option<u32> {
        let mut word = from as usize / 64;
        let mut free = !self.used.get(word)? & (u64::MAX << (from % 64));
        while free == 0 {
            word += 1;
            free = !*self.used.get(word)?;
        }
        let slot = word as u32 * 64 + free.trailing_zeros();
        (slot < self.slots).then_some(slot)
    }

    /// The first free slot at or below one.
    pub fn previous_free(&self, from: u32) -> Option<u32> {
        let mut word = from as usize / 64;
        let mut free = !self.used[word] & (u64::MAX >> (63 - from % 64));
        while free == 0 {
            word = word.checked_sub(1)?;
            free = !self.used[word];
        }
        Some(word as u32 * 64 + 63 - free.leading_zeros())
    }

    /// # Panics
    /// The slot is taken.
    pub fn take(&mut self, slot: u32) {
        assert!(self.is_free(slot), "slot {slot} is taken");
        self.used[slot as usize / 64] |= 1 << (slot % 64);
        self.free -= 1;
        self.free_on[(slot / self.per_cylinder) as usize] -= 1;
    }

    /// # Panics
    /// The slot is free.
    pub fn give_back(&mut self, slot: u32) {
        assert!(!self.is_free(slot), "slot {slot} is free");
        self.used[slot as usize / 64] &= !(1 << (slot % 64));
        self.free += 1;
        self.free_on[(slot / self.per_cylinder) as usize] += 1;
    }
}

/// All paging areas. A slot has one number over all of them.
#[derive(Debug)]
pub struct Areas {
    list: Vec<Area>,
    /// The number of each area's first slot.
    bases: Vec<u32>,
    /// Tiers in order: the number, the part of each about its middle over which pages are laid at first.
    tiers: Vec<(u32, f64)>,
    blocks: Blocks,
}

/// A slot as its device knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub area: usize,
    pub cylinder: u32,
    pub slot: u16,
}

impl Areas {
    /// The areas of a machine, for programs with so many pages in all.
    ///
    /// # Errors
    /// There is none, one is not on its device, or two overlap.
    pub fn new(machine: &Machine, pages: u32, set_places: Places) -> Result<Self, Error> {
        let wrong = |number: usize, why: String, hint: &str| {
            Err(Error::input(format!("paging area {}: {why}", number + 1), hint))
        };
        let plan = &machine.paging.areas;
        if plan.is_empty() {
            return Err(Error::input(
                "there is no paging area",
                "give the machine at least one",
            ));
        }
        let mut list: Vec<Area> = Vec::with_capacity(plan.len());
        for (number, area) in plan.iter().enumerate() {
            let Some(unit) = machine.devices.get(area.device) else {
                return wrong(
                    number,
                    format!("there is no device {}", area.device),
                    "name a device of the machine",
                );
            };
            let end = area.first_cylinder.checked_add(area.cylinders);
            if area.cylinders == 0 || end.is_none_or(|end| end > unit.model.cylinders()) {
                let why = format!(
                    "{} cylinders from {} on are not on {}",
                    area.cylinders, area.first_cylinder, unit.name
                );
                return wrong(
                    number,
                    why,
                    &format!("the device has {} cylinders", unit.model.cylinders()),
                );
            }
            let overlaps = |other: &&crate::configuration::PageArea| {
                other.device == area.device
                    && other.first_cylinder < area.first_cylinder + area.cylinders
                    && area.first_cylinder < other.first_cylinder + other.cylinders
            };
            if plan[..number].iter().find(overlaps).is_some() {
                return wrong(
                    number,
                    format!("it overlaps another on {}", unit.name),
                    "move or shorten one of them",
                );
            }
            let per_cylinder = unit.model.slots_per_cylinder();
            let tier = match area.purpose.holds_pages() {
                true => area.tier,
                false => SETS_ONLY,
            };
            let mut made = Area::new(
                area.device,
                tier,
                area.first_cylinder,
                area.cylinders,
                per_cylinder,
            );
            let centre = unit.model.cylinders() / 2;
            made.centre = centre.saturating_sub(area.first_cylinder).min(area.cylinders - 1);
            list.push(made);
        }
        let mut bases = vec![0_u32];
        for area in &list {
            match bases[bases.len() - 1].checked_add(area.slots) {
                Some(base) if base < u32::MAX => bases.push(base),
                _ => {
                    return wrong(
                        bases.len() - 1,
                        "more than 2³² slots in all".into(),
                        "shorten the areas",
                    );
                }
            }
        }
        bases.pop();
        Ok(Self {
            tiers: tiers(&list, pages),
            blocks: Blocks::new(machine, set_places)?,
            list,
            bases,
        })
    }

    pub fn list(&self) -> &[Area] {
        &self.list
    }

    pub fn slots(&self) -> u32 {
        self.list.iter().map(Area::slots).sum()
    }

    pub fn used(&self) -> u32 {
        self.list.iter().map(|area| area.slots - area.free).sum()
    }

    /// The lowest tier that has a free slot.
    pub fn open_tier(&self) -> Option<u32> {
        let open =
            |&&(tier, _): &&(u32, f64)| self.list.iter().any(|area| area.tier == tier && area.free > 0);
        self.tiers.iter().find(open).map(|&(tier, _)| tier)
    }

    /// Whether an area is of the fastest of several tiers.
    pub fn is_fast(&self, area: usize) -> bool {
        self.tiers.len() > 1 && self.list[area].tier == self.tiers[0].0
    }

    /// The area in which a slot lies.
    #[inline]
    fn area_of(&self, slot: u32) -> usize {
        self.bases.partition_point(|&base| base <= slot) - 1
    }

    pub fn place(&self, slot: u32) -> Place {
        let area = self.area_of(slot);
        let of = &self.list[area];
        let inside = slot - self.bases[area];
        Place {
            area,
            cylinder: of.first_cylinder + inside / of.per_cylinder,
            slot: (inside % of.per_cylinder) as u16,
        }
    }

    /// The lowest tier behind the fastest that has a free slot for single pages.
    pub(super) fn open_slower_tier(&self) -> Option<u32> {
        let open = |tier: u32| self.list.iter().any(|area| area.tier == tier && area.free > 0);
        let slower = self.tiers.iter().skip(1).map(|&(tier, _)| tier);
        slower.into_iter().find(|&tier| open(tier))
    }

    /// Free slots of the fastest tier.
    pub(super) fn free_of_fastest(&self) -> u32 {
        let fastest = self.tiers.first().map(|&(tier, _)| tier);
        let areas = self.list.iter().filter(|area| Some(area.tier) == fastest);
        areas.map(Area::free).sum()
    }

    /// The slots of the block of so many in which a slot lies; blocks are counted from an area's first slot.
    pub(super) fn around(&self, slot: u32, slots: u32) -> std::ops::Range<u32> {
        let area = self.area_of(slot);
        let base = self.bases[area];
        let first = base + (slot - base) / slots * slots;
        first..(first + slots).min(base + self.list[area].slots)
    }

    /// Whether a slot of the same area, numbered from its first, is on the cylinder of a place.
    pub fn is_on_cylinder(&self, place: Place, slot: u32) -> bool {
        let area = &self.list[place.area];
        area.first_cylinder + area.cylinder_of(slot) == place.cylinder
    }

    /// Takes a slot of an area and returns its number.
    pub fn take(&mut self, area: usize, slot: u32) -> u32 {
        self.list[area].take(slot);
        self.blocks.took(area, slot);
        self.bases[area] + slot
    }

    pub fn give_back(&mut self, slot: u32) {
        let area = self.area_of(slot);
        self.list[area].give_back(slot - self.bases[area]);
        self.blocks.gave_back(area, slot - self.bases[area]);
    }

    /// The area and the first slot of a free block for a swap set; `None`: no area is for sets, or all are full.
    pub fn choose_block(&mut self) -> Option<(usize, u32)> {
        self.blocks.choose()
    }

    /// Blocks agree with their slots.
    ///
    /// # Errors
    /// They do not: a mistake of the program.
    pub(super) fn check_blocks(&self) -> Result<(), String> {
        self.blocks.check(&self.list)
    }

    pub fn is_taken(&self, slot: u32) -> bool {
        let area = self.area_of(slot);
        !self.list[area].is_free(slot - self.bases[area])
    }

    /// Whether a slot is in an area that holds whole sets only.
    pub(super) fn is_for_sets(&self, slot: u32) -> bool {
        self.list[self.area_of(slot)].tier == SETS_ONLY
    }

    /// A start-I/O goes there: the arm will stand on its cylinder.
    pub fn visit(&mut self, place: Place) {
        let area = &mut self.list[place.area];
        area.last_cylinder = place.cylinder - area.first_cylinder;
    }

    /// Takes a slot for a page that was written before the run began: any of the lowest tier with a free one, about the
    /// middle of the area, which is where the pages of a system that ran for long lie.
    pub fn take_any(&mut self, chance: &mut Stream) -> Option<u32> {
        // As many draws whatever is free: the user's later pages get the same ones on any machine.
        let (which, where_): (f64, f64) = (chance.random(), chance.random());
        let tier = self.open_tier()?;
        let (_, part) = *self.tiers.iter().find(|one| one.0 == tier)?;
        let open = |area: &Area| if area.tier == tier { area.free } else { 0 };
        let total: u32 = self.list.iter().map(open).sum();
        let mut wanted = ((which * f64::from(total)) as u32).min(total - 1);
        let area = self.list.iter().position(|area| {
            let free = open(area);
            let here = wanted < free;
            wanted = wanted.wrapping_sub(if here { 0 } else { free });
            here
        })?;
        let of = &self.list[area];
        let begins = f64::from(of.slots) * ((1.0 - part) / 2.0 + part * where_);
        let begins = (begins as u32).min(of.slots - 1);
        let slot = of.next_free(begins).or_else(|| of.previous_free(begins))?;
        Some(self.take(area, slot))
    }
}

/// The tiers, the fastest first, and over which part of each so many pages reach.
fn tiers(list: &[Area], pages: u32) -> Vec<(u32, f64)> {
    let all = list.iter().map(|area| area.tier);
    let mut numbers: Vec<u32> = all.filter(|&tier| tier != SETS_ONLY).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut left = f64::from(pages);
    let part = |tier| {
        let slots: u32 = list
            .iter()
            .filter(|area| area.tier == tier)
            .map(Area::slots)
            .sum();
        let part = (left / f64::from(slots)).clamp(0.0, 1.0);
        left = (left - f64::from(slots)).max(0.0);
        (tier, part)
    };
    numbers.into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn free_slots_are_found_in_both_directions(
            taken in prop::collection::hash_set(0..150_u32, 0..150), from in 0..150_u32,
        ) {
            let mut area = Area::new(0, 0, 3, 10, 15);
            taken.iter().for_each(|&slot| area.take(slot));
            let free = |slot: &u32| !taken.contains(slot);
            prop_assert_eq!(area.next_free(from), (from..150).find(free));
            prop_assert_eq!(area.previous_free(from), (0..=from).rev().find(free));
            let cylinder = from / 15;
            prop_assert_eq!(area.first_free_on(cylinder), (cylinder * 15..cylinder * 15 + 15).find(free));
            prop_assert_eq!(area.free() as usize, 150 - taken.len());
            taken.iter().for_each(|&slot| area.give_back(slot));
            prop_assert_eq!((area.free(), area.free_on(cylinder)), (150, 15));
        }
    }
}
