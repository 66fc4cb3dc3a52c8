//! An open load on a string of actuators: start-I/Os come at random times (Poisson) to each of them.

use std::path::PathBuf;

use rand::RngExt;
use satline_machine::devices::{DeviceId, DeviceModel, IoEvent, Pages, Request, Subsystem};
use satline_machine::engine::{Calendar, Distribution, Model, NORMAL, Span, Stream, Streams, Time, run};

/// A shipped device.
pub fn device(name: &str) -> DeviceModel {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../machines/devices");
    DeviceModel::read(&folder.join(format!("{name}.toml"))).unwrap()
}

/// Where the pages of a request lie (spec page 8).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Placement {
    /// Anywhere in the paging area.
    Random,
    /// Page-ins anywhere in the area; page-outs on the cylinder used last. Of the pages that leave storage this share was
    /// changed and is written.
    ZigZag { changed: f64 },
    /// Blocks go out to the next free place ahead of a cursor that sweeps to and fro over the area. Any block out there
    /// may be the next to come in, and gives up its place; so as many go out as come in. At the start this share of
    /// the area is taken.
    MovingCursor { taken: f64 },
    /// As before, but blocks come in from anywhere, also from far behind the cursor's wave.
    CursorAndRandom,
}

/// One string: actuators that share one path.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub actuators: u16,
    pub pages_per_sio: usize,
    pub sios_per_s: f64,
    pub placement: Placement,
    /// The paging area: this share of the cylinders, in the middle of the volume.
    pub area: f64,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Arrival(u16),
    Io(IoEvent),
}

impl From<IoEvent> for Event {
    fn from(event: IoEvent) -> Self {
        Self::Io(event)
    }
}

/// Means over one run, per start-I/O; ms where it is a time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outcome {
    pub response_ms: f64,
    pub queue_ms: f64,
    pub pend_ms: f64,
    pub disconnect_ms: f64,
    pub connect_ms: f64,
    pub misses: f64,
    pub sios_per_s: f64,
    pub path_busy: f64,
}

/// The places for blocks in a paging area, and the cursor that allocates them.
struct Cursor {
    at: usize,
    up: bool,
    taken: Vec<bool>,
    blocks: Vec<u32>,
}

impl Cursor {
    /// An area of so many places, of which a share is taken, after the cursor has gone over it some times.
    fn new(places: u32, taken: f64, chance: &mut Stream) -> Self {
        let mut cursor = Self {
            at: chance.random_range(0..places as usize),
            up: true,
            taken: vec![false; places as usize],
            blocks: Vec::with_capacity(places as usize),
        };
        for _ in 0..(f64::from(places) * taken) as u32 {
            cursor.write();
        }
        for _ in 0..3 * places {
            cursor.read(chance);
            cursor.write();
        }
        cursor
    }

    /// The next free place ahead; `None` when all are taken.
    fn write(&mut self) -> Option<u32> {
        let last = self.taken.len() - 1;
        // To the end and back again passes every place.
        for _ in 0..2 * self.taken.len() {
            self.up = self.at == 0 || (self.up && self.at < last);
            self.at = if self.up {
                (self.at + 1).min(last)
            } else {
                self.at - 1
            };
            if !self.taken[self.at] {
                self.taken[self.at] = true;
                self.blocks.push(self.at as u32);
                return Some(self.at as u32);
            }
        }
        None
    }

    /// Any of the taken places, which it frees; `None` when there is none.
    fn read(&mut self, chance: &mut Stream) -> Option<u32> {
        if self.blocks.is_empty() {
            return None;
        }
        let which = chance.random_range(0..self.blocks.len());
        let block = self.blocks.swap_remove(which);
        self.taken[block as usize] = false;
        Some(block)
    }
}

struct Actuator {
    id: DeviceId,
    arrivals: Stream,
    places: Stream,
    cursor: Cursor,
}

struct Loaded {
    load: Load,
    between: Distribution,
    first_cylinder: u32,
    cylinders: u32,
    blocks_per_cylinder: u32,
    subsystem: Subsystem,
    actuators: Vec<Actuator>,
}

impl Loaded {
    fn start(load: Load, model: &DeviceModel, streams: Streams) -> (Self, Calendar<Event>) {
        let mut subsystem = Subsystem::default();
        let path = subsystem.add_path(0, 0);
        let cylinders = ((f64::from(model.cylinders()) * load.area).round() as u32).max(1);
        let blocks_per_cylinder = model.slots_per_cylinder() / load.pages_per_sio as u32;
        let taken = match load.placement {
            Placement::MovingCursor { taken } => taken,
            _ => 0.0,
        };
        let mut calendar = Calendar::with_capacity(64);
        let actuators = (0..load.actuators).map(|number| {
            let turned = streams.stream(number.into(), "turned").random();
            let mut places = streams.stream(number.into(), "places");
            calendar.schedule(Span::ZERO, NORMAL, Event::Arrival(number));
            Actuator {
                id: subsystem.add_device(model, &[path], turned),
                arrivals: streams.stream(number.into(), "arrivals"),
                cursor: Cursor::new(cylinders * blocks_per_cylinder, taken, &mut places),
                places,
            }
        });
        let actuators = actuators.collect();
        let loaded = Self {
            load,
            between: Distribution::exponential(1.0 / load.sios_per_s).unwrap(),
            first_cylinder: (model.cylinders() - cylinders) / 2,
            cylinders,
            blocks_per_cylinder,
            subsystem,
            actuators,
        };
        (loaded, calendar)
    }

    /// Cylinder and block of the next request.
    fn place(&mut self, number: usize) -> (u32, u32) {
        let actuator = &mut self.actuators[number];
        let anywhere = actuator
            .places
            .random_range(0..self.cylinders * self.blocks_per_cylinder);
        let kind: f64 = actuator.places.random();
        let split = |block: u32| {
            (
                self.first_cylinder + block / self.blocks_per_cylinder,
                block % self.blocks_per_cylinder,
            )
        };
        match self.load.placement {
            Placement::ZigZag { changed } if kind < changed / (1.0 + changed) => {
                let (cylinder, block) = split(anywhere);
                (self.subsystem.arm(actuator.id).unwrap_or(cylinder), block)
            }
            Placement::MovingCursor { .. } => {
                let Actuator { cursor, places, .. } = actuator;
                let first = if kind < 0.5 {
                    cursor.write()
                } else {
                    cursor.read(places)
                };
                split(
                    first
                        .or_else(|| cursor.write())
                        .or_else(|| cursor.read(places))
                        .unwrap(),
                )
            }
            Placement::CursorAndRandom if kind < 0.5 => {
                let block = actuator.cursor.write();
                actuator.cursor.read(&mut actuator.places);
                split(block.unwrap())
            }
            _ => split(anywhere),
        }
    }
}

impl Model for Loaded {
    type Event = Event;

    fn handle(&mut self, event: Event, calendar: &mut Calendar<Event>) {
        match event {
            Event::Io(event) => {
                self.subsystem.handle(event, calendar);
            }
            Event::Arrival(number) => {
                let (cylinder, block) = self.place(number.into());
                let actuator = &mut self.actuators[usize::from(number)];
                let after = self.between.draw(&mut actuator.arrivals);
                calendar.schedule(after, NORMAL, Event::Arrival(number));
                let request = Request {
                    tag: 0,
                    cylinder,
                    pages: Pages::block(
                        (block as usize * self.load.pages_per_sio) as u16,
                        self.load.pages_per_sio,
                    ),
                };
                let id = actuator.id;
                self.subsystem.submit(id, request, calendar);
            }
        }
    }
}

/// Runs a load on a string of one device type: a warm-up of a tenth, then so many seconds.
pub fn outcome(load: Load, model: &DeviceModel, streams: Streams, seconds: f64) -> Outcome {
    let (mut loaded, mut calendar) = Loaded::start(load, model, streams);
    let warm = Time::START + Span::from_seconds(seconds * 0.1);
    run(&mut loaded, &mut calendar, warm);
    let before = reading(&loaded, warm);
    let end = warm + Span::from_seconds(seconds);
    run(&mut loaded, &mut calendar, end);
    let after = reading(&loaded, end);
    let change: [f64; 7] = std::array::from_fn(|i| (after[i] - before[i]) as f64);
    let per_sio = |i: usize| change[i] / change[0];
    let ms = |i: usize| per_sio(i) * 1e-6;
    Outcome {
        response_ms: ms(1) + ms(2) + ms(3) + ms(4),
        queue_ms: ms(1),
        pend_ms: ms(2),
        disconnect_ms: ms(3),
        connect_ms: ms(4),
        misses: per_sio(5),
        sios_per_s: change[0] / seconds,
        path_busy: change[6] * 1e-9 / seconds,
    }
}

fn reading(loaded: &Loaded, now: Time) -> [u128; 7] {
    let mut sum = [0; 7];
    for actuator in &loaded.actuators {
        let c = loaded.subsystem.counters(actuator.id);
        let misses = u128::from(c.rps_misses);
        let row = [
            u128::from(c.sios),
            c.queue_ns,
            c.pend_ns,
            c.disconnect_ns,
            c.connect_ns,
            misses,
            0,
        ];
        sum.iter_mut().zip(row).for_each(|(total, value)| *total += value);
    }
    sum[6] = loaded.subsystem.channel_busy_ns(0, now).unwrap();
    sum
}
