//! Waits for pages and I/O, and what the paging costs the control program.

use super::accounts::{ProcessorTime, UserTime};
use super::posting::Posted;
use super::processor::{Doing, NOBODY, Path};
use super::reach::ANY;
use super::{Event, Simulation};
use crate::configuration::Moment;
use crate::devices::{Completed, IoEvent, Request};
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

    /// The path up to the user's I/O is paid: it starts here, or where there is a path to its device.
    pub(super) fn start_io(&mut self, processor: usize, user: u32) {
        let him = &mut self.users[user as usize];
        let draws = &mut self.draws[user as usize];
        let kind = &self.classes[usize::from(him.class)].kinds[usize::from(him.kind)];
        let tag = Memory::TAGS | user;
        let (which, request) = kind
            .pattern
            .draw(&self.files, draws.home, tag, &mut draws.io_place);
        him.io_left = kind.draw_io_interval(&mut draws.io_interval);
        if let Some(reach) = &mut self.reach
            && let Some(among) = reach.instead(processor, self.files[which].unit)
        {
            reach.put_off[user as usize] = Some((which, request));
            return self.defer(processor, user, Path::IoPassed, among);
        }
        self.submit_io(processor, user, which, request);
        self.release(processor);
    }

    /// The I/O that another processor had no path for starts.
    pub(super) fn start_passed_io(&mut self, processor: usize, user: u32) {
        let put_off = self
            .reach
            .as_mut()
            .and_then(|reach| reach.put_off[user as usize].take());
        let (which, request) = put_off.expect("an I/O of his was put off");
        self.submit_io(processor, user, which, request);
    }

    fn submit_io(&mut self, processor: usize, user: u32, which: usize, request: Request) {
        let now = self.calendar.now();
        let him = &mut self.users[user as usize];
        him.ios += 1;
        him.account.turn(now, UserTime::IoWait);
        self.counts.user_ios += 1;
        self.processors[processor].counts.ios += 1;
        if let Some(reach) = &mut self.reach {
            reach.started(user, processor);
        }
        self.ios_outstanding += 1;
        let device = self.devices[self.files[which].unit];
        self.subsystem.submit(device, request, &mut self.calendar);
    }

    /// The processor has no path to a device: the start of the user's I/O is put off for one that has.
    pub(super) fn defer(&mut self, processor: usize, user: u32, path: Path, among: u64) {
        let Some(reach) = &mut self.reach else {
            unreachable!("processors that are alike have all paths");
        };
        reach.counts.defers += 1;
        let length = reach.deferred_start;
        self.processors[processor].counts.defers += 1;
        self.put_off(processor, Posted::new(user, path, length, among));
    }

    /// Who takes the interrupt of what ended.
    fn interrupted_by(&self, done: &Completed, user: Option<u32>) -> u64 {
        let reach = self.reach.as_ref();
        reach.map_or(ANY, |reach| reach.interrupted_by(done.device.index(), user))
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
        let user = done.request.tag - Memory::TAGS;
        let among = self.interrupted_by(done, Some(user));
        let length = self.requests(user, Moment::UserIoEnd) + self.costs.user_io_end;
        self.post(user, Path::IoCame, length, among);
    }

    fn paging_ended(&mut self, done: &Completed) {
        self.sync();
        let mut woken = std::mem::take(&mut self.woken);
        self.memory
            .completed(done, &mut self.subsystem, &mut self.calendar, &mut woken);
        // One interrupt, whoever it wakes.
        let among = self.interrupted_by(done, woken.first().copied());
        if woken.is_empty() {
            self.bill_nobody(among);
        } else {
            // Those whom it wakes share what it costs.
            let work = self.work().ns();
            let share = work / woken.len() as u64;
            let first = work - share * (woken.len() as u64 - 1);
            for (place, user) in woken.drain(..).enumerate() {
                let length = Span::from_ns(if place == 0 { first } else { share });
                self.page_came(user, length, among);
            }
        }
        self.woken = woken;
        self.after_storage();
    }

    pub(super) fn page_came(&mut self, user: u32, length: Span, among: u64) {
        let him = &mut self.users[user as usize];
        if him.account.now_as == UserTime::PageWait {
            let length = self.requests(user, Moment::PageInEnd) + length;
            self.post(user, Path::PageCame, length, among);
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
            Some(length) => {
                let length = self.requests(user, Moment::PageInEnd) + length;
                self.post(user, Path::PageCame, length, ANY);
            }
            None => him.waited = true,
        }
    }

    /// Somebody waits for a frame, and one may be had since a user has run or logged off.
    pub(super) fn feed(&mut self) {
        self.sync();
        self.memory.feed(&mut self.subsystem, &mut self.calendar);
        self.bill_nobody(ANY);
        self.after_storage();
    }

    pub(super) fn tick(&mut self) {
        self.sync();
        self.memory.tick(&mut self.subsystem, &mut self.calendar);
        self.bill_nobody(ANY);
        self.after_storage();
        if let Some(interval) = self.memory.tick_interval() {
            self.calendar.schedule(interval, NORMAL, Event::Tick);
        }
    }

    pub(super) fn scan(&mut self) {
        self.sync();
        self.memory.scan(&mut self.subsystem, &mut self.calendar);
        self.bill_nobody(ANY);
        self.after_storage();
        if let Some(interval) = self.memory.scan_interval() {
            self.calendar.schedule(interval, NORMAL, Event::Scan);
        }
    }

    pub(super) fn migrate(&mut self) {
        self.sync();
        self.memory.migrate(&mut self.subsystem, &mut self.calendar);
        self.bill_nobody(ANY);
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
    pub(super) fn bill_nobody(&mut self, among: u64) {
        let work = self.work();
        if work > Span::ZERO {
            self.post(NOBODY, Path::System, work, among);
        }
    }
}
