//! A small paging system: one processor, first come first served, and users who think and refer to pages.

use std::collections::VecDeque;

use satline_machine::configuration::{
    Costs, DeviceUnit, IoPattern, Locality, Machine, PageArea, PagingPlan, Peers, Population, Processors,
    Purpose, Role, SchedulerFigures, StorageFigures, TransactionKind, UserClass, Workload,
};
use satline_machine::devices::{IoEvent, Subsystem};
use satline_machine::engine::{Calendar, Distribution, Model, NORMAL, Span, Stream, Streams, Time, run};
use satline_machine::readings::SystemReading;
use satline_machine::storage::{Fault, Memory};
use satline_program::Error;

use super::paging_load::device;

pub fn ms(ms: f64) -> Span {
    Span::from_seconds(ms * 1e-3)
}

pub fn locality() -> Locality {
    Locality {
        working_set_pages: 20.0,
        working_set_sd: 5.0,
        repeatability: 0.8,
        growth: 0.5,
        reference_interval: ms(5.0),
        phase: ms(300.0),
        changed: 0.3,
        shared_pages: 3,
    }
}

/// Users of one class with one kind of transaction of 100 ms, who think 1 s.
pub fn workload(locality: Locality) -> Workload {
    let kind = TransactionKind {
        name: "only".into(),
        weight: 1.0,
        cpu: Distribution::exponential(0.1).unwrap(),
        cpu_between_ios: None,
        cpu_between_simulations: None,
        io: IoPattern {
            skew: 0.0,
            span_cylinders: 1,
            blocks: 1,
        },
        locality,
    };
    let class = UserClass {
        name: "users".into(),
        share: 1.0,
        think: Distribution::exponential(1.0).unwrap(),
        space_pages: 60,
        transactions: vec![kind],
    };
    Workload {
        name: "small".into(),
        note: String::new(),
        classes: vec![class],
        population: Population::Constant(0),
        shared_pages: 10,
        background: Vec::new(),
    }
}

/// A processor of speed 1, two drums with a disk behind them, base policies.
pub fn machine(frames: u32) -> Machine {
    let unit = |name: &str, model: &str, channel| DeviceUnit {
        name: name.into(),
        model: device(model),
        role: Role::Paging,
        paths: vec![(channel, channel)],
    };
    let area = |device, first_cylinder, cylinders, tier| PageArea {
        device,
        first_cylinder,
        cylinders,
        tier,
        purpose: Purpose::Paging,
    };
    Machine {
        name: "small".into(),
        note: String::new(),
        processors: Processors { count: 1, speed: 1.0 },
        multiprocessor: None,
        locks: Vec::new(),
        free_storage: None,
        storage: StorageFigures {
            pageable_frames: frames,
            bytes: u64::from(frames) * 4096,
            free_list_minimum: 1,
        },
        scheduler: SchedulerFigures {
            q1_slice: ms(400.0),
            q2_slice: ms(5000.0),
            quantum: ms(50.0),
            compute_bound_factor: 4,
            compute_bound_after: 1,
            q1_frames_factor: 1.25,
            mpl_cap: None,
            q2_cap: None,
            minimum_working_set: 1,
            projection_factor: 1.0,
            paging_rate: None,
        },
        costs: Costs::default(),
        paging: PagingPlan {
            areas: vec![area(0, 0, 10, 0), area(1, 0, 10, 0), area(2, 100, 40, 1)],
            most_pages_per_sio: 8,
            write_unchanged: false,
            periodic_scan: None,
            peers: Peers::default(),
        },
        swapping: None,
        policies: super::machines::policies(),
        devices: vec![
            unit("drum-1", "2305-2", 0),
            unit("drum-2", "2305-2", 1),
            unit("disk", "3330-1", 2),
        ],
        unverified: Vec::new(),
    }
}

/// The machine's devices, ready.
pub fn subsystem(machine: &Machine) -> Subsystem {
    let mut subsystem = Subsystem::default();
    for (number, unit) in machine.devices.iter().enumerate() {
        let paths: Vec<_> = unit
            .paths
            .iter()
            .map(|&(unit, channel)| subsystem.add_path(unit, channel))
            .collect();
        subsystem.add_device(&unit.model, &paths, 0.37 * number as f64 % 1.0);
    }
    subsystem
}

#[derive(Debug, Clone, Copy)]
pub enum Event {
    Io(IoEvent),
    /// A user has thought.
    Ready(u32),
    /// The running user's burst ends; of an old one if the number is not the present one.
    BurstEnd(u32),
    /// The periodic scan of storage.
    Scan,
    /// The replacement policy's own time.
    Tick,
    /// Pages are to move to a slower tier.
    Migrate,
}

impl From<IoEvent> for Event {
    fn from(event: IoEvent) -> Self {
        Self::Io(event)
    }
}

struct User {
    thinks: Stream,
    demands: Stream,
    left: Span,
}

/// The system at work.
pub struct SmallSystem {
    pub memory: Memory,
    pub subsystem: Subsystem,
    pub transactions: u64,
    workload: Workload,
    users: Vec<User>,
    ready: VecDeque<u32>,
    /// Who runs, since when, and whether his burst ends at a fault.
    running: Option<(u32, Time, bool)>,
    burst: u32,
    in_queue: u32,
    woken: Vec<u32>,
    /// Checks all books at every completion of an I/O.
    pub checks: bool,
}

impl SmallSystem {
    pub fn start(
        machine: &Machine,
        workload: &Workload,
        users: u32,
        streams: Streams,
    ) -> Result<(Self, Calendar<Event>), Error> {
        let memory = Memory::new(machine, workload, users, &streams)?;
        Ok(Self::with_memory(memory, machine, workload, users, streams))
    }

    pub fn with_memory(
        memory: Memory,
        machine: &Machine,
        workload: &Workload,
        users: u32,
        streams: Streams,
    ) -> (Self, Calendar<Event>) {
        let mut calendar = Calendar::with_capacity(256);
        let user = |number: u32| User {
            thinks: streams.stream(number.into(), "think"),
            demands: streams.stream(number.into(), "demand"),
            left: Span::ZERO,
        };
        let mut system = Self {
            memory,
            subsystem: subsystem(machine),
            transactions: 0,
            workload: workload.clone(),
            users: (0..users).map(user).collect(),
            ready: VecDeque::with_capacity(users as usize),
            running: None,
            burst: 0,
            in_queue: 0,
            woken: Vec::with_capacity(users as usize),
            checks: false,
        };
        for number in 0..users {
            system.think(number, &mut calendar);
        }
        for event in [Event::Scan, Event::Tick, Event::Migrate] {
            system.again(event, &mut calendar);
        }
        (system, calendar)
    }

    pub fn reading(&self) -> SystemReading {
        let mut reading = SystemReading::default();
        self.memory.read_system(&mut reading);
        reading
    }

    /// What storage does at regular times is to be done again.
    fn again(&self, event: Event, calendar: &mut Calendar<Event>) {
        let interval = match event {
            Event::Tick => self.memory.tick_interval(),
            Event::Migrate => self.memory.migration_interval(),
            _ => self.memory.scan_interval(),
        };
        if let Some(interval) = interval {
            calendar.schedule(interval, NORMAL, event);
        }
    }

    fn think(&mut self, user: u32, calendar: &mut Calendar<Event>) {
        let think = self.workload.classes[0]
            .think
            .draw(&mut self.users[user as usize].thinks);
        calendar.schedule(think, NORMAL, Event::Ready(user));
    }

    /// Books what the running user did up to now, and stops him.
    fn stop(&mut self, now: Time) -> Option<(u32, bool)> {
        let (user, since, fault) = self.running.take()?;
        self.memory.ran(user, now - since);
        let left = &mut self.users[user as usize].left;
        *left = *left - (now - since);
        Some((user, fault))
    }

    fn dispatch(&mut self, calendar: &mut Calendar<Event>) {
        if self.running.is_some() {
            return;
        }
        let Some(user) = self.ready.pop_front() else {
            return;
        };
        let limit = self.users[user as usize].left.min(ms(50.0));
        let until = self.memory.until_fault(user, limit);
        self.running = Some((user, calendar.now(), until.is_some()));
        self.burst += 1;
        calendar.schedule(until.unwrap_or(limit), NORMAL, Event::BurstEnd(self.burst));
    }

    fn burst_end(&mut self, calendar: &mut Calendar<Event>) {
        let Some((user, fault)) = self.stop(calendar.now()) else {
            return;
        };
        if fault {
            match self.memory.fault(user, &mut self.subsystem, calendar) {
                Fault::Waits => {}
                Fault::Reclaimed => self.ready.push_front(user),
            }
        } else if self.users[user as usize].left == Span::ZERO {
            self.in_queue -= 1;
            self.memory.set_mpl(self.in_queue);
            self.memory.queue_drop(user, true, &mut self.subsystem, calendar);
            self.memory.end_transaction(user);
            self.transactions += 1;
            self.think(user, calendar);
        } else {
            self.ready.push_back(user);
        }
    }
}

impl Model for SmallSystem {
    type Event = Event;

    fn handle(&mut self, event: Event, calendar: &mut Calendar<Event>) {
        match event {
            Event::Io(event) => {
                let Some(done) = self.subsystem.handle(event, calendar) else {
                    return;
                };
                if let Some((user, _)) = self.stop(calendar.now()) {
                    self.ready.push_front(user);
                }
                self.memory
                    .completed(&done, &mut self.subsystem, calendar, &mut self.woken);
                self.ready.extend(self.woken.drain(..));
                if self.checks {
                    self.memory.check().unwrap();
                }
            }
            Event::Ready(user) => {
                if let Some((user, _)) = self.stop(calendar.now()) {
                    self.ready.push_front(user);
                }
                let kind = &self.workload.classes[0].transactions[0];
                let demand = kind.cpu.draw(&mut self.users[user as usize].demands) + Span::from_ns(1);
                self.users[user as usize].left = demand;
                self.in_queue += 1;
                self.memory.set_mpl(self.in_queue);
                self.memory.begin_transaction(user, 0, demand);
                self.memory.queue_add(user, true, &mut self.subsystem, calendar);
                self.ready.push_back(user);
            }
            Event::BurstEnd(burst) if burst == self.burst => self.burst_end(calendar),
            Event::BurstEnd(_) => return,
            Event::Scan | Event::Tick | Event::Migrate => {
                if let Some((user, _)) = self.stop(calendar.now()) {
                    self.ready.push_front(user);
                }
                match event {
                    Event::Tick => self.memory.tick(&mut self.subsystem, calendar),
                    Event::Migrate => self.memory.migrate(&mut self.subsystem, calendar),
                    _ => self.memory.scan(&mut self.subsystem, calendar),
                }
                self.memory.take_woken(&mut self.woken);
                self.ready.extend(self.woken.drain(..));
                self.again(event, calendar);
            }
        }
        self.dispatch(calendar);
    }
}

/// What a run gave.
pub fn outcome(
    machine: &Machine,
    workload: &Workload,
    users: u32,
    seed: u64,
    seconds: f64,
) -> (SmallSystem, SystemReading) {
    let (mut system, mut calendar) =
        SmallSystem::start(machine, workload, users, Streams::new(seed, 0)).unwrap();
    run(
        &mut system,
        &mut calendar,
        Time::START + Span::from_seconds(seconds),
    );
    let reading = system.reading();
    (system, reading)
}

/// So many pages, each touched once, at even intervals; the part of them that is changed.
pub fn once(pages: f64, changed: f64) -> Locality {
    Locality {
        working_set_pages: pages,
        working_set_sd: 0.0,
        repeatability: 1.0,
        growth: 1.0,
        reference_interval: ms(1e9),
        phase: ms(1e9),
        changed,
        shared_pages: 0,
    }
}
