//! What turns: when a page comes under its head.

use crate::MachineError;
use crate::engine::{Span, Time};

/// A device's rotation and the page slots on its tracks.
///
/// Slots lie evenly round the track, and slot numbers of a cylinder go on from track to track: slot s begins at angle
/// (s mod slots) / slots of a revolution. Changing heads takes no time, so consecutive slots pass one after
/// the other also where a track ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Track {
    revolution: Span,
    slots: u64,
    /// From the reconnection to the first byte of the page.
    lead: Span,
    transfer: Span,
    /// Where the device stands at the start of the run.
    phase: Span,
}

impl Track {
    /// A track with these figures.
    ///
    /// # Errors
    /// A page with its lead does not fit into its slot, or nothing turns.
    pub fn new(revolution: Span, slots: u32, lead: Span, transfer: Span) -> Result<Self, MachineError> {
        let slots = u64::from(slots);
        if revolution == Span::ZERO || slots == 0 || (lead + transfer) * slots > revolution {
            return Err(MachineError::new(
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
            phase: Span::ZERO,
        })
    }

    /// The same track, turned by a share of a revolution: devices do not turn in step.
    ///
    /// Real spindles drift against each other; here devices of one type keep their angles for a whole run. How often
    /// they miss reconnections depends on these angles, so give them by chance and average over replications.
    pub fn turned(self, share: f64) -> Self {
        let ns = (self.revolution.ns() as f64 * share.clamp(0.0, 1.0)) as u64;
        Self {
            phase: Span::from_ns(ns % self.revolution.ns()),
            ..self
        }
    }

    pub fn revolution(&self) -> Span {
        self.revolution
    }

    /// The first time, at or after the given one, at which the device reconnects for a slot.
    pub fn reconnection(&self, slot: u16, from: Time) -> Time {
        let turn = self.revolution.ns();
        let begins = u64::from(slot) % self.slots * turn / self.slots;
        let wanted = (begins + turn - self.lead.ns()) % turn;
        let angle = (from.ns() % turn + self.phase.ns()) % turn;
        from + Span::from_ns((wanted + turn - angle) % turn)
    }

    /// How long the path is held for so many pages on consecutive slots.
    pub fn held(&self, pages: usize) -> Span {
        let between = Span::from_ns(self.revolution.ns() * (pages as u64 - 1) / self.slots);
        self.lead + between + self.transfer
    }
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
