//! At most so many bytes and I/Os in a second.

use std::time::Duration;

/// Bytes and I/Os left to spend. What a second allows may be spent at once, never more.
#[derive(Debug, Clone)]
pub struct Budget {
    bytes: Bucket,
    ios: Bucket,
}

#[derive(Debug, Clone)]
struct Bucket {
    per_second: f64,
    left: f64,
    last_ns: i64,
}

impl Bucket {
    fn new(per_second: u64, now_ns: i64) -> Self {
        let per_second = per_second.max(1) as f64;
        Bucket {
            per_second,
            left: per_second,
            last_ns: now_ns,
        }
    }

    /// Seconds until `amount` may be spent. What is more than a second's worth waits until the bucket is full.
    fn wait_s(&mut self, amount: u64, now_ns: i64) -> f64 {
        let passed_s = (now_ns - self.last_ns).max(0) as f64 / 1e9;
        self.last_ns = self.last_ns.max(now_ns);
        self.left = (self.left + passed_s * self.per_second).min(self.per_second);
        ((amount as f64).min(self.per_second) - self.left).max(0.0) / self.per_second
    }
}

impl Budget {
    /// A full budget.
    pub fn new(bytes_per_second: u64, ios_per_second: u64, now_ns: i64) -> Self {
        Budget {
            bytes: Bucket::new(bytes_per_second, now_ns),
            ios: Bucket::new(ios_per_second, now_ns),
        }
    }

    /// Spends, or says how long to wait before asking again.
    ///
    /// # Errors
    /// The time to wait; nothing was spent.
    pub fn spend(&mut self, bytes: u64, ios: u64, now_ns: i64) -> Result<(), Duration> {
        let wait_s = self.bytes.wait_s(bytes, now_ns).max(self.ios.wait_s(ios, now_ns));
        if wait_s > 0.0 {
            return Err(Duration::from_secs_f64(wait_s.max(1e-4)));
        }
        self.bytes.left -= bytes as f64;
        self.ios.left -= ios as f64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn never_more_than_the_burst_and_the_rate(
            asks in proptest::collection::vec((1u64..2000, 1u64..20, 0i64..300_000_000), 1..200),
        ) {
            let (rate, ios_rate) = (1000, 50);
            let mut budget = Budget::new(rate, ios_rate, 0);
            let (mut now, mut spent, mut ios_spent) = (0i64, 0, 0);
            for (bytes, ios, pause) in asks {
                now += pause;
                while let Err(wait) = budget.spend(bytes, ios, now) {
                    now += wait.as_nanos() as i64 + 1;
                }
                spent += bytes;
                ios_spent += ios;
                let seconds = now as f64 / 1e9;
                // One ask above a second's worth may overdraw; it is paid back before the next.
                prop_assert!(spent as f64 <= rate as f64 * (1.0 + seconds) + bytes as f64 + 1.0);
                prop_assert!(ios_spent as f64 <= ios_rate as f64 * (1.0 + seconds) + ios as f64 + 1.0);
            }
        }
    }
}
