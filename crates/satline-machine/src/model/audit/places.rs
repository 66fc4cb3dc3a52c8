//! Everybody is in one place, and nobody is left standing who could go on.

use std::cmp::Reverse;

use super::{Found, Simulation};
use crate::model::accounts::{UserTime, in_queue};
use crate::model::processor::{Doing, NOBODY, Path};
use crate::readings::Status;

/// Where a user is found; a place may have him more than once, which is a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Places {
    bursts: u32,
    paths: u32,
    /// The path on its processor takes him to a wait for his page.
    to_page_wait: bool,
    /// Paths for him that wait for a processor.
    posted: u32,
    /// On the dispatcher's list.
    listed: bool,
    /// With storage, for a page or a frame.
    waiting: u32,
    /// His page came before he waited for it.
    early: bool,
    /// In the heaps of Q1 and Q2 candidates.
    candidates: [u32; 2],
    thinks: bool,
}

impl Simulation {
    pub(super) fn audit_places(&self, found: &mut Found) {
        let places = self.places();
        let mut in_io = 0;
        for (number, (him, &at)) in self.users.iter().zip(&places).enumerate() {
            let time = him.account.now_as;
            let one = |of: Places| at == of;
            let nowhere = Places::default();
            // Who is on his way to the wait for a page, or was dropped at one: it is to come, or came meanwhile.
            let stands = at.to_page_wait || him.at_fault;
            let before_page = match stands {
                true => Places {
                    waiting: at.waiting,
                    early: at.early,
                    ..nowhere
                },
                false => nowhere,
            };
            let right = match time {
                UserTime::Problem => one(Places { bursts: 1, ..nowhere }),
                UserTime::Supervisor => one(Places {
                    paths: 1,
                    to_page_wait: at.to_page_wait,
                    ..before_page
                }),
                UserTime::CpuWait => {
                    one(Places {
                        posted: 1,
                        to_page_wait: at.to_page_wait,
                        ..before_page
                    }) || one(Places {
                        listed: true,
                        ..nowhere
                    })
                }
                UserTime::PageWait => {
                    one(Places { posted: 1, ..nowhere })
                        || one(Places {
                            waiting: 1,
                            ..nowhere
                        })
                }
                UserTime::IoWait => {
                    in_io += u128::from(at.posted == 0);
                    one(Places { posted: 1, ..nowhere }) || one(nowhere)
                }
                UserTime::Eligible => {
                    let candidates = match him.status {
                        Status::Q1Candidate => [1, 0],
                        _ => [0, 1],
                    };
                    one(Places {
                        candidates,
                        ..before_page
                    })
                }
                UserTime::Dormant => one(Places {
                    thinks: true,
                    ..nowhere
                }),
                UserTime::LoggedOff => one(nowhere),
            };
            let right = right && (!stands || at.waiting + u32::from(at.early) == 1);
            if !right || !goes_with(him.status, time) {
                let status = him.status;
                found
                    .0
                    .push(format!("user {number}, {status:?} and in {time:?}, is at {at:?}"));
            }
        }
        found.same(
            "users in I/O wait = I/O under way",
            in_io,
            self.ios_outstanding.into(),
        );
        let candidates = self.candidates.iter().flatten();
        found.same(
            "projected pages of candidates",
            candidates
                .map(|&Reverse((_, user))| u128::from(self.users[user as usize].projected))
                .sum(),
            self.candidates_pages.into(),
        );
        let idle = (0..self.processors.len())
            .filter(|&number| matches!(self.processors[number].doing, Doing::Nothing));
        let has_work = |number: &usize| {
            let kept = self.processors[*number].kept.is_some();
            kept || self.has_posted(*number) || self.dispatch.has_for(*number)
        };
        let kept = self.processors.iter().filter(|at| at.kept.is_some());
        found.same(
            "users who are ready = on the dispatcher's list + kept by their processors",
            self.users.iter().filter(|user| user.listed).count() as u128,
            (self.dispatch.waiting() + kept.count()) as u128,
        );
        found.same("idle processors", idle.clone().count() as u128, self.idle as u128);
        found.same(
            "idle processors while work is ready",
            idle.filter(has_work).count() as u128,
            0,
        );
        found.same("frames nobody looked for", self.memory.starved().into(), 0);
    }

    fn places(&self) -> Vec<Places> {
        let mut places = vec![Places::default(); self.users.len()];
        for processor in &self.processors {
            match processor.doing {
                Doing::Burst(burst) => places[burst.user as usize].bursts += 1,
                Doing::Path { user, path } if user != NOBODY => {
                    places[user as usize].paths += 1;
                    places[user as usize].to_page_wait = path == Path::FaultAfter;
                }
                Doing::Path { .. } | Doing::Nothing | Doing::Deciding => {}
            }
        }
        let suspended = self.locks.iter().flat_map(|locks| &locks.all);
        let suspended = suspended.flat_map(|lock| lock.suspended.iter().map(|(work, _)| work));
        for work in self
            .posted
            .iter()
            .chain(suspended)
            .filter(|work| work.user != NOBODY)
        {
            let at = &mut places[work.user as usize];
            at.posted += 1;
            at.to_page_wait |= work.path == Path::FaultAfter;
        }
        for (line, candidates) in self.candidates.iter().enumerate() {
            for &Reverse((_, user)) in candidates {
                places[user as usize].candidates[line] += 1;
            }
        }
        let waiting = self.memory.waiting();
        for ((at, him), waiting) in places.iter_mut().zip(&self.users).zip(waiting) {
            at.listed = him.listed;
            at.waiting = waiting;
            at.early = him.early.is_some();
            at.thinks = him.thinking.is_some();
        }
        places
    }
}

/// A user's status and what his time counts as tell the same.
fn goes_with(status: Status, time: UserTime) -> bool {
    match time {
        UserTime::LoggedOff => status == Status::LoggedOff,
        UserTime::Dormant => status == Status::Dormant,
        UserTime::Eligible => matches!(status, Status::Q1Candidate | Status::Q2Candidate),
        _ => in_queue(status),
    }
}
