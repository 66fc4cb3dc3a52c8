//! The processes that carry lines for the emulator: their processor time is the emulator's too.

use std::collections::HashMap;

use satline_program::clock::{cpu_us_of, own_cpu_us};

use crate::processes::Reaped;

/// Clients that run, and what the others used.
#[derive(Debug, Default)]
pub struct Clients {
    /// Processor time of each at the beginning of the window, us.
    running: HashMap<i32, i64>,
    ended_us: i64,
}

/// Processor time so far, us.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// The emulator and all its clients.
    pub all_us: i64,
    /// Whichever of them used most since `begin`.
    pub busiest_us: i64,
}

impl Clients {
    pub fn add(&mut self, pid: i32) {
        self.running.insert(pid, 0);
    }

    pub fn is_running(&self, pid: i32) -> bool {
        self.running.contains_key(&pid)
    }

    /// One has ended, if it is one.
    pub fn ended(&mut self, child: &Reaped) {
        if self.running.remove(&child.pid).is_some() {
            self.ended_us += child.cpu_us;
        }
    }

    pub fn all(&self) -> Vec<i32> {
        self.running.keys().copied().collect()
    }

    /// A window begins: gives what was used before.
    pub fn begin(&mut self) -> Used {
        let mut all_us = own_cpu_us() + self.ended_us;
        for (pid, began) in &mut self.running {
            *began = cpu_us_of(*pid).unwrap_or(*began);
            all_us += *began;
        }
        Used {
            all_us,
            busiest_us: own_cpu_us(),
        }
    }

    /// `begin`'s own processor time counts as that of the emulator itself.
    pub fn since(&self, begin: Used) -> Used {
        let own = own_cpu_us();
        let (mut all_us, mut busiest_us) = (own + self.ended_us - begin.all_us, own - begin.busiest_us);
        for (pid, began) in &self.running {
            let now = cpu_us_of(*pid).unwrap_or(*began);
            all_us += now;
            busiest_us = busiest_us.max(now - began);
        }
        Used { all_us, busiest_us }
    }
}
