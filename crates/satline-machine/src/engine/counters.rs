//! Integrating counters: exact time averages and mean stays, cheaper than a trace of events [Bard].

use super::{Span, Time};

/// A status level that adds up (value × time it held): the difference of two readings, divided by the time between
/// them, is the exact mean.
#[derive(Debug, Clone, Copy, Default)]
pub struct Level {
    value: u64,
    since: Time,
    integral: u128,
}

impl Level {
    /// The value now.
    #[inline]
    pub fn value(&self) -> u64 {
        self.value
    }

    /// From now on the level has this value.
    #[inline]
    pub fn set(&mut self, now: Time, value: u64) {
        self.integral += u128::from(self.value) * u128::from((now - self.since).ns());
        self.since = now;
        self.value = value;
    }

    /// One more.
    #[inline]
    pub fn raise(&mut self, now: Time) {
        self.set(now, self.value + 1);
    }

    /// One less.
    ///
    /// # Panics
    /// The level is 0: more left than came.
    #[inline]
    pub fn lower(&mut self, now: Time) {
        self.set(
            now,
            self.value.checked_sub(1).expect("a level would fall below 0"),
        );
    }

    /// ∫ value dt up to now, in ns × the unit of the value.
    #[inline]
    pub fn integral(&self, now: Time) -> u128 {
        self.integral + u128::from(self.value) * u128::from((now - self.since).ns())
    }
}

/// Stays that ended: their number and their summed length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stays {
    pub count: u64,
    pub total_ns: u128,
}

impl Stays {
    #[inline]
    pub fn add(&mut self, stay: Span) {
        self.count += 1;
        self.total_ns += u128::from(stay.ns());
    }

    /// The mean stay, s; `None` while none has ended.
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total_ns as f64 * 1e-9 / self.count as f64)
    }
}

/// A state that users enter and leave: how many are in it, how often it was entered, how long they stayed.
#[derive(Debug, Clone, Copy, Default)]
pub struct State {
    pub population: Level,
    pub entries: u64,
    pub stays: Stays,
}

impl State {
    /// A user enters. The time is to be kept and given back to [`State::leave`].
    #[inline]
    pub fn enter(&mut self, now: Time) -> Time {
        self.entries += 1;
        self.population.raise(now);
        now
    }

    /// A user leaves who entered then.
    #[inline]
    pub fn leave(&mut self, now: Time, entered: Time) {
        self.population.lower(now);
        self.stays.add(now - entered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_integrates_exactly_also_between_changes() {
        let mut level = Level::default();
        level.set(Time::from_ns(10), 3);
        level.raise(Time::from_ns(15));
        level.lower(Time::from_ns(15));
        assert_eq!(level.integral(Time::from_ns(20)), 30);
        level.set(Time::from_ns(20), u64::MAX);
        let end = Time::NEVER;
        assert_eq!(
            level.integral(end),
            30 + u128::from(u64::MAX) * u128::from(end.ns() - 20)
        );
    }

    #[test]
    fn a_state_counts_entries_stays_and_the_population() {
        let mut state = State::default();
        let first = state.enter(Time::from_ns(0));
        let second = state.enter(Time::from_ns(4));
        state.leave(Time::from_ns(10), first);
        assert_eq!(
            (state.entries, state.stays.count, state.stays.total_ns),
            (2, 1, 10)
        );
        state.leave(Time::from_ns(12), second);
        assert_eq!(
            state.population.integral(Time::from_ns(100)),
            state.stays.total_ns
        );
        assert!((state.stays.mean_s().unwrap() - 9e-9).abs() < 1e-20);
        assert_eq!(Stays::default().mean_s(), None);
    }

    #[test]
    #[should_panic(expected = "below 0")]
    fn no_one_leaves_who_did_not_come() {
        Level::default().lower(Time::START);
    }
}
