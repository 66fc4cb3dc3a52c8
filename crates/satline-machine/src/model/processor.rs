//! A processor, and what it does: nothing, a path of the control program, or a user's burst.

use super::accounts::{ProcessorAccount, ProcessorTime};
use super::reach::ANY;
use crate::engine::{Alarm, Span, real_ns, whole_ns};

/// For whom the control program works when it works for no user.
pub const NOBODY: u32 = u32::MAX;

#[derive(Debug)]
pub struct Processor {
    pub doing: Doing,
    /// The end of what it does.
    pub end: Alarm,
    pub account: ProcessorAccount,
    /// Whose virtual storage it had last; a switch to another user's costs the check of shared pages.
    pub last_user: u32,
    /// Whom an interrupt took off since the last dispatch.
    pub interrupted: Option<u32>,
    /// One who was interrupted and goes on here before all others, where the machine has it so.
    pub kept: Option<u32>,

    // Of its path, where the control program has locks: its length, requests of free storage in it, what is left, the section under a lock that it is in or
    // comes to, that section's length and lock, and who else may do it.
    pub whole: Span,
    pub storage: Span,
    pub left: Span,
    pub stage: u8,
    pub section: Span,
    pub holding: Option<u8>,
    pub among: u64,

    pub counts: ProcessorCounts,
}

/// What a processor did.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessorCounts {
    pub dispatches: u64,
    /// Users taken off it before their burst's end.
    pub interruptions: u64,
    /// Page waits of users who ran here, and users' I/Os that it started.
    pub page_waits: u64,
    pub ios: u64,
    /// I/Os and page-ins that it had no path for.
    pub defers: u64,
}

impl Processor {
    pub fn new(end: Alarm) -> Self {
        Self {
            doing: Doing::Nothing,
            end,
            account: ProcessorAccount::new(ProcessorTime::Idle),
            last_user: NOBODY,
            interrupted: None,
            kept: None,
            whole: Span::ZERO,
            storage: Span::ZERO,
            left: Span::ZERO,
            stage: 0,
            section: Span::ZERO,
            holding: None,
            among: ANY,
            counts: ProcessorCounts::default(),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub enum Doing {
    Nothing,
    /// Within an event: it is decided just now.
    Deciding,
    /// A path of the control program; nothing interrupts it.
    Path {
        user: u32,
        path: Path,
    },
    Burst(Burst),
}

/// Paths of the control program, by what comes after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// The user is put on the processor.
    Dispatch,
    /// A page fault up to the start of its I/O.
    Fault,
    /// What the fault brought about besides (page-outs, the scan), or the queue-add of one who was dropped at it; the user waits
    /// for his page.
    FaultAfter,
    /// The page was still there: the user goes on.
    Reclaim,
    /// A user's start-I/O.
    IoStart,
    /// The start of a page-in, or of a user's I/O, that another processor had no path for.
    FaultPassed,
    IoPassed,
    /// He was let into queue: he is ready.
    LetIn,
    /// His page came: he is ready.
    PageCame,
    /// His I/O ended: he is ready.
    IoCame,
    /// He leaves the queue.
    Drop,
    /// Work for no user.
    System,
}

/// A user's run up to the next thing that the control program must do for him.
#[derive(Debug, Clone, Copy)]
pub struct Burst {
    pub user: u32,
    /// Still to run, ns: his instructions, and those that are simulated for him, evenly among them.
    pub problem: u64,
    pub supervisor: u64,
    pub end: End,
}

/// Why a burst ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Fault,
    Io,
    Transaction,
    /// The slice or the quantum is used up.
    Limit,
}

impl Burst {
    /// How much of it is done after so many ns, problem and supervisor: both grow steadily and end exactly.
    #[inline]
    pub fn done(&self, elapsed: u64) -> (u64, u64) {
        let whole = self.problem + self.supervisor;
        if self.supervisor == 0 || elapsed >= whole {
            return (elapsed.min(self.problem), self.supervisor.min(elapsed));
        }
        let share = real_ns(self.supervisor) / real_ns(whole);
        let supervisor = whole_ns(real_ns(elapsed) * share);
        let supervisor = supervisor.clamp(elapsed.saturating_sub(self.problem), self.supervisor);
        (elapsed - supervisor, supervisor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn burst(problem: u64, supervisor: u64) -> Burst {
        Burst {
            user: 0,
            problem,
            supervisor,
            end: End::Io,
        }
    }

    proptest! {
        #[test]
        fn a_burst_is_done_steadily_and_ends_exactly(
            problem in 0..5_000_000_000_u64, supervisor in 0..5_000_000_000_u64, parts in prop::collection::vec(0.0..1.0, 1..8),
        ) {
            let burst = burst(problem, supervisor);
            let whole = problem + supervisor;
            prop_assert_eq!(burst.done(whole), (problem, supervisor));
            let mut times: Vec<u64> = parts.iter().map(|part| (whole as f64 * part) as u64).collect();
            // The last steps too, where rounding would show.
            times.extend((1..4).map(|left| whole.saturating_sub(left)));
            times.sort_unstable();
            let mut before = (0, 0);
            for time in times {
                let done = burst.done(time);
                prop_assert_eq!(done.0 + done.1, time);
                prop_assert!(done.0 >= before.0 && done.1 >= before.1 && done.0 <= problem && done.1 <= supervisor);
                before = done;
            }
        }
    }
}
