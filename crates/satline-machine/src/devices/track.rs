//! What turns: when a page comes under its head.

use satline_program::Error;

use crate::engine::{Span, Time};

/// A device's rotation and the page slots on its tracks.
///
/// Slots lie evenly round the track, and slot numbers of a cylinder go on from track to track: slot s begins at angle
/// (s mod slots) / slots of a revolution. Changing heads takes no time, so consecutive slots pass one after
/// the other also where a track ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Track {
    revolution: Span,
    slots: u64,
    /// From the reconnection to the first byte of the page.
    lead: Span,
    transfer: Span,
    /// By slot of a track: the time within a revolution, from the start of the run on, at which the device reconnects, ns.
    sectors: Box<[u64]>,
}

impl Track {
    /// A track with these figures.
    ///
    /// # Errors
    /// A page with its lead does not fit into its slot, or nothing turns.
    pub fn new(revolution: Span, slots: u32, lead: Span, transfer: Span) -> Result<Self, Error> {
        let slots = u64::from(slots);
        let fits = slots > 0 && (lead + transfer) * slots <= revolution;
        if revolution == Span::ZERO || !fits {
            return Err(Error::input(
                format!(
                    "{slots} pages of {:.3} ms, each reached {:.3} ms before it begins, do not fit into a revolution of \
                     {:.3} ms",
                    transfer.seconds() * 1e3,
                    lead.seconds() * 1e3,
                    revolution.seconds() * 1e3
                ),
                "check rotation_ms, pages_per_track, rate_bytes_per_s, and sectors or search_ms",
            ));
        }
        Ok(Self {
            revolution,
            slots,
            lead,
            transfer,
            sectors: sectors(revolution.ns(), slots, lead.ns(), 0),
        })
    }

    /// The same track, turned by a share of a revolution: devices do not turn in step.
    ///
    /// Real spindles drift against each other; here devices of one type keep their angles for a whole run. How often
    /// they miss reconnections depends on these angles, so give them by chance and average over replications.
    pub fn turned(&self, share: f64) -> Self {
        let turn = self.revolution.ns();
        let ns = (turn as f64 * share.clamp(0.0, 1.0)) as u64;
        Self {
            sectors: sectors(turn, self.slots, self.lead.ns(), ns % turn),
            ..self.clone()
        }
    }

    pub fn revolution(&self) -> Span {
        self.revolution
    }

    /// The first time, at or after the given one, at which the device reconnects for a slot.
    #[inline]
    pub fn reconnection(&self, slot: u16, from: Time) -> Time {
        from + self.wait(slot, self.angle(from))
    }

    /// How far the revolution is at a time, ns.
    #[inline]
    pub(super) fn angle(&self, at: Time) -> u64 {
        at.ns() % self.revolution.ns()
    }

    /// How long it takes from an angle until the device reconnects for a slot.
    #[inline]
    pub(super) fn wait(&self, slot: u16, angle: u64) -> Span {
        // Slots of a cylinder fit into 16 bits, those of a track into 32.
        let sector = self.sectors[(u32::from(slot) % self.sectors.len() as u32) as usize];
        let later = if sector >= angle { 0 } else { self.revolution.ns() };
        Span::from_ns(sector + later - angle)
    }

    /// How long the path is held for so many pages on consecutive slots.
    pub fn held(&self, pages: usize) -> Span {
        let between = Span::from_ns(self.revolution.ns() * (pages as u64 - 1) / self.slots);
        self.lead + between + self.transfer
    }
}

/// When each slot of a track reconnects, within a revolution; the device stands at `phase` at the start of the run.
fn sectors(turn: u64, slots: u64, lead: u64, phase: u64) -> Box<[u64]> {
    let begins = |slot| slot * turn / slots;
    (0..slots)
        .map(|slot| (begins(slot) + 2 * turn - lead - phase) % turn)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1000;

    fn track() -> Track {
        let us = |n: u64| Span::from_ns(n * US);
        Track::new(us(10_000), 3, us(100), us(2_700)).unwrap()
    }

    #[test]
    fn a_slot_comes_round_once_in_a_revolution() {
        let at = |us: u64| Time::from_ns(us * US);
        assert_eq!(track().reconnection(0, at(0)), at(9_900));
        assert_eq!(track().reconnection(0, at(9_900)), at(9_900));
        assert_eq!(track().reconnection(0, Time::from_ns(9_900 * US + 1)), at(19_900));
        // Slot 4 lies on the second track under slot 1, at a third of the revolution.
        assert_eq!(
            track().reconnection(4, at(0)),
            Time::from_ns(10_000_000 / 3 - 100_000)
        );
        assert_eq!(track().turned(0.25).reconnection(0, at(0)), at(7_400));
    }

    #[test]
    fn consecutive_pages_hold_the_path_also_over_the_gaps() {
        assert_eq!(track().held(1), Span::from_ns(2_800 * US));
        assert_eq!(track().held(4), Span::from_ns(12_800 * US));
    }

    #[test]
    fn pages_that_do_not_fit_are_refused() {
        let ms = |n: u64| Span::from_ns(n * 1_000_000);
        assert!(Track::new(ms(10), 3, ms(1), ms(3)).is_err());
        assert!(Track::new(ms(0), 1, ms(0), ms(0)).is_err());
        assert!(Track::new(ms(10), 0, ms(0), ms(0)).is_err());
    }
}
