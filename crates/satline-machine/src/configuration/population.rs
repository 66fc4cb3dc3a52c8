//! Who the programs of a run are: users by class, and background programs after them.

use super::{TransactionKind, Workload};

/// 1/φ: the multiples' fractions spread as evenly as can be, for every number of them.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// The class of user k: that whose cumulated share reaches the fraction of ½ + k/φ.
pub fn class_of(workload: &Workload, user: u32) -> usize {
    let total: f64 = workload.classes.iter().map(|class| class.share).sum();
    let wanted = (0.5 + f64::from(user) * GOLDEN).fract() * total;
    let mut reached = 0.0;
    let found = workload.classes.iter().position(|class| {
        reached += class.share;
        wanted < reached
    });
    // The sum may end a rounding below the last number.
    found.unwrap_or(workload.classes.len().saturating_sub(1))
}

/// Somebody who uses the machine.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// Classes first, background programs' kinds after them.
    pub class: u16,
    pub background: bool,
    pub space_pages: u32,
    pub kinds: &'a [TransactionKind],
}

/// The programs of a run with so many users: users 0, 1, …, then background programs. Their places here are their
/// numbers everywhere.
pub fn programs(workload: &Workload, users: u32) -> Vec<Program<'_>> {
    let user = |number| {
        let class = class_of(workload, number);
        let of = &workload.classes[class];
        Program {
            class: class as u16,
            background: false,
            space_pages: of.space_pages,
            kinds: &of.transactions,
        }
    };
    let mut all: Vec<Program> = (0..users).map(user).collect();
    for (number, of) in workload.background.iter().enumerate() {
        let one = Program {
            class: (workload.classes.len() + number) as u16,
            background: true,
            space_pages: of.space_pages,
            kinds: std::slice::from_ref(&of.kind),
        };
        all.extend(std::iter::repeat_n(one, of.count as usize));
    }
    all
}
