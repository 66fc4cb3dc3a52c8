//! Once warm, running allocates nothing.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use satline_machine::configuration::{Machine, Purpose};
use satline_machine::devices::{IoEvent, Pages, Request, Subsystem};
use satline_machine::engine::{Calendar, Distribution, Model, Span, Streams, Time, run};
use satline_machine::model::{Plan, Simulation};
use satline_machine::readings::SystemReading;
use support::central_server::CentralServer;
use support::machines;
use support::paging_load::device;

struct Counting;

thread_local! {
    // Tests run on threads of their own and must not count each other's.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of this thread while a model runs from one second to another.
fn allocations<M: Model>(
    model: &mut M,
    calendar: &mut Calendar<M::Event>,
    from_s: f64,
    to_s: f64,
) -> (u64, u64) {
    let at = |seconds| Time::START + Span::from_seconds(seconds);
    run(model, calendar, at(from_s));
    let before = ALLOCATIONS.get();
    let events = run(model, calendar, at(to_s));
    (events, ALLOCATIONS.get() - before)
}

#[test]
fn the_engine_allocates_nothing_in_its_loop() {
    let (mut model, mut calendar) = CentralServer::start(Streams::new(1, 0));
    let (events, allocations) = allocations(&mut model, &mut calendar, 0.0, 500.0);
    assert!(events > 50_000);
    assert_eq!(allocations, 0);
}

/// A drum and a disk on one path that are never idle.
struct Busy(Subsystem);

impl Model for Busy {
    type Event = IoEvent;

    fn handle(&mut self, event: IoEvent, calendar: &mut Calendar<IoEvent>) {
        if let Some(done) = self.0.handle(event, calendar) {
            let Request { tag, cylinder, .. } = done.request;
            let next = Request {
                tag,
                cylinder: (cylinder * 7 + tag + 1) % 96,
                pages: Pages::of(&[(tag % 24) as u16, (cylinder % 24) as u16]),
            };
            self.0.submit(done.device, next, calendar);
        }
    }
}

#[test]
fn devices_allocate_nothing_in_their_loop() {
    let mut busy = Busy(Subsystem::default());
    let path = busy.0.add_path(0, 0);
    let devices = ["2305-2", "3380"].map(|name| busy.0.add_device(&device(name), &[path], 0.3));
    let mut calendar = Calendar::with_capacity(16);
    for tag in 0..20 {
        let request = Request {
            tag,
            cylinder: tag,
            pages: Pages::one(tag as u16),
        };
        busy.0.submit(devices[tag as usize % 2], request, &mut calendar);
    }
    let (events, allocations) = allocations(&mut busy, &mut calendar, 1.0, 60.0);
    assert!(events > 10_000, "{events}");
    assert_eq!(allocations, 0);
}

/// Allocations in 200 s of a machine short of storage, after so long a warm-up; and the reading at the end.
fn allocations_of(machine: &Machine, warm_s: f64) -> (u64, SystemReading) {
    let exponential = |mean_s| Distribution::exponential(mean_s).unwrap();
    let mut work = machines::kind(exponential(0.1));
    work.cpu_between_ios = Some(Span::from_seconds(0.02));
    work.locality.working_set_pages = 15.0;
    work.locality.changed = 0.5;
    let workload = machines::workload(vec![machines::class(exponential(1.0), vec![work])]);
    let plan = Plan {
        audit: false,
        ..Plan::constant(12, machines::at(warm_s + 200.0))
    };
    let mut simulation = Simulation::new(machine, &workload, &plan, Streams::new(1, 0)).unwrap();
    simulation.run_until(machines::at(warm_s), &mut ());
    let before = ALLOCATIONS.get();
    simulation.run_until(machines::at(warm_s + 200.0), &mut ());
    (ALLOCATIONS.get() - before, simulation.reading().system)
}

#[test]
fn a_whole_machine_allocates_nothing_in_its_loop() {
    let mut machine = machines::machine();
    machine.storage.pageable_frames = 150;
    let (allocations, system) = allocations_of(&machine, 200.0);
    assert!(system.page_reads > 2000, "{}", system.page_reads);
    assert_eq!(allocations, 0);
}

#[test]
fn swapping_allocates_nothing_in_its_loop() {
    let mut machine = machines::machine();
    machine.storage.pageable_frames = 150;
    machine.storage.free_list_minimum = 16;
    machine.swapping = Some(support::swapping::prototype());
    support::swapping::add_area(&mut machine, "3380", Purpose::Swap, 40);
    // Lists of start-I/Os grow with their longest moment, which is late.
    let (allocations, system) = allocations_of(&machine, 1000.0);
    assert!(system.swap_sets_in > Some(1000), "{:?}", system.swap_sets_in);
    assert_eq!(allocations, 0);
}
