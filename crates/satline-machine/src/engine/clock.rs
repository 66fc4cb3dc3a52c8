//! The clock: whole nanoseconds since the start of the run.
//!
//! Integers make the order of events and all sums exact; 64 bits hold 584 years. Sums that would go beyond stop at the
//! end of time, [`Time::NEVER`].

use std::ops::{Add, AddAssign, Mul, Sub};

/// A point in simulated time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A length of simulated time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

/// A length in ns as a real number. Beyond 292 years it is cut off; so it takes an instruction where an unsigned number's
/// conversion takes many, on processors without one for it.
#[inline]
pub fn real_ns(ns: u64) -> f64 {
    ns.min(i64::MAX as u64) as i64 as f64
}

/// The whole ns of a length that is not below 0, cut off as in [`real_ns`].
#[inline]
pub fn whole_ns(ns: f64) -> u64 {
    ns as i64 as u64
}

impl Time {
    pub const START: Self = Self(0);
    /// Later than everything that happens.
    pub const NEVER: Self = Self(u64::MAX);

    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    pub const fn ns(self) -> u64 {
        self.0
    }

    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-9
    }
}

impl Span {
    pub const ZERO: Self = Self(0);

    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// The nearest whole nanosecond; below 0 and NaN give 0, too long gives the longest.
    #[inline]
    pub fn from_seconds(seconds: f64) -> Self {
        // The cast saturates, and cuts; `round` would be a call where the processor's baseline has no instruction.
        Self((seconds * 1e9 + 0.5) as u64)
    }

    pub const fn ns(self) -> u64 {
        self.0
    }

    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-9
    }
}

impl Add<Span> for Time {
    type Output = Self;

    #[inline]
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub for Time {
    type Output = Span;

    /// # Panics
    /// The other time is later: the model asks for a negative length.
    #[inline]
    fn sub(self, earlier: Self) -> Span {
        Span(
            self.0
                .checked_sub(earlier.0)
                .expect("a length of time is below 0"),
        )
    }
}

impl Add for Span {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;

    /// # Panics
    /// The other length is longer.
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0.checked_sub(other.0).expect("a length of time is below 0"))
    }
}

impl Mul<u64> for Span {
    type Output = Self;

    #[inline]
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_the_nearest_nanosecond() {
        assert_eq!(Span::from_seconds(0.0166), Span::from_ns(16_600_000));
        assert_eq!(Span::from_seconds(1.4e-9), Span::from_ns(1));
        assert_eq!(Span::from_seconds(1.6e-9), Span::from_ns(2));
    }

    #[test]
    fn impossible_seconds_stay_within_time() {
        assert_eq!(Span::from_seconds(-1.0), Span::ZERO);
        assert_eq!(Span::from_seconds(f64::NAN), Span::ZERO);
        assert_eq!(Time::START + Span::from_seconds(f64::INFINITY), Time::NEVER);
        assert_eq!(Time::NEVER + Span::from_ns(1), Time::NEVER);
    }

    #[test]
    #[should_panic(expected = "below 0")]
    fn a_negative_length_is_a_mistake_of_the_model() {
        let _ = Time::START - Time::from_ns(1);
    }
}
