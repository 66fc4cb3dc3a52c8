//! Processor time: a loop in problem state until the process's own clock shows it.

use std::hint::black_box;

/// The loop looks at its clock about this often, so that reading the clock (supervisor state) stays a small part.
const LOOK_EVERY_NS: i64 = 200_000;

/// Uses processor time until `clock` has advanced by `seconds`; returns what it advanced by, in nanoseconds.
///
/// The clock is a processor-time clock, so contention lengthens the elapsed time and not the work. The loop is
/// calibrated as it goes: the stretch between two looks doubles until it takes `LOOK_EVERY_NS`.
pub fn burn(seconds: f64, mut clock: impl FnMut() -> i64, mut work: impl FnMut(u64)) -> i64 {
    let goal = (seconds * 1e9) as i64;
    let start = clock();
    let mut stretch = 256;
    let mut used = 0;
    while used < goal {
        let before = used;
        work(stretch);
        used = clock() - start;
        if used - before < LOOK_EVERY_NS.min(goal - before) / 2 {
            stretch *= 2;
        }
    }
    used
}

/// `rounds` rounds of integer mixing that the compiler can neither remove nor vectorise.
pub fn mix(rounds: u64) {
    let mut value = black_box(1_u64);
    for _ in 0..rounds {
        value = value
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        value ^= value >> 29;
    }
    black_box(value);
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use satline_program::clock;

    use super::*;

    #[test]
    fn burns_what_was_asked_and_looks_seldom() {
        let time = Cell::new(5_000_i64);
        let looks = Cell::new(0);
        let used = burn(
            0.1,
            || {
                looks.set(looks.get() + 1);
                time.get()
            },
            |rounds| time.set(time.get() + rounds as i64),
        );
        assert!((100_000_000..100_600_000).contains(&used), "{used}");
        assert!(looks.get() < 1000, "{} looks", looks.get());
    }

    #[test]
    fn nothing_asked_is_nothing_done() {
        assert_eq!(burn(0.0, || 7, |_| panic!("worked")), 0);
    }

    #[test]
    fn the_real_clock_advances_by_the_work() {
        let before = clock::own_cpu_ns();
        let used = burn(0.01, clock::own_cpu_ns, mix);
        assert!(used >= 10_000_000);
        assert!(clock::own_cpu_ns() - before >= used);
    }
}
