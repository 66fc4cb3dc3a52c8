//! The closed central-server model: customers think, then go round CPU and disks, then think again.
//!
//! Exponential times, first come first served, so that exact mean value analysis gives the truth.

use rand::RngExt;
use satline_machine::engine::{Calendar, Distribution, Model, NORMAL, Server, Stream, Streams, run};
use satline_machine::engine::{Span, Time};

pub const CUSTOMERS: u32 = 100;
pub const DISKS: usize = 4;
pub const THINK_S: f64 = 10.0;
pub const CPU_S: f64 = 0.010;
pub const DISK_S: f64 = 0.030;
/// After a CPU burst a customer is done with this probability; so there are 10 bursts and 9 disk visits.
pub const DONE: f64 = 0.1;

#[derive(Debug, Clone, Copy)]
pub enum Event {
    Thought(u32),
    Computed(u32),
    Read { disk: u8, customer: u32 },
}

struct Customer {
    think: Stream,
    cpu: Stream,
    disk: Stream,
    route: Stream,
}

pub struct CentralServer {
    customers: Vec<Customer>,
    think: Distribution,
    burst: Distribution,
    access: Distribution,
    pub cpu: Server<u32>,
    pub disks: [Server<u32>; DISKS],
    pub done: u64,
}

impl CentralServer {
    /// The model at its start: everyone thinks.
    pub fn start(streams: Streams) -> (Self, Calendar<Event>) {
        let customers = (0..CUSTOMERS).map(|number| Customer {
            think: streams.stream(number.into(), "think"),
            cpu: streams.stream(number.into(), "cpu"),
            disk: streams.stream(number.into(), "disk"),
            route: streams.stream(number.into(), "route"),
        });
        let capacity = CUSTOMERS as usize;
        let exponential = |mean_s| Distribution::exponential(mean_s).unwrap();
        let mut model = Self {
            customers: customers.collect(),
            think: exponential(THINK_S),
            burst: exponential(CPU_S),
            access: exponential(DISK_S),
            cpu: Server::new(1, 1, capacity),
            disks: std::array::from_fn(|_| Server::new(1, 1, capacity)),
            done: 0,
        };
        let mut calendar = Calendar::with_capacity(capacity + 1);
        for number in 0..CUSTOMERS {
            model.think(number, &mut calendar);
        }
        (model, calendar)
    }

    #[inline]
    fn think(&mut self, customer: u32, calendar: &mut Calendar<Event>) {
        let length = self.think.draw(&mut self.customers[customer as usize].think);
        calendar.schedule(length, NORMAL, Event::Thought(customer));
    }

    #[inline]
    fn compute(&mut self, customer: u32, calendar: &mut Calendar<Event>) {
        let length = self.burst.draw(&mut self.customers[customer as usize].cpu);
        calendar.schedule(length, NORMAL, Event::Computed(customer));
    }

    #[inline]
    fn read(&mut self, disk: u8, customer: u32, calendar: &mut Calendar<Event>) {
        let length = self.access.draw(&mut self.customers[customer as usize].disk);
        calendar.schedule(length, NORMAL, Event::Read { disk, customer });
    }

    #[inline]
    fn join_cpu(&mut self, customer: u32, calendar: &mut Calendar<Event>) {
        if self.cpu.arrive(calendar.now(), 0, customer) {
            self.compute(customer, calendar);
        }
    }
}

impl Model for CentralServer {
    type Event = Event;

    #[inline]
    fn handle(&mut self, event: Event, calendar: &mut Calendar<Event>) {
        match event {
            Event::Thought(customer) => self.join_cpu(customer, calendar),
            Event::Computed(customer) => {
                if let Some(next) = self.cpu.depart(calendar.now()) {
                    self.compute(next, calendar);
                }
                let route: f64 = self.customers[customer as usize].route.random();
                if route < DONE {
                    self.done += 1;
                    self.think(customer, calendar);
                } else {
                    let disk = ((route - DONE) / (1.0 - DONE) * DISKS as f64) as usize;
                    if self.disks[disk].arrive(calendar.now(), 0, customer) {
                        self.read(disk as u8, customer, calendar);
                    }
                }
            }
            Event::Read { disk, customer } => {
                if let Some(next) = self.disks[usize::from(disk)].depart(calendar.now()) {
                    self.read(disk, next, calendar);
                }
                self.join_cpu(customer, calendar);
            }
        }
    }
}

/// What a batch of the run showed.
#[derive(Debug, Clone, Copy)]
pub struct Batch {
    pub throughput_per_s: f64,
    /// Mean number at the CPU, then at each disk, in service and waiting.
    pub present: [f64; 1 + DISKS],
    pub cpu_busy: f64,
    pub disk_wait_s: f64,
}

/// Runs the model: a warm-up, then batches, each of so many seconds.
pub fn batches(streams: Streams, warm_up_s: f64, batch_s: f64, count: u32) -> Vec<Batch> {
    let (mut model, mut calendar) = CentralServer::start(streams);
    let mut until = Time::START + Span::from_seconds(warm_up_s);
    run(&mut model, &mut calendar, until);
    let reading = |model: &CentralServer, now: Time| {
        let disks = model.disks.iter().map(|disk| disk.present.integral(now));
        let present: Vec<u128> = std::iter::once(model.cpu.present.integral(now))
            .chain(disks)
            .collect();
        (
            model.done,
            present,
            model.cpu.busy.integral(now),
            model.disks[0].waits,
        )
    };
    let mut before = reading(&model, until);
    let mut found = Vec::new();
    for _ in 0..count {
        until = until + Span::from_seconds(batch_s);
        run(&mut model, &mut calendar, until);
        let after = reading(&model, until);
        let ns = batch_s * 1e9;
        let waits = after.3.count - before.3.count;
        found.push(Batch {
            throughput_per_s: (after.0 - before.0) as f64 / batch_s,
            present: std::array::from_fn(|i| (after.1[i] - before.1[i]) as f64 / ns),
            cpu_busy: (after.2 - before.2) as f64 / ns,
            disk_wait_s: (after.3.total_ns - before.3.total_ns) as f64 * 1e-9 / waits as f64,
        });
        before = after;
    }
    found
}
