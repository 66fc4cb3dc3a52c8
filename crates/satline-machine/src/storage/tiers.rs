//! Tiers of paging areas, the fastest first.

use super::areas::{Area, SETS_ONLY};

/// The tiers, and over which part of each so many pages reach.
pub(super) fn tiers(list: &[Area], pages: u32) -> Vec<(u32, f64)> {
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
