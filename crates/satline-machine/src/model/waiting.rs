//! Waits for pages and I/O, and what the paging costs the control program.

use super::accounts::{ProcessorTime, UserTime};
use super::processor::{Doing, NOBODY, Path};
use super::{Event, Simulation};
use crate::devices::{Completed, IoEvent};
use crate::engine::{NORMAL, Span};
use crate::storage::Memory;

impl Simulation {
    /// What an idle processor's time counts as, from now on [Bard].
    #[inline]
    pub(super) fn classify_waiting(&mut self) {
        let outstanding = (self.memory.outstanding(), self.ios_outstanding);
        if outstanding == self.outstanding {
            return;
        }
        self.outstanding = outstanding;
        let kind = match outstanding {
            (0, 0) => ProcessorTime::Idle,
            (paging, others) if paging >= others => ProcessorTime::PageWait,
            _ => ProcessorTime::IoWait,
        };
        if kind == self.waiting_for {
            return;
        }
        self.waiting_for = kind;
        let now = self.calendar.now();
        for processor in &mut self.processors {
            if matches!(processor.doing, Doing::Nothing) {
                processor.account.turn(now, kind);
            }
        }
    }

    /// The user's I/O starts.
    pub(super) fn start_io(&mut self, user: u32) {
        let now = self.calendar.now();
        let him = &mut self.users[user as usize];
        let draws = &mut self.draws[user as usize];
        let kind = &self.classes[usize::from(him.class)].kinds[usize::from(him.kind)];
        let tag = Memory::TAGS | user;
        let (which, request) = kind
            .pattern
            .draw(&self.files, draws.home, tag, &mut draws.io_place);
        him.io_left = kind.draw_io_interval(&mut draws.io_interval);
        him.ios += 1;
        him.account.turn(now, UserTime::IoWait);
        self.counts.user_ios += 1;
        self.ios_outstanding += 1;
        let device = self.devices[self.files[which].unit];
        self.subsystem.submit(device, request, &mut self.calendar);
    }

    pub(super) fn io(&mut self, event: IoEvent) {
        let Some(done) = self.subsystem.handle(event, &mut self.calendar) else {
            return;
        };
        if done.request.tag >= Memory::TAGS {
            self.io_ended(&done);
        } else {
            self.paging_ended(&done);
        }
    }

    fn io_ended(&mut self, done: &Completed) {
        let ended = &mut self.ios_ended[done.device.index()];
        ended.0 += 1;
        ended.1 += done.request.pages.slots().len() as u64;
        self.ios_outstanding -= 1;
        self.post(
            done.request.tag - Memory::TAGS,
            Path::Awake,
            self.costs.user_io_end,
        );
    }

    fn paging_ended(&mut self, done: &Completed) {
        self.sync();
        let mut woken = std::mem::take(&mut self.woken);
        self.memory
            .completed(done, &mut self.subsystem, &mut self.calendar, &mut woken);
        if woken.is_empty() {
            self.bill_nobody();
        } else {
            // Those whom it wakes share what it costs.
            let work = self.work().ns();
            let share = work / woken.len() as u64;
            let first = work - share * (woken.len() as u64 - 1);
            for (place, user) in woken.drain(..).enumerate() {
                self.page_came(user, Span::from_ns(if place == 0 { first } else { share }));
            }
        }
        self.woken = woken;
        self.after_storage();
    }

    pub(super) fn page_came(&mut self, user: u32, length: Span) {
        let him = &mut self.users[user as usize];
        if him.account.now_as == UserTime::PageWait {
            self.post(user, Path::Awake, length);
        } else {
            him.early = Some(length);
        }
    }

    /// What the control program did for the user's fault is done, or he who was dropped at it is in queue again; now he waits,
    /// unless his page is there.
    pub(super) fn wait_for_page(&mut self, user: u32) {
        let now = self.calendar.now();
        let him = &mut self.users[user as usize];
        him.account.turn(now, UserTime::PageWait);
        him.at_fault = false;
        match him.early.take() {
            Some(length) => self.post(user, Path::Awake, length),
            None => him.waited = true,
        }
    }

    /// Somebody waits for a frame, and one may be had since a user has run or logged off.
    pub(super) fn feed(&mut self) {
        self.sync();
        self.memory.feed(&mut self.subsystem, &mut self.calendar);
        self.bill_nobody();
        self.after_storage();
    }

    pub(super) fn tick(&mut self) {
        self.sync();
        self.memory.tick(&mut self.subsystem, &mut self.calendar);
        self.bill_nobody();
        self.after_storage();
        if let Some(interval) = self.memory.tick_interval() {
            self.calendar.schedule(interval, NORMAL, Event::Tick);
        }
    }

    pub(super) fn scan(&mut self) {
        self.sync();
        self.memory.scan(&mut self.subsystem, &mut self.calendar);
        self.bill_nobody();
        self.after_storage();
        if let Some(interval) = self.memory.scan_interval() {
            self.calendar.schedule(interval, NORMAL, Event::Scan);
        }
    }

    pub(super) fn migrate(&mut self) {
        self.sync();
        self.memory.migrate(&mut self.subsystem, &mut self.calendar);
        self.bill_nobody();
        self.after_storage();
        if let Some(interval) = self.memory.migration_interval() {
            self.calendar.schedule(interval, NORMAL, Event::Migrate);
        }
    }

    /// Processor time for what storage management did since it was last asked.
    pub(super) fn work(&mut self) -> Span {
        let work = self.memory.take_work();
        let costs = &self.costs;
        let parts = [
            (costs.scan_frame, work.frames_scanned),
            (costs.page_out, work.page_out_sios),
            (costs.queue_page, work.pages_visited),
            (costs.reclaim, work.reclaims),
            (costs.page_in_end, work.page_ins_ended),
            (costs.page_fault, work.sets_ahead),
            (self.set_page, work.set_pages),
        ];
        Span::from_ns(
            parts
                .iter()
                .map(|&(each, count)| each.ns() * u64::from(count))
                .sum::<u64>()
                + work.compression_ns,
        )
    }

    /// Work that is for no user in particular.
    pub(super) fn bill_nobody(&mut self) {
        let work = self.work();
        if work > Span::ZERO {
            self.post(NOBODY, Path::System, work);
        }
    }
}
