//! The plan of a run: steps of users, each with ramp, warm-up and measured window.

use satline_program::clock::SECOND_NS;

/// A step; lengths in ns, those that it does not state are the plan's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub users: usize,
    pub ramp_ns: Option<i64>,
    pub warmup_ns: Option<i64>,
    pub window_ns: Option<i64>,
}

impl Step {
    /// A step of the plan's lengths.
    pub fn of(users: usize) -> Self {
        Self {
            users,
            ramp_ns: None,
            warmup_ns: None,
            window_ns: None,
        }
    }
}

/// Lengths in ns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub steps: Vec<Step>,
    pub ramp_ns: i64,
    /// The ramp is per user who logs on or off, not per step.
    pub ramp_per_user: bool,
    pub warmup_ns: i64,
    pub window_ns: i64,
    /// Most users that a step may have.
    pub most: usize,
}

/// Part of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Ramp,
    Warmup,
    Window,
    /// The step is over, and nobody has said what comes next: the users go on.
    Hold,
    Drain,
    Done,
}

impl Phase {
    /// The word that recordings use.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ramp => "ramp",
            Self::Warmup => "warmup",
            Self::Window => "window",
            Self::Hold => "hold",
            Self::Drain => "drain",
            Self::Done => "done",
        }
    }
}

impl Plan {
    /// Length of the ramp of a step (0-based), ns.
    pub fn ramp_of(&self, step: usize) -> i64 {
        if let Some(own) = self.steps[step].ramp_ns {
            return own;
        }
        if !self.ramp_per_user {
            return self.ramp_ns;
        }
        self.ramp_ns * self.change(step) as i64
    }

    /// Users before a step.
    pub fn before(&self, step: usize) -> usize {
        if step == 0 { 0 } else { self.steps[step - 1].users }
    }

    /// Users who log on or off at the beginning of a step.
    fn change(&self, step: usize) -> usize {
        self.steps[step].users.abs_diff(self.before(step))
    }

    /// When the window of a step begins, ns after the step does.
    pub fn window_of(&self, step: usize) -> i64 {
        self.ramp_of(step) + self.steps[step].warmup_ns.unwrap_or(self.warmup_ns)
    }

    /// Length of a step, ns.
    pub fn length_of(&self, step: usize) -> i64 {
        self.window_of(step) + self.steps[step].window_ns.unwrap_or(self.window_ns)
    }

    /// Length of the whole run, s, the drain excepted.
    pub fn total_s(&self) -> f64 {
        (0..self.steps.len())
            .map(|step| self.length_of(step))
            .sum::<i64>() as f64
            / SECOND_NS as f64
    }

    /// When, after the step's beginning, the n-th of its changing users logs on or off, ns: evenly over the ramp.
    pub fn offset_of(&self, step: usize, nth: usize) -> i64 {
        // In 128 bits: hours of ramp times thousands of users overflow 64.
        let offset = i128::from(self.ramp_of(step)) * nth as i128 / self.change(step).max(1) as i128;
        offset as i64
    }
}

/// A length of time as an option gives it: `2s`, `250ms`, `1m`, `1h`, `1.5`; ns.
pub fn parse_duration(text: &str) -> Result<i64, String> {
    let (number, scale) = if let Some(number) = text.strip_suffix("ms") {
        (number, 1e6)
    } else if let Some(number) = text.strip_suffix('s') {
        (number, 1e9)
    } else if let Some(number) = text.strip_suffix('m') {
        (number, 60e9)
    } else if let Some(number) = text.strip_suffix('h') {
        (number, 3600e9)
    } else {
        (text, 1e9)
    };
    let value: f64 = number
        .trim()
        .parse()
        .map_err(|_| format!("{text:?} is no length of time: write 2s, 250ms or 1m"))?;
    if !(0.0..=7.0 * 86_400e9).contains(&(value * scale)) {
        return Err(format!("{text:?} is not between 0 and 7 days"));
    }
    Ok((value * scale) as i64)
}

/// A list of processors as an option gives it: `1`, `0,2-3`.
pub fn parse_processors(text: &str) -> Result<Vec<usize>, String> {
    let wrong = || format!("{text:?} is no list of processors: write 1 or 0,2-3");
    let mut processors = Vec::new();
    for part in text.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let low: usize = low.trim().parse().map_err(|_| wrong())?;
        let high: usize = high.trim().parse().map_err(|_| wrong())?;
        if low > high || high >= libc::CPU_SETSIZE as usize {
            return Err(wrong());
        }
        processors.extend(low..=high);
    }
    Ok(processors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        assert_eq!(parse_duration("2s"), Ok(2_000_000_000));
        assert_eq!(parse_duration("250ms"), Ok(250_000_000));
        assert_eq!(parse_duration("1.5m"), Ok(90_000_000_000));
        assert_eq!(parse_duration("1h"), Ok(3_600_000_000_000));
        assert_eq!(parse_duration("0"), Ok(0));
        for wrong in ["", "x", "-1s", "NaN", "inf", "9000000s", "2d"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn processors() {
        assert_eq!(parse_processors("0,2-3"), Ok(vec![0, 2, 3]));
        for wrong in ["", "a", "3-1", "0,", "99999"] {
            assert!(parse_processors(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_ramp_is_per_step_or_per_user() {
        let mut plan = Plan {
            steps: [4, 1, 3].map(Step::of).to_vec(),
            ramp_ns: 1000,
            ramp_per_user: false,
            warmup_ns: 10,
            window_ns: 20,
            most: 4,
        };
        assert_eq!((plan.ramp_of(0), plan.length_of(1)), (1000, 1030));
        assert_eq!(
            (0..4).map(|nth| plan.offset_of(0, nth)).collect::<Vec<_>>(),
            [0, 250, 500, 750]
        );
        plan.ramp_per_user = true;
        assert_eq!(
            [plan.ramp_of(0), plan.ramp_of(1), plan.ramp_of(2)],
            [4000, 3000, 2000]
        );
        assert_eq!(plan.offset_of(2, 1), 1000);
    }

    #[test]
    fn a_step_may_have_lengths_of_its_own() {
        let own = Step {
            warmup_ns: Some(0),
            window_ns: Some(500),
            ..Step::of(3)
        };
        let plan = Plan {
            steps: vec![
                Step::of(1),
                own,
                Step {
                    ramp_ns: Some(7),
                    ..own
                },
            ],
            ramp_ns: 1000,
            ramp_per_user: true,
            warmup_ns: 10,
            window_ns: 20,
            most: 4,
        };
        assert_eq!([0, 1, 2].map(|step| plan.window_of(step)), [1010, 2000, 7]);
        assert_eq!([0, 1, 2].map(|step| plan.length_of(step)), [1030, 2500, 507]);
    }
}
