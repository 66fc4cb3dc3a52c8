//! The devices of a machine at work.
//!
//! A request waits until its device accepts it, then (pend) for a free path to carry the start-I/O, whose commands take
//! no time. The device disconnects, positions, and comes back when the first page's sector passes. If the path is busy
//! at that instant the sector is missed (RPS miss) and the device tries for the next sector that it can use: on a disk
//! the same one a revolution later, on a drum perhaps another request's. Pages on consecutive slots go over in one
//! connection; before any other slot the device disconnects again.

use std::collections::VecDeque;

use super::links::{Links, PathId};
use super::{Completed, DeviceCounters, DeviceModel, Mechanism, Request, Service, Track};
use crate::engine::{Calendar, NORMAL, Span, Time, Token};

/// Before the reconnections of the same instant: a path that becomes free just then is not missed.
const RELEASE: u8 = NORMAL - 1;

/// A device of a [`Subsystem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceId(u16);

impl DeviceId {
    /// Its number, in the order in which devices were added.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What the subsystem schedules; the model hands it back to [`Subsystem::handle`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoEvent {
    device: DeviceId,
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Reconnect,
    Transferred,
}

#[derive(Debug)]
struct Active {
    request: Request,
    accepted: Time,
    service: Service,
    /// Once the start-I/O went out: the path it went by, and when. Apart, for then the whole fits into 128 bytes.
    issued: Option<PathId>,
    issued_at: Time,
    ready: Time,
    /// When the sector of its next page passes: the first time at or after the last one asked for.
    comes: Time,
    next_page: u32,
}

#[derive(Debug)]
struct Device {
    mechanism: Box<dyn Mechanism>,
    track: Track,
    cylinders: u32,
    slots_per_cylinder: u32,
    exposures: usize,
    /// Cylinders mean nothing here: requests are kept as of one cylinder that has all slots.
    across_cylinders: bool,
    paths: Box<[PathId]>,
    /// Those who came while it accepted no more.
    queue: VecDeque<(Request, Time)>,
    /// In the order of acceptance; at most as many as the device has exposures, fewer only while nobody waits.
    active: Vec<Active>,
    /// The reconnection to come: its time, which active request, and how to call it off.
    armed: Option<(Time, usize, Token)>,
    /// The active request on the path, pages and time of this connection.
    connected: Option<(usize, usize, Span)>,
    counters: DeviceCounters,
}

/// Devices with their paths.
#[derive(Debug, Default)]
pub struct Subsystem {
    devices: Vec<Device>,
    links: Links,
    /// Devices with requests that pend, the longest first.
    pending: VecDeque<DeviceId>,
}

impl Subsystem {
    /// A path through a control unit and a channel; numbers used twice mean the same one.
    pub fn add_path(&mut self, control_unit: u16, channel: u16) -> PathId {
        self.links.add(control_unit, channel)
    }

    /// A device on these paths, the preferred first, turned by a share of a revolution against the others.
    ///
    /// # Panics
    /// There is no path, or there are 65,536 devices.
    pub fn add_device(&mut self, model: &DeviceModel, paths: &[PathId], turned: f64) -> DeviceId {
        assert!(!paths.is_empty(), "a device without a path");
        let id = DeviceId(u16::try_from(self.devices.len()).expect("no more than 65,536 devices"));
        let mechanism = model.mechanism();
        self.devices.push(Device {
            active: Vec::with_capacity(model.exposures()),
            exposures: model.exposures(),
            across_cylinders: model.across_cylinders(),
            mechanism,
            track: model.track().turned(turned),
            cylinders: model.cylinders(),
            slots_per_cylinder: model.slots_per_cylinder(),
            paths: paths.into(),
            queue: VecDeque::with_capacity(64),
            armed: None,
            connected: None,
            counters: DeviceCounters::default(),
        });
        id
    }

    /// The device added as the number-th, from 0.
    ///
    /// # Panics
    /// There is none.
    pub fn device(&self, number: usize) -> DeviceId {
        assert!(number < self.devices.len(), "there is no device {number}");
        DeviceId(number as u16)
    }

    /// Counters of a device.
    pub fn counters(&self, device: DeviceId) -> &DeviceCounters {
        &self.devices[device.index()].counters
    }

    /// Summed age of the requests that have not ended, ns: what their response times come to so far.
    pub fn open_ns(&self, device: DeviceId, now: Time) -> u128 {
        let device = &self.devices[device.index()];
        let age = |since: Time| u128::from((now - since).ns());
        let queued = device.queue.iter().map(|&(_, arrived)| age(arrived));
        let accepted = device
            .active
            .iter()
            .map(|active| age(active.accepted) + u128::from(active.service.queue.ns()));
        queued.chain(accepted).sum()
    }

    /// The cylinder used last; `None` for a device without an arm.
    pub fn arm(&self, device: DeviceId) -> Option<u32> {
        self.devices[device.index()].mechanism.arm()
    }

    /// Time that a control unit was busy, ns; `None` if there is none of that number.
    pub fn control_unit_busy_ns(&self, number: u16, now: Time) -> Option<u128> {
        self.links.control_unit_busy_ns(number, now)
    }

    /// Time that a channel was busy, ns; `None` if there is none of that number.
    pub fn channel_busy_ns(&self, number: u16, now: Time) -> Option<u128> {
        self.links.channel_busy_ns(number, now)
    }

    /// A request comes to a device, now.
    ///
    /// # Panics
    /// The device has no such cylinder or slot.
    pub fn submit<E: Copy + From<IoEvent>>(
        &mut self,
        device: DeviceId,
        mut request: Request,
        calendar: &mut Calendar<E>,
    ) {
        let now = calendar.now();
        let at = &mut self.devices[device.index()];
        let exists = |&slot: &u16| u32::from(slot) < at.slots_per_cylinder;
        assert!(
            request.cylinder < at.cylinders && request.pages.slots().iter().all(exists),
            "{request:?} is not on the device"
        );
        if at.across_cylinders {
            request.pages.shift(at.through(request.cylinder, 0));
            request.cylinder = 0;
        }
        if at.active.len() < at.exposures {
            at.accept(request, now, now);
            self.start(device, calendar);
        } else {
            at.queue.push_back((request, now));
            at.counters.queued.raise(now);
        }
    }

    /// A page joins a request that waits before the device for the same cylinder, or for any where the device chains
    /// across them: the last one with fewer than so many pages and a tag that will do.
    /// Returns the tag; `None` if there is no such request.
    pub fn join(
        &mut self,
        device: DeviceId,
        cylinder: u32,
        slot: u16,
        most: usize,
        will_do: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let device = &mut self.devices[device.index()];
        let (cylinder, slot) = match device.across_cylinders {
            true => (0, device.through(cylinder, slot)),
            false => (cylinder, slot),
        };
        let (request, _) = device.queue.iter_mut().rev().find(|(request, _)| {
            request.cylinder == cylinder && request.pages.slots().len() < most && will_do(request.tag)
        })?;
        match device.across_cylinders {
            true => request.pages.push(slot),
            false => request.pages.insert(slot),
        }
        Some(request.tag)
    }

    /// One of the subsystem's events, now; perhaps a request is done.
    pub fn handle<E: Copy + From<IoEvent>>(
        &mut self,
        event: IoEvent,
        calendar: &mut Calendar<E>,
    ) -> Option<Completed> {
        match event.what {
            What::Reconnect => {
                self.reconnect(event.device, calendar);
                None
            }
            What::Transferred => self.transferred(event.device, calendar),
        }
    }

    /// Takes requests from the queue into free exposures and starts them.
    fn accept<E: Copy + From<IoEvent>>(&mut self, id: DeviceId, calendar: &mut Calendar<E>) {
        let now = calendar.now();
        let device = &mut self.devices[id.index()];
        while device.active.len() < device.exposures {
            let Some((request, arrived)) = device.queue.pop_front() else {
                break;
            };
            device.counters.queued.lower(now);
            device.accept(request, arrived, now);
        }
        self.start(id, calendar);
    }

    /// What the device has accepted goes out, or pends.
    fn start<E: Copy + From<IoEvent>>(&mut self, id: DeviceId, calendar: &mut Calendar<E>) {
        let device = &mut self.devices[id.index()];
        let busy = u64::from(!device.active.is_empty());
        device.counters.busy.set(calendar.now(), busy);
        if !self.issue(id, calendar) && !self.pending.contains(&id) {
            self.pending.push_back(id);
        }
    }

    /// Issues what pends at a device; false if something still pends.
    fn issue<E: Copy + From<IoEvent>>(&mut self, id: DeviceId, calendar: &mut Calendar<E>) -> bool {
        let now = calendar.now();
        let device = &mut self.devices[id.index()];
        let path = device
            .paths
            .iter()
            .copied()
            .find(|&path| self.links.is_free(path));
        let Some(path) = path else {
            return device.active.iter().all(|active| active.issued.is_some());
        };
        for active in device.active.iter_mut().filter(|active| active.issued.is_none()) {
            active.issued = Some(path);
            active.issued_at = now;
            active.service.pend = now - active.accepted;
            active.ready = now + device.mechanism.position(active.request.cylinder);
            if device.across_cylinders {
                active.request.pages.in_passing_order(&device.track, active.ready);
            }
            active.comes = device.track.reconnection(active.next_slot(), active.ready);
        }
        device.arm(id, now, calendar);
        true
    }

    fn reconnect<E: Copy + From<IoEvent>>(&mut self, id: DeviceId, calendar: &mut Calendar<E>) {
        let now = calendar.now();
        let device = &mut self.devices[id.index()];
        let (_, which, _) = device.armed.take().expect("a reconnection was awaited");
        let active = &mut device.active[which];
        let path = active.issued.expect("only an issued request reconnects");
        if !self.links.is_free(path) {
            active.service.misses += 1;
            device.counters.rps_misses += 1;
            device.arm(id, now + Span::from_ns(1), calendar);
            return;
        }
        self.links.take(path, now);
        let left = &active.request.pages.slots()[active.next_page as usize..];
        let run = 1 + left.windows(2).take_while(|pair| pair[1] == pair[0] + 1).count();
        let held = device.track.held(run);
        device.connected = Some((which, run, held));
        calendar.schedule(held, RELEASE, event(id, What::Transferred));
    }

    fn transferred<E: Copy + From<IoEvent>>(
        &mut self,
        id: DeviceId,
        calendar: &mut Calendar<E>,
    ) -> Option<Completed> {
        let now = calendar.now();
        let device = &mut self.devices[id.index()];
        let (which, run, held) = device.connected.take().expect("a transfer was under way");
        let active = &mut device.active[which];
        let path = active.issued.expect("only an issued request transfers");
        self.links.release(path, now);
        active.next_page += run as u32;
        active.service.connect += held;
        active.ready = now;
        let done = active.next_page as usize == active.request.pages.slots().len();
        let completed = done.then(|| {
            let mut active = device.active.remove(which);
            active.service.disconnect = now - active.issued_at - active.service.connect;
            device
                .counters
                .add(&active.service, active.request.pages.slots().len(), now);
            Completed {
                device: id,
                request: active.request,
                service: active.service,
            }
        });
        if done {
            self.accept(id, calendar);
        } else {
            device.arm(id, now, calendar);
        }
        // Start-I/Os take no time, so all that can use the path now go out at once.
        for _ in 0..self.pending.len() {
            let Some(waiting) = self.pending.pop_front() else {
                break;
            };
            if !self.issue(waiting, calendar) {
                self.pending.push_back(waiting);
            }
        }
        completed
    }
}

impl Active {
    #[inline]
    fn next_slot(&self) -> u16 {
        self.request.pages.slots()[self.next_page as usize]
    }
}

fn event<E: From<IoEvent>>(device: DeviceId, what: What) -> E {
    E::from(IoEvent { device, what })
}

impl Device {
    fn accept(&mut self, request: Request, arrived: Time, now: Time) {
        self.counters.accepted.raise(now);
        self.active.push(Active {
            request,
            accepted: now,
            service: Service {
                queue: now - arrived,
                ..Service::default()
            },
            issued: None,
            issued_at: now,
            ready: now,
            comes: now,
            next_page: 0,
        });
    }

    /// A slot's number, counted through all cylinders: tracks have whole numbers of slots, so its angle is the same.
    fn through(&self, cylinder: u32, slot: u16) -> u16 {
        (cylinder * self.slots_per_cylinder) as u16 + slot
    }

    /// Awaits the first sector that passes, from a time on, of those that issued requests need next.
    fn arm<E: Copy + From<IoEvent>>(&mut self, id: DeviceId, from: Time, calendar: &mut Calendar<E>) {
        if self.connected.is_some() {
            return;
        }
        let mut first: Option<(Time, usize)> = None;
        for (which, active) in self.active.iter_mut().enumerate() {
            if active.issued.is_none() {
                continue;
            }
            let from = active.ready.max(from);
            // It passed: the device was connected, or its path busy.
            if active.comes < from {
                active.comes = self.track.reconnection(active.next_slot(), from);
            }
            if first.is_none_or(|(at, _)| active.comes < at) {
                first = Some((active.comes, which));
            }
        }
        if let Some((at, _, token)) = self.armed {
            if let Some((same, which)) = first.filter(|&(first, _)| first == at) {
                self.armed = Some((same, which, token));
                return;
            }
            calendar.cancel(token);
        }
        self.armed = first.map(|(at, which)| {
            let token =
                calendar.schedule_cancellable(at - calendar.now(), NORMAL, event(id, What::Reconnect));
            (at, which, token)
        });
    }
}
