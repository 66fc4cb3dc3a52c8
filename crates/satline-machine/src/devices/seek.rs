//! How long the arm takes over a distance.

use satline_program::Error;

use crate::engine::Span;

/// Seek times by distance in cylinders.
///
/// With x = (d − 1) / (C − 2) for a distance d of 1 … C − 1 cylinders: `seek(d) = min + b·√x + c·x`. The root is the part
/// in which the arm speeds up and slows down, the line the part at full speed. The two coefficients are not chosen
/// but follow from the published figures: b + c = max − min, and the mean over all pairs of different cylinders is the
/// mean seek. Distance 0 takes no time.
#[derive(Debug, Clone, PartialEq)]
pub struct SeekCurve {
    by_distance: Box<[Span]>,
}

impl SeekCurve {
    /// The curve through minimum, mean and maximum, ms, of a device with so many cylinders.
    ///
    /// # Errors
    /// No rising curve of this form has these three.
    pub fn new(cylinders: u32, min_ms: f64, mean_ms: f64, max_ms: f64) -> Result<Self, Error> {
        let wrong = |why: &str| {
            Error::input(
                format!("seek times {min_ms}, {mean_ms}, {max_ms} ms over {cylinders} cylinders: {why}"),
                "give minimum < mean < maximum; the mean is over random pairs of cylinders, at 0.33 to 0.53 of the way \
                 from minimum to maximum",
            )
        };
        if cylinders < 3 || !(0.0 <= min_ms && min_ms < mean_ms && mean_ms < max_ms && max_ms.is_finite()) {
            return Err(wrong("not in order"));
        }
        let share = |distance: u32| f64::from(distance - 1) / f64::from(cylinders - 2);
        let (mut pairs, mut roots, mut lines) = (0.0, 0.0, 0.0);
        for distance in 1..cylinders {
            let weight = f64::from(cylinders - distance);
            pairs += weight;
            roots += weight * share(distance).sqrt();
            lines += weight * share(distance);
        }
        let (root, line) = (roots / pairs, lines / pairs);
        let b = (mean_ms - min_ms - (max_ms - min_ms) * line) / (root - line);
        let c = max_ms - min_ms - b;
        // A hair of rounding is no reason to refuse a straight line or a pure root.
        if b < -1e-9 || c < -1e-9 {
            return Err(wrong("no curve min + b·√x + c·x with b, c ≥ 0 has this mean"));
        }
        let ms = |distance: u32| match distance {
            0 => 0.0,
            d => min_ms + b * share(d).sqrt() + c * share(d),
        };
        Ok(Self {
            by_distance: (0..cylinders).map(|d| Span::from_seconds(ms(d) * 1e-3)).collect(),
        })
    }

    /// The time from one cylinder to another.
    ///
    /// # Panics
    /// A cylinder is beyond the device's last.
    pub fn between(&self, from: u32, to: u32) -> Span {
        self.by_distance[from.abs_diff(to) as usize]
    }

    /// How many cylinders there are.
    pub fn cylinders(&self) -> u32 {
        self.by_distance.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_ms(curve: &SeekCurve) -> f64 {
        let cylinders = curve.cylinders();
        let mut sum = 0.0;
        for from in 0..cylinders {
            for to in 0..cylinders {
                sum += curve.between(from, to).seconds() * 1e3;
            }
        }
        sum / (f64::from(cylinders) * f64::from(cylinders - 1))
    }

    #[test]
    fn the_curve_has_the_published_minimum_mean_and_maximum() {
        for (cylinders, min, mean, max) in [
            (885, 3.0, 16.0, 30.0),
            (404, 10.0, 30.0, 55.0),
            (555, 10.0, 25.0, 50.0),
        ] {
            let curve = SeekCurve::new(cylinders, min, mean, max).unwrap();
            assert_eq!(curve.between(7, 7), Span::ZERO);
            assert_eq!(curve.between(8, 7), Span::from_seconds(min * 1e-3));
            assert_eq!(curve.between(0, cylinders - 1), Span::from_seconds(max * 1e-3));
            assert!((mean_ms(&curve) - mean).abs() < 1e-4);
            assert!(curve.by_distance.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }

    #[test]
    fn figures_that_no_arm_can_have_are_refused() {
        for (min, mean, max) in [
            (10.0, 5.0, 50.0),
            (3.0, 29.0, 30.0),
            (3.0, 5.0, 30.0),
            (3.0, 16.0, f64::NAN),
            (-1.0, 16.0, 30.0),
        ] {
            assert!(SeekCurve::new(885, min, mean, max).is_err(), "{min} {mean} {max}");
        }
        assert!(SeekCurve::new(2, 3.0, 16.0, 30.0).is_err());
    }
}
