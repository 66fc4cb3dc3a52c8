//! The closed central-server model's figures and draws, the same for all peers.

use rand::RngExt;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;

pub const CUSTOMERS: u32 = 100;
pub const DISKS: usize = 4;
const THINK_NS: f64 = 10e9;
const CPU_NS: f64 = 10e6;
const DISK_NS: f64 = 30e6;
const DONE: f64 = 0.1;

pub struct Chance(Pcg64);

impl Chance {
    pub fn new() -> Self {
        Self(Pcg64::new(0xcafe_f00d_d15e_a5e5, 0x0a02_bdbf_7bb3_c0a7))
    }

    fn exponential(&mut self, mean_ns: f64) -> u64 {
        let standard: f64 = Exp1.sample(&mut self.0);
        (mean_ns * standard + 0.5) as u64
    }

    pub fn think(&mut self) -> u64 {
        self.exponential(THINK_NS)
    }

    pub fn burst(&mut self) -> u64 {
        self.exponential(CPU_NS)
    }

    pub fn access(&mut self) -> u64 {
        self.exponential(DISK_NS)
    }

    /// Where a customer goes after a CPU burst: to a disk, or to think.
    pub fn route(&mut self) -> Option<usize> {
        let route: f64 = self.0.random();
        (route >= DONE).then(|| ((route - DONE) / (1.0 - DONE) * DISKS as f64) as usize)
    }
}

impl Default for Chance {
    fn default() -> Self {
        Self::new()
    }
}

/// The simulated seconds asked for, in ns.
pub fn asked_ns() -> u64 {
    match std::env::args().nth(1).and_then(|text| text.parse::<f64>().ok()) {
        Some(seconds) => (seconds * 1e9) as u64,
        None => {
            eprintln!("usage: PEER SECONDS");
            std::process::exit(2);
        }
    }
}

pub fn print(events: u64, done: u64, ns: u64) {
    let throughput = done as f64 / (ns as f64 * 1e-9);
    println!("{{\"events\": {events}, \"throughput_per_s\": {throughput}}}");
}
