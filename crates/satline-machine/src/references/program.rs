//! One program as far as it touches pages.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_distr::{Distribution as _, Exp1};

use super::{Kind, Sets};
use crate::engine::{Span, Stream, Streams, real_ns, whole_ns};

/// In use: touched in this phase.
const IN_USE: u8 = 1;
/// Its next touch need not be known.
const SEEN: u8 = 2;
/// Touched in this stay.
const STAY: u8 = 4;
/// Touches of this phase change it.
const CHANGES: u8 = 8;

/// A touch to come. Pages of a program are numbered from 0: first its own, then the shared ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touch {
    /// Virtual time, ns.
    pub at: u64,
    pub page: u32,
    pub changes: bool,
    /// The first one of a phase.
    begins: bool,
}

/// One program's touches.
///
/// What every interrupt looks at comes first and fits into one line of the processor's cache: there are hundreds of programs.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Program {
    /// Virtual time, ns, over all transactions.
    clock: u64,
    /// No touch that was drawn is due before.
    due: u64,
    /// Before this time no missing page is touched, if pages have not moved since: see [`Program::foresees`].
    clear_to: u64,
    clear_since: u32,
    space: u32,
    /// Pages in use whose next touch is to be drawn.
    unseen: Vec<u32>,
    /// Every touch happens one by one.
    every_touch: bool,
    /// At `clear_to` a missing page is touched.
    clear_ends: bool,
    /// Of this transaction: its start, the length of a phase, how many there are, how many were planned and begun.
    started: u64,
    phase_ns: u64,
    phases: u64,
    planned: u64,
    begun: u64,
    interval_ns: f64,
    /// First touches in order, from `next` on those to come.
    plan: Vec<Touch>,
    next: usize,
    /// Touches to come of pages in use, in no order.
    again: Vec<(u64, u32)>,
    in_use: Vec<u32>,
    /// Own pages touched in this stay.
    stay: Vec<u32>,
    flags: Vec<u8>,
    own: Sets,
    shared: Sets,
    sizes: Stream,
    choices: Stream,
    changes: Stream,
    references: Stream,
}

impl Program {
    /// A program of so many own pages that may touch so many shared ones.
    pub fn new(space: u32, shared: u32, every_touch: bool, streams: &Streams, user: u32) -> Self {
        let stream = |purpose| streams.stream(user.into(), purpose);
        Self {
            clock: 0,
            due: 0,
            clear_to: 0,
            clear_since: 0,
            space,
            unseen: Vec::new(),
            every_touch,
            clear_ends: false,
            started: 0,
            phase_ns: 0,
            phases: 0,
            planned: 0,
            begun: 0,
            interval_ns: 1.0,
            plan: Vec::new(),
            next: 0,
            again: Vec::new(),
            in_use: Vec::new(),
            stay: Vec::new(),
            flags: vec![0; (space + shared) as usize],
            own: Sets::new(space),
            shared: Sets::new(shared),
            sizes: stream("working set"),
            choices: stream("pages"),
            changes: stream("changes"),
            references: stream("references"),
        }
    }

    /// Own pages.
    pub fn space(&self) -> u32 {
        self.space
    }

    /// Own pages touched since the stay began.
    pub fn stay(&self) -> &[u32] {
        &self.stay
    }

    /// A transaction of so much virtual time. It is divided into phases of one length, as near the stated one as can be.
    pub fn begin(&mut self, kind: &Kind, demand: Span) {
        self.end();
        self.started = self.clock;
        self.phases = match kind.phase_ns {
            0 => 1,
            phase => ((demand.ns() as f64 / phase as f64).round() as u64).max(1),
        };
        self.phase_ns = demand.ns() / self.phases;
        (self.planned, self.begun) = (0, 0);
        self.interval_ns = kind.reference_interval_ns;
    }

    /// The transaction ended: no page is in use, and none will be touched.
    pub fn end(&mut self) {
        self.end_phase();
        self.plan.clear();
        (self.next, self.phases, self.planned) = (0, 0, 0);
        (self.clear_to, self.clear_ends) = (0, false);
    }

    /// A stay ends: the touches of the next one are all to be known.
    pub fn end_stay(&mut self) {
        for page in self.stay.drain(..) {
            self.flags[page as usize] &= !STAY;
        }
        for at in 0..self.in_use.len() {
            let page = self.in_use[at];
            if page < self.space {
                self.unsee(page);
            }
        }
    }

    /// The next touch of this page is to be known, if it is in use.
    #[inline]
    pub fn unsee(&mut self, page: u32) {
        let flags = &mut self.flags[page as usize];
        if *flags & (IN_USE | SEEN) == IN_USE | SEEN {
            *flags &= !SEEN;
            self.unseen.push(page);
        }
    }

    /// Virtual time until the next touch of a page that is not present, if at most the limit.
    pub fn until_missing(&mut self, kind: &Kind, limit: Span, present: impl Fn(u32) -> bool) -> Option<Span> {
        self.draw_again();
        self.look(0, kind, limit, present);
        self.next_missing(limit)
    }

    /// Whether [`Program::next_missing`] is known up to the limit without another look: pages present are those of the last
    /// one, with the same number of moves. What it found still holds, for touches drawn since are of pages that are present.
    #[inline]
    pub fn foresees(&mut self, moves: u32, limit: Span) -> bool {
        self.draw_again();
        moves == self.clear_since && (self.clear_ends || self.horizon(limit) < self.clear_to)
    }

    /// What [`Program::until_missing`] says, by the last look.
    #[inline]
    pub fn next_missing(&self, limit: Span) -> Option<Span> {
        let missing = self.clear_ends && self.clear_to <= self.horizon(limit);
        missing.then(|| Span::from_ns(self.clear_to.saturating_sub(self.clock)))
    }

    #[inline]
    fn horizon(&self, limit: Span) -> u64 {
        self.clock.saturating_add(limit.ns())
    }

    /// Looks for the next touch of a page that is not present. Phases are planned up to the limit only; in those that are,
    /// it looks on, so that what it found holds longer.
    pub fn look(&mut self, moves: u32, kind: &Kind, limit: Span, present: impl Fn(u32) -> bool) {
        let horizon = self.horizon(limit);
        self.clear_since = moves;
        let ends = self.phase_end();
        let mut first = u64::MAX;
        for &(at, page) in &self.again {
            if at < first && at < ends && !present(page) {
                first = at;
            }
        }
        let mut next = self.next;
        // When the first phase begins that is not planned.
        let mut known = self.known();
        loop {
            match self.plan.get(next) {
                Some(touch) if touch.at >= first => break,
                Some(touch) if !present(touch.page) => {
                    first = touch.at;
                    break;
                }
                Some(_) => next += 1,
                None if known <= horizon && known < first => {
                    next -= self.next;
                    self.plan_phase(kind);
                    known = self.known();
                }
                None => break,
            }
        }
        (self.clear_to, self.clear_ends) = (first.min(known), first < known);
    }

    /// Up to when touches are planned.
    fn known(&self) -> u64 {
        match self.planned < self.phases {
            true => self.phase_start(self.planned),
            false => u64::MAX,
        }
    }

    /// The page that stands in the way now: the first touch that is due and not present.
    pub fn missing(&self, present: impl Fn(u32) -> bool) -> Option<u32> {
        let until = self.due_until();
        let mut first: Option<(u64, u32)> = None;
        for &again in self.again.iter().filter(|again| again.0 <= until) {
            if first.is_none_or(|first| again < first) && !present(again.1) {
                first = Some(again);
            }
        }
        let planned = self.plan[self.next..].iter();
        let planned = planned
            .take_while(|touch| touch.at <= self.clock)
            .find(|touch| !present(touch.page))
            .map(|touch| (touch.at, touch.page));
        let first = match (first, planned) {
            (Some(again), Some(planned)) => Some(again.min(planned)),
            (first, planned) => first.or(planned),
        };
        first.map(|(_, page)| page)
    }

    /// The program ran so long: `touch` gets (virtual time, page, whether it is changed) of every touch on the way, up to
    /// the first of a page that is not present.
    pub fn run(&mut self, length: Span, present: impl Fn(u32) -> bool, touch: impl FnMut(u64, u32, bool)) {
        if self.advance(length) {
            self.touch_due(present, touch);
        }
    }

    /// The program ran so long: whether touches may be due, which [`Program::touch_due`] is to be called for.
    #[inline]
    pub fn advance(&mut self, length: Span) -> bool {
        // Who runs on another processor goes on from where he was when his bits were reset.
        self.draw_again();
        self.clock = self.clock.saturating_add(length.ns());
        self.clock >= self.due
    }

    /// Touches up to now happen, as [`Program::run`] says.
    pub fn touch_due(&mut self, present: impl Fn(u32) -> bool, mut touch: impl FnMut(u64, u32, bool)) {
        self.run_again(&present, &mut touch);
        while let Some(&first) = self.plan.get(self.next).filter(|touch| touch.at <= self.clock) {
            if first.begins {
                self.run_again(&present, &mut touch);
                self.end_phase();
                self.begun += 1;
                self.plan[self.next].begins = false;
            }
            if !present(first.page) {
                break;
            }
            self.next += 1;
            let changes = if first.changes { CHANGES } else { 0 };
            self.flags[first.page as usize] |= IN_USE | changes;
            self.in_use.push(first.page);
            self.touched(first.at, first.page, &mut touch);
        }
        if self.every_touch {
            self.run_again(&present, &mut touch);
        }
        let first = self.plan.get(self.next).map_or(u64::MAX, |touch| touch.at);
        self.due = self.again.iter().fold(first, |first, &(at, _)| first.min(at));
    }

    /// Repeated touches that are due.
    fn run_again(&mut self, present: &impl Fn(u32) -> bool, touch: &mut impl FnMut(u64, u32, bool)) {
        let until = self.due_until();
        let mut which = 0;
        while let Some(&(at, page)) = self.again.get(which) {
            if at > until || !present(page) {
                which += 1;
                continue;
            }
            self.again.swap_remove(which);
            self.touched(at, page, touch);
        }
    }

    fn touched(&mut self, at: u64, page: u32, touch: &mut impl FnMut(u64, u32, bool)) {
        let flags = &mut self.flags[page as usize];
        touch(at, page, *flags & CHANGES != 0);
        if *flags & STAY == 0 && page < self.space {
            *flags |= STAY;
            self.stay.push(page);
        }
        if self.every_touch {
            let again = at.saturating_add(self.interval());
            self.again.push((again, page));
        } else {
            *flags |= SEEN;
        }
    }

    /// Draws the next touches that were asked for. The program stands: from now on is from its clock on.
    fn draw_again(&mut self) {
        while let Some(page) = self.unseen.pop() {
            let at = self.clock.saturating_add(self.interval());
            self.due = self.due.min(at);
            self.again.push((at, page));
        }
    }

    fn interval(&mut self) -> u64 {
        let standard: f64 = Exp1.sample(&mut self.references);
        // At least 1 ns, else touches without end could happen at one instant.
        (standard * self.interval_ns) as u64 + 1
    }

    fn phase_start(&self, phase: u64) -> u64 {
        self.started.saturating_add(phase.saturating_mul(self.phase_ns))
    }

    /// When pages of this phase are out of use.
    fn phase_end(&self) -> u64 {
        if self.begun < self.phases {
            self.phase_start(self.begun)
        } else {
            u64::MAX
        }
    }

    /// Up to when repeated touches are due: now, or the end of the phase.
    fn due_until(&self) -> u64 {
        self.clock.min(self.phase_end().saturating_sub(1))
    }

    fn end_phase(&mut self) {
        for page in self.in_use.drain(..) {
            self.flags[page as usize] &= STAY;
        }
        self.again.clear();
        self.unseen.clear();
    }

    fn plan_phase(&mut self, kind: &Kind) {
        self.plan.drain(..self.next);
        self.next = 0;
        let from = self.plan.len();
        let start = self.phase_start(self.planned);
        self.due = self.due.min(start);
        self.planned += 1;
        let size = kind.draw_size(&mut self.sizes, self.space);
        let touch = |page| Touch {
            at: 0,
            page,
            changes: false,
            begins: false,
        };
        let own = self.own.draw(size, kind.repeatability, &mut self.choices);
        self.plan.extend(own.iter().map(|&page| touch(page)));
        let shared = self
            .shared
            .draw(kind.shared_pages, kind.repeatability, &mut self.choices);
        self.plan
            .extend(shared.iter().map(|&page| touch(self.space + page)));
        let phase = &mut self.plan[from..];
        phase.shuffle(&mut self.choices);
        let (pages, phase_ns) = (phase.len(), real_ns(self.phase_ns));
        for (number, touch) in phase.iter_mut().enumerate() {
            let part = kind.offset(number, pages);
            touch.at = start.saturating_add(whole_ns(part * phase_ns));
            // Shared segments are read only; drawn for them too, so that own pages' draws do not depend on them.
            touch.changes = self.changes.random::<f64>() < kind.changed && touch.page < self.space;
            touch.begins = number == 0;
        }
    }
}
