//! The model of a whole machine: users, the scheduler, the processors, storage and devices, run as events.
//!
//! A user thinks, becomes ready (Q1 candidate), is admitted to Q1, and after its slice of CPU goes through Q2 as often
//! as he needs, until his transaction is done (spec page 7, users and scheduler). In queue he runs in bursts, each up to
//! the next page fault, I/O, or end of his time; between them the control program runs its paths, which nothing
//! interrupts. Time is accounted exactly, in whole ns: a processor's is problem, supervisor, idle, page wait and I/O wait;
//! that of a user's transaction run, CPU wait, page wait, I/O wait and eligible.

mod accounts;
mod audit;
mod demand;
mod dispatching;
mod files;
mod free_storage;
mod locking;
mod memory;
mod plan;
mod posting;
mod processor;
mod reach;
mod reading;
mod running;
mod scheduling;
mod user;
mod waiting;
mod watching;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

pub use plan::{Plan, Step};

use crate::configuration::{Costs, Machine, SchedulerFigures, Workload, programs};
use crate::devices::{DeviceId, IoEvent, Subsystem};
use crate::engine::{Calendar, NORMAL, Span, Streams, Time};
use crate::policies::admission::{self, Admission, InQueue};
use crate::policies::dispatch::{self, Dispatch};
use crate::policies::find;
use crate::policies::involuntary_drop::{self, InvoluntaryDrop};
use crate::policies::replacement::{self, Replacement, Setup};
use crate::readings::{Observer, Reading, TransactionRecord, Transition};
use crate::storage::Memory;
use accounts::{Populations, ProcessorTime};
use demand::Class;
use files::FileDevice;
use free_storage::Requests;
use locking::Locks;
use posting::Posted;
use processor::Processor;
use reach::Reach;
use satline_program::Error;
use user::{Draws, User};

/// The population changes before anything else of the same instant.
const FIRST: u8 = 0;

/// What happens.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// A step of the plan begins.
    Step(u32),
    /// A user has thought, or a background program begins.
    Ready(u32),
    /// A processor's burst ends, or its path of the control program.
    Ends(u16),
    Io(IoEvent),
    /// The replacement policy's own time.
    Tick,
    /// The periodic scan of storage.
    Scan,
    /// Pages are to move to a slower tier.
    Migrate,
}

impl From<IoEvent> for Event {
    fn from(event: IoEvent) -> Self {
        Self::Io(event)
    }
}

/// A machine with its users, at work.
pub struct Simulation {
    calendar: Calendar<Event>,
    subsystem: Subsystem,
    memory: Memory,
    admission: Box<dyn Admission>,
    dispatch: Box<dyn Dispatch>,
    /// `None`: nobody has to leave the queue for a page fault.
    involuntary_drop: Option<Box<dyn InvoluntaryDrop>>,

    plan: Plan,
    scheduler: SchedulerFigures,
    costs: Costs,
    /// For each page of a swap set.
    set_page: Span,
    classes: Vec<Class>,
    files: Vec<FileDevice>,
    devices: Vec<DeviceId>,
    channels: Vec<u16>,

    users: Vec<User>,
    draws: Vec<Draws>,
    /// Users that are wanted.
    wanted: u32,
    processors: Vec<Processor>,
    /// Paths that wait for a processor, in order of arrival.
    posted: VecDeque<Posted>,
    /// `None`: processors are alike.
    reach: Option<Box<Reach>>,
    /// `None`: nothing is guarded.
    locks: Option<Box<Locks>>,
    /// `None`: free storage is a part of the paths.
    requests: Option<Box<Requests>>,
    /// Processors without anything to do.
    idle: usize,
    /// In this event somebody has come to the dispatcher's list; one of them has become ready, and was not interrupted.
    entered: bool,
    readied: bool,
    /// Q1 and Q2 candidates: who was served longest ago is on top.
    candidates: [BinaryHeap<Reverse<(Time, u32)>>; 2],
    queue: InQueue,
    candidates_pages: u64,
    /// When the paging rate was measured last, and the pages read up to then.
    rate_from: (Time, u64),

    populations: Populations,
    /// What an idle processor's time counts as.
    waiting_for: ProcessorTime,
    /// By what that was found last: I/Os of paging under way, and of users.
    outstanding: (u32, u32),
    /// User I/Os under way, and all that ended, by device: (I/Os, blocks).
    ios_outstanding: u32,
    ios_ended: Vec<(u64, u64)>,
    counts: Counts,
    /// Supervisor time for no user, ns: of paths that ended.
    system_ns: u64,
    /// ∫ in_transaction dt as the transactions themselves tell it: of those that ended.
    transactions_ns: u128,

    records: Vec<TransactionRecord>,
    transitions: Vec<Transition>,
    woken: Vec<u32>,
    disturbed: Vec<u32>,
    reading: Reading,
    next_sample: Time,
    failures: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    events: u64,
    dispatches: u64,
    preemptions: u64,
    q1_adds: u64,
    q2_adds: u64,
    q1_drops: u64,
    q2_drops: u64,
    /// Of them at page faults.
    involuntary_drops: u64,
    user_ios: u64,
    transactions: u64,
}

impl Simulation {
    /// A run at its start: nobody is logged on.
    ///
    /// # Errors
    /// A policy has an unknown name, or machine, workload and plan do not go together.
    pub fn new(machine: &Machine, workload: &Workload, plan: &Plan, streams: Streams) -> Result<Self, Error> {
        let admission =
            find(admission::POLICIES, "admission", &machine.policies.admission)?(&machine.scheduler);
        let programs = programs(workload, plan.users).len();
        let dispatch = find(dispatch::POLICIES, "dispatch", &machine.policies.dispatch)?(
            programs,
            machine.processors.count as usize,
        );
        let replacement = find(
            replacement::POLICIES,
            "replacement",
            &machine.policies.replacement,
        )?;
        Self::with_policies(machine, workload, plan, streams, admission, dispatch, replacement)
    }

    /// The same with admission, dispatch and replacement policies of the caller's own, whatever the machine names.
    ///
    /// # Errors
    /// As for [`Simulation::new`].
    pub fn with_policies(
        machine: &Machine,
        workload: &Workload,
        plan: &Plan,
        streams: Streams,
        admission: Box<dyn Admission>,
        dispatch: Box<dyn Dispatch>,
        replacement: impl FnOnce(Setup) -> Box<dyn Replacement>,
    ) -> Result<Self, Error> {
        plan.check()?;
        check(machine, workload)?;
        let dropping = &machine.policies.involuntary_drop;
        let involuntary_drop = find(involuntary_drop::POLICIES, "involuntary_drop", dropping)?();
        let programs = programs(workload, plan.users);
        let count = programs.len();
        let mut subsystem = Subsystem::default();
        let devices = attach(machine, &streams, &mut subsystem);
        let mut channels: Vec<u16> = machine
            .devices
            .iter()
            .flat_map(|unit| &unit.paths)
            .map(|path| path.1)
            .collect();
        channels.sort_unstable();
        channels.dedup();
        let mut calendar = Calendar::with_capacity(4 * (count + devices.len()) + 64);
        let processors = (0..machine.processors.count as u16)
            .map(|number| Processor::new(calendar.add_alarm(Event::Ends(number))));
        let mut simulation = Self {
            processors: processors.collect(),
            calendar,
            subsystem,
            memory: Memory::with_policy(machine, workload, plan.users, &streams, replacement)?,
            admission,
            dispatch,
            involuntary_drop,
            plan: plan.clone(),
            scheduler: machine.scheduler,
            costs: machine.costs,
            set_page: machine.swapping.as_ref().map_or(Span::ZERO, |plan| plan.set_page),
            classes: Class::all(machine, workload)?,
            files: FileDevice::all(machine),
            ios_ended: vec![(0, 0); devices.len()],
            devices,
            channels,
            users: programs.iter().map(User::new).collect(),
            draws: (0..count as u32).map(|user| Draws::new(&streams, user)).collect(),
            wanted: 0,
            posted: VecDeque::with_capacity(count + 16),
            reach: Reach::new(machine, count).map(Box::new),
            locks: Locks::new(machine, count),
            requests: Requests::new(machine, count, &streams)?,
            idle: machine.processors.count as usize,
            entered: false,
            readied: false,
            candidates: std::array::from_fn(|_| BinaryHeap::with_capacity(count)),
            queue: InQueue::default(),
            candidates_pages: 0,
            rate_from: (Time::START, 0),
            populations: Populations::new(plan.users),
            waiting_for: ProcessorTime::Idle,
            outstanding: (0, 0),
            ios_outstanding: 0,
            counts: Counts::default(),
            system_ns: 0,
            transactions_ns: 0,
            records: Vec::with_capacity(16),
            transitions: Vec::with_capacity(64),
            woken: Vec::with_capacity(64),
            disturbed: Vec::with_capacity(16),
            reading: Reading::default(),
            next_sample: Time::START + plan.sample_every,
            failures: Vec::new(),
        };
        simulation.start();
        Ok(simulation)
    }

    fn start(&mut self) {
        for (number, step) in self.plan.steps.iter().enumerate() {
            self.calendar
                .schedule(step.from - Time::START, FIRST, Event::Step(number as u32));
        }
        for (number, user) in self.users.iter().enumerate() {
            if user.background {
                self.calendar
                    .schedule(Span::ZERO, NORMAL, Event::Ready(number as u32));
            }
        }
        if let Some(interval) = self.memory.tick_interval() {
            self.calendar.schedule(interval, NORMAL, Event::Tick);
        }
        if let Some(interval) = self.memory.migration_interval() {
            self.calendar.schedule(interval, NORMAL, Event::Migrate);
        }
        if let Some(interval) = self.memory.scan_interval() {
            self.calendar.schedule(interval, NORMAL, Event::Scan);
        }
    }

    /// Goes on up to and including a time, or to the plan's end if that is earlier. The observer gets the samples that are
    /// due, and what happens between them. How a run is cut into pieces and sampled does not change it.
    pub fn run_until(&mut self, until: Time, observer: &mut impl Observer) {
        self.go(until, observer);
    }

    // Not generic: the whole machine is compiled here once, as one piece, and not where it is called.
    fn go(&mut self, until: Time, observer: &mut dyn Observer) {
        let until = until.min(self.plan.end);
        loop {
            let stop = self.next_sample.min(until);
            while let Some(event) = self.calendar.next(stop) {
                self.counts.events += 1;
                self.handle(event);
                self.tell(observer);
            }
            if self.next_sample > until {
                return;
            }
            observer.sample(self.reading());
            if self.plan.audit && self.failures.is_empty() {
                self.failures = self.audit_now();
            }
            self.next_sample = self.next_sample + self.plan.sample_every;
        }
    }

    /// The time up to which it has run.
    pub fn now(&self) -> Time {
        self.calendar.now()
    }

    /// Paging areas are full, and no frame can be given up.
    pub fn overflow(&self) -> bool {
        self.memory.overflow()
    }

    /// Whether the accounts hold: now, and at every sample if the plan says so.
    ///
    /// # Errors
    /// What does not hold, one line each; of samples the first failing one's.
    pub fn audit(&self) -> Result<(), Vec<String>> {
        let found = if self.failures.is_empty() {
            self.audit_now()
        } else {
            self.failures.clone()
        };
        if found.is_empty() { Ok(()) } else { Err(found) }
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        match event {
            Event::Step(number) => self.turn_to(self.plan.steps[number as usize].users),
            Event::Ready(user) => self.ready(user),
            Event::Ends(processor) => self.ends(processor.into()),
            Event::Io(event) => self.io(event),
            Event::Tick => self.tick(),
            Event::Migrate => self.migrate(),
            Event::Scan => self.scan(),
        }
        self.settle();
    }

    /// After every change: who waits for a frame gets what there is, and waiting is classified.
    #[inline(always)]
    fn settle(&mut self) {
        while self.memory.starved() {
            self.feed();
        }
        if self.processors.len() > 1 {
            // Whoever idles has found nobody: that changes only when somebody waits anew.
            while std::mem::take(&mut self.entered) {
                self.wake();
            }
        }
        self.classify_waiting();
    }

    #[inline]
    fn tell(&mut self, observer: &mut dyn Observer) {
        // No transaction ends without a transition.
        if self.transitions.is_empty() {
            return;
        }
        for transition in self.transitions.drain(..) {
            observer.transition(&transition);
        }
        for record in self.records.drain(..) {
            observer.transaction(&record);
        }
    }
}

fn check(machine: &Machine, workload: &Workload) -> Result<(), Error> {
    let processors = machine.processors;
    let speed_is_possible = processors.speed.is_finite() && processors.speed > 0.0;
    if !(1..=1024).contains(&processors.count) || !speed_is_possible {
        return Err(Error::input(
            format!(
                "machine {:?}: {} processors of speed {}",
                machine.name, processors.count, processors.speed
            ),
            "give it 1 to 1024 processors of a speed above 0",
        ));
    }
    machine.covers(workload.shared_pages)?;
    if workload.classes.is_empty() && workload.background.is_empty() {
        return Err(Error::input(
            format!("workload {:?} has no users", workload.name),
            "give it a class of users or background work",
        ));
    }
    Ok(())
}

/// Devices on their paths, each turned by chance.
fn attach(machine: &Machine, streams: &Streams, subsystem: &mut Subsystem) -> Vec<DeviceId> {
    use rand::RngExt;
    let units = machine.devices.iter().enumerate();
    let attach = |(number, unit): (usize, &crate::configuration::DeviceUnit)| {
        let paths: Vec<_> = unit
            .paths
            .iter()
            .map(|&(unit, channel)| subsystem.add_path(unit, channel))
            .collect();
        let turned = streams.stream(number as u64, "turned").random();
        subsystem.add_device(&unit.model, &paths, turned)
    };
    units.map(attach).collect()
}
