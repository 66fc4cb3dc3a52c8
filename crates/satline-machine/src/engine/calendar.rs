//! The calendar: what happens next, in one total order.
//!
//! The order is (time, priority, sequence): of two events at the same time the lower priority number comes first, and
//! of two with the same priority the one scheduled first. So a run does not depend on how the heap lies in memory.
//!
//! Most events happen soon after they are scheduled: a device's take milliseconds, while hundreds of users think for
//! seconds. So those that would come among the next few go into a short sorted list, whose end is the next event; only the
//! others go into a heap. What of one thing can only happen once at a time, such as the end of what a processor does, is
//! soonest of all: for it there are [`Alarm`]s. Which of the three an event is in changes nothing but speed. A cancelled
//! event stays where it is and is skipped; when more than half of all are cancelled, they are swept out.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::alarms::{Alarm, Alarms, NEAR};
use super::{Span, Time};

/// The priority of events that have no reason for another.
pub const NORMAL: u8 = 128;

/// What events are ordered by: time, priority, sequence.
pub(super) type Key = u128;

/// Later than every event's.
pub(super) const NO_KEY: Key = Key::MAX;

/// Events of the calendar that no one may cancel have no slot.
const NO_SLOT: u32 = u32::MAX;
/// No event has this order.
const FREE: u64 = u64::MAX;
const SEQUENCE_BITS: u32 = 56;
/// Below this many cancelled events sweeping is not worth while.
const FEW: usize = 64;
/// An event that would come after so many of the sorted list goes into the heap.
const SOON: usize = 32;

/// The right to cancel one event. It stays harmless after the event happened or was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    slot: u32,
    order: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry<E> {
    time: Time,
    /// Priority in the upper 8 bits, sequence below: unique in a run.
    order: u64,
    slot: u32,
    event: E,
}

impl<E> Entry<E> {
    #[inline]
    fn key(&self) -> Key {
        key(self.time, self.order)
    }
}

#[inline]
fn key(time: Time, order: u64) -> Key {
    (Key::from(time.ns()) << 64) | Key::from(order)
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    // The heap compares with `<=`: without this it would go through `Option<Ordering>`.
    #[inline]
    fn le(&self, other: &Self) -> bool {
        other.key() <= self.key()
    }
}

impl<E> Ord for Entry<E> {
    // The standard heap has its greatest on top.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

#[inline]
fn time_of(key: Key) -> Time {
    Time::from_ns((key >> 64) as u64)
}

/// The events to come, and the clock.
#[derive(Debug)]
pub struct Calendar<E> {
    /// The next one is the last.
    soon: Vec<Entry<E>>,
    later: BinaryHeap<Entry<E>>,
    alarms: Alarms<E>,
    now: Time,
    sequence: u64,
    /// By slot: the order of the event that holds it.
    holders: Vec<u64>,
    free: Vec<u32>,
    cancelled: usize,
}

impl<E: Copy> Default for Calendar<E> {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl<E: Copy> Calendar<E> {
    /// A calendar that allocates nothing while no more than so many events are to come.
    pub fn with_capacity(events: usize) -> Self {
        Self {
            soon: Vec::with_capacity(events),
            later: BinaryHeap::with_capacity(events),
            alarms: Alarms::new(),
            now: Time::START,
            sequence: 0,
            holders: Vec::new(),
            free: Vec::new(),
            cancelled: 0,
        }
    }

    /// The time of the event that was handed out last.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many events are to come.
    pub fn len(&self) -> usize {
        self.soon.len() + self.later.len() + self.alarms.len() - self.cancelled
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Schedules an event after a length of time.
    #[inline]
    pub fn schedule(&mut self, after: Span, priority: u8, event: E) {
        let order = self.order(priority);
        self.insert(self.now + after, order, NO_SLOT, event);
    }

    /// Schedules an event after a length of time so that it can be cancelled.
    #[inline]
    pub fn schedule_cancellable(&mut self, after: Span, priority: u8, event: E) -> Token {
        let order = self.order(priority);
        self.insert_cancellable(self.now + after, order, event)
    }

    #[inline]
    fn insert_cancellable(&mut self, time: Time, order: u64, event: E) -> Token {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.holders.push(FREE);
            (self.holders.len() - 1) as u32
        });
        self.holders[slot as usize] = order;
        self.insert(time, order, slot, event);
        Token { slot, order }
    }

    /// Cancels an event; false if it has happened or was cancelled before.
    pub fn cancel(&mut self, token: Token) -> bool {
        if !self.give_up(token.slot, token.order) {
            return false;
        }
        self.cancelled += 1;
        if self.cancelled > FEW && self.cancelled > self.len() {
            self.sweep();
        }
        true
    }

    /// A place for an event that is scheduled again and again, and never twice at a time: cheaper than the others.
    pub fn add_alarm(&mut self, event: E) -> Alarm {
        self.alarms.add(event)
    }

    /// Schedules the event of a place; one that was to come there is called off.
    #[inline]
    pub fn set_alarm(&mut self, alarm: Alarm, after: Span, priority: u8) {
        let order = self.order(priority);
        let time = self.now + after;
        if self.alarms.put(alarm, key(time, order)).is_none() {
            self.set_far(alarm, time, order);
        }
    }

    /// Calls off the event of a place; false if none was to come.
    pub fn cancel_alarm(&mut self, alarm: Alarm) -> bool {
        match self.alarms.put(alarm, NO_KEY) {
            Some(before) => before != NO_KEY,
            None => {
                let token = self.alarms.tokens[alarm.0 as usize - NEAR].take();
                token.is_some_and(|token| self.cancel(token))
            }
        }
    }

    #[cold]
    fn set_far(&mut self, alarm: Alarm, time: Time, order: u64) {
        self.cancel_alarm(alarm);
        let event = self.alarms.event(alarm);
        let token = self.insert_cancellable(time, order, event);
        self.alarms.tokens[alarm.0 as usize - NEAR] = Some(token);
    }

    /// The next event up to and including a time; the clock moves to it. When there is none, the clock moves to that time.
    #[inline(always)] // A run is a loop around it.
    #[allow(clippy::should_implement_trait)] // An iterator could not be scheduled into.
    pub fn next(&mut self, until: Time) -> Option<E> {
        loop {
            let (soon, later) = (self.soon.last(), self.later.peek());
            let is_soon = match (soon, later) {
                (Some(soon), Some(later)) => soon.key() < later.key(),
                (soon, _) => soon.is_some(),
            };
            let queued = if is_soon { soon } else { later };
            if self.alarms.any() {
                let alarm = self.alarms.first();
                if alarm < queued.map_or(NO_KEY, Entry::key) {
                    let time = time_of(alarm);
                    if time > until {
                        self.now = self.now.max(until);
                        return None;
                    }
                    self.now = time;
                    return Some(self.alarms.take(alarm));
                }
            }
            let Some(&entry) = queued.filter(|entry| entry.time <= until) else {
                self.now = self.now.max(until);
                return None;
            };
            if is_soon {
                self.soon.pop();
            } else {
                self.later.pop();
            }
            if entry.slot != NO_SLOT && !self.give_up(entry.slot, entry.order) {
                self.cancelled -= 1;
                continue;
            }
            self.now = entry.time;
            return Some(entry.event);
        }
    }

    #[inline]
    fn order(&mut self, priority: u8) -> u64 {
        let order = (u64::from(priority) << SEQUENCE_BITS) | self.sequence;
        // 2^56 events are a century of running.
        self.sequence += 1;
        order
    }

    #[inline]
    fn insert(&mut self, time: Time, order: u64, slot: u32, event: E) {
        let entry = Entry {
            time,
            order,
            slot,
            event,
        };
        let key = entry.key();
        let soon = &mut self.soon;
        let count = soon.len();
        if count >= SOON && soon[count - SOON].key() < key {
            self.later.push(entry);
            return;
        }
        soon.push(entry);
        // Mostly few steps: quicker than a search and a move of memory.
        let soon = &mut soon[..];
        let mut at = count;
        while at > 0 && soon[at - 1].key() < key {
            soon[at] = soon[at - 1];
            at -= 1;
        }
        soon[at] = entry;
    }

    /// Frees a slot if the event with this order holds it.
    #[inline]
    fn give_up(&mut self, slot: u32, order: u64) -> bool {
        let held = self.holders.get(slot as usize) == Some(&order);
        if held {
            self.holders[slot as usize] = FREE;
            self.free.push(slot);
        }
        held
    }

    fn sweep(&mut self) {
        let holders = &self.holders;
        let stands = |entry: &Entry<E>| entry.slot == NO_SLOT || holders[entry.slot as usize] == entry.order;
        self.soon.retain(stands);
        self.later.retain(stands);
        self.cancelled = 0;
    }
}
