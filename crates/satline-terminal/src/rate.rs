//! The bound on how many lines a second all users together may send.

use satline_program::clock::SECOND_NS;

/// A bucket that fills at the bound's rate and holds what a tenth of a second brings, at least one line.
#[derive(Debug)]
pub struct Rate {
    per_second: f64,
    tokens: f64,
    filled_ns: i64,
}

impl Rate {
    pub fn new(per_second: f64) -> Self {
        Self {
            per_second,
            tokens: (per_second / 10.0).max(1.0),
            filled_ns: 0,
        }
    }

    /// Takes one line's leave; else the time to wait before asking again, ns.
    pub fn take(&mut self, now_ns: i64) -> Result<(), i64> {
        if self.filled_ns > 0 {
            let gained = (now_ns - self.filled_ns) as f64 / SECOND_NS as f64 * self.per_second;
            self.tokens = (self.tokens + gained).min((self.per_second / 10.0).max(1.0));
        }
        self.filled_ns = now_ns;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        Err(((1.0 - self.tokens) / self.per_second * SECOND_NS as f64) as i64 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_second_has_more_than_the_bound_and_what_was_saved() {
        let mut rate = Rate::new(50.0);
        let (mut now, mut sent) = (1, 0);
        while now < 10 * SECOND_NS {
            match rate.take(now) {
                Ok(()) => sent += 1,
                Err(wait) => now += wait.max(1),
            }
        }
        assert!((495..=505).contains(&sent), "{sent}");
    }
}
