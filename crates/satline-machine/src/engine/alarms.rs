//! Alarms: events of which at most one is to come at a time, each at a place of its own.
//!
//! A few places are looked through for every event, which costs less than keeping anything sorted. Those of a model with
//! more go into the calendar's list like any other event.

use super::calendar::{Key, NO_KEY, Token};

/// So many places are looked through.
pub(super) const NEAR: usize = 4;

/// A place for an alarm of a [`super::Calendar`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alarm(pub(super) u32);

#[derive(Debug)]
pub(super) struct Alarms<E> {
    /// Of the first few places.
    keys: [Key; NEAR],
    /// By place.
    events: Vec<E>,
    /// Of the other places, by number of the place less [`NEAR`].
    pub tokens: Vec<Option<Token>>,
}

impl<E: Copy> Alarms<E> {
    pub fn new() -> Self {
        Self {
            keys: [NO_KEY; NEAR],
            events: Vec::new(),
            tokens: Vec::new(),
        }
    }

    /// One more place, for this event.
    pub fn add(&mut self, event: E) -> Alarm {
        let place = self.events.len();
        self.events.push(event);
        if place >= NEAR {
            self.tokens.push(None);
        }
        Alarm(place as u32)
    }

    pub fn event(&self, alarm: Alarm) -> E {
        self.events[alarm.0 as usize]
    }

    /// How many of the first few are set.
    pub fn len(&self) -> usize {
        self.keys.iter().filter(|&&key| key != NO_KEY).count()
    }

    /// There is a place.
    #[inline]
    pub fn any(&self) -> bool {
        !self.events.is_empty()
    }

    /// The least key of the first few; [`NO_KEY`]: none is set.
    #[inline]
    pub fn first(&self) -> Key {
        let [a, b, c, d] = self.keys;
        a.min(b).min(c.min(d))
    }

    /// Takes off the one with this key.
    #[inline]
    pub fn take(&mut self, key: Key) -> E {
        // Sequences are unique. Which it is is as good as random: no branch.
        let is = |place: usize| usize::from(self.keys[place] as u64 == key as u64);
        let place = is(1) + 2 * is(2) + 3 * is(3);
        self.keys[place] = NO_KEY;
        self.events[place]
    }

    /// Sets one of the first few, or takes it off with [`NO_KEY`]; what it was set to before. `None`: it is none of them.
    #[inline]
    pub fn put(&mut self, alarm: Alarm, key: Key) -> Option<Key> {
        let place = self.keys.get_mut(alarm.0 as usize)?;
        Some(std::mem::replace(place, key))
    }
}
