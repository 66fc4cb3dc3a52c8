//! Swapping in the whole machine: the accounts hold, and runs without it know nothing of it.

use crate::support::machines::{at, class, kind, machine, s, workload};
use crate::support::swapping::{add_area, areas, plans, prototype};
use proptest::prelude::*;
use satline_machine::configuration::{Machine, Purpose, Workload};
use satline_machine::engine::{Distribution, Span, Streams};
use satline_machine::model::{Plan, Simulation, Step};
use satline_machine::readings::{Reading, SystemReading};
use satline_machine::summary::{SWAPPING, Steps, Summary};

/// Short transactions, and long ones that go on in Q2.
fn mixed(pages: f64) -> Workload {
    let mut short = kind(Distribution::exponential(0.05).unwrap());
    short.locality.working_set_pages = pages;
    short.locality.working_set_sd = pages / 4.0;
    short.locality.repeatability = 0.7;
    short.locality.changed = 0.5;
    short.cpu_between_ios = Some(s(0.02));
    let mut long = short.clone();
    (long.cpu, long.weight) = (Distribution::fixed(0.9).unwrap(), 0.2);
    let mut made = workload(vec![class(
        Distribution::exponential(2.0).unwrap(),
        vec![short, long],
    )]);
    made.classes[0].space_pages = 60;
    made.shared_pages = 8;
    made
}

fn start(machine: &Machine, workload: &Workload, users: u32, sample_s: f64) -> Simulation {
    let step = |from, users| Step {
        from: at(from),
        users,
    };
    let plan = Plan {
        users,
        steps: vec![step(0.0, users), step(6.0, users / 3), step(9.0, users)],
        sample_every: s(sample_s),
        end: at(15.0),
        audit: true,
    };
    Simulation::new(machine, workload, &plan, Streams::new(5, 0)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Users come and go, and any combination swaps: the accounts hold at every sample, and looking changes nothing.
    #[test]
    fn accounts_hold_with_any_combination(
        plan in plans(), areas in areas(), frames in 20..400_u32, users in 1..14_u32, pages in 1.0..45.0_f64,
        (minimum, cost_us, processors, outgrown) in (0..30_u32, 0..400_u64, 1..3_u32, any::<bool>()),
    ) {
        let mut machine = machine();
        machine.processors.count = processors;
        machine.storage.pageable_frames = frames;
        machine.storage.free_list_minimum = minimum;
        machine.policies.involuntary_drop = if outgrown { "outgrown" } else { "never" }.into();
        let cost = Span::from_ns(cost_us * 1000);
        (machine.costs.page_fault, machine.costs.page_in_end, machine.costs.page_out) = (cost, cost, cost);
        machine.swapping = Some(plan);
        areas.iter().for_each(|&(purpose, cylinders)| add_area(&mut machine, "3380", purpose, cylinders));
        let workload = mixed(pages);
        let end = |sample_s| {
            let mut simulation = start(&machine, &workload, users, sample_s);
            simulation.run_until(at(15.0), &mut ());
            (simulation.audit(), simulation.reading().system)
        };
        let (audit, system) = end(0.5);
        prop_assert_eq!(audit, Ok(()));
        prop_assert_eq!(system, end(7.0).1);
    }
}

/// The prototype with areas of its own, under pressure.
fn pressed() -> Simulation {
    let mut machine = machine();
    machine.storage.pageable_frames = 150;
    machine.storage.free_list_minimum = 16;
    machine.swapping = Some(prototype());
    add_area(&mut machine, "3380", Purpose::Swap, 20);
    start(&machine, &mixed(25.0), 12, 1.0)
}

#[test]
fn both_kinds_of_paging_io_add_up_and_sets_go_by_one_start_io() {
    let mut simulation = pressed();
    simulation.run_until(at(15.0), &mut ());
    let reading: Reading = simulation.reading().clone();
    let system = reading.system;
    let sum = |of: fn(&satline_machine::readings::DeviceReading) -> u128| {
        reading
            .devices
            .iter()
            .filter(|device| device.user_ios == 0)
            .map(of)
            .sum::<u128>()
    };
    assert_eq!(
        sum(|device| device.queue_ns + device.pend_ns + device.disconnect_ns + device.connect_ns),
        system.swap_io_ns.unwrap() + system.page_io_ns.unwrap()
    );
    assert!(system.swap_sios.unwrap() < system.paging_sios && system.swap_sets_out.unwrap() > 50);
    // Every set lay in one block: a start-I/O for each that ended, and some may be under way.
    let moved = system.swap_sets_in.unwrap() + system.swap_sets_out.unwrap();
    let under_way = u64::from(reading.devices[3].outstanding);
    assert_eq!(system.swap_sios.unwrap() + under_way, moved);
    assert!(system.page_reads > system.swap_pages_in.unwrap());
    let waits = system.logical_returns.unwrap();
    assert!(waits > 0 && system.physical_swaps.unwrap() > 0 && waits < system.logical_swaps.unwrap());
}

#[test]
fn measures_of_swapping_are_there_where_there_is_any() {
    let measures = |mut simulation: Simulation, devices: usize| {
        let steps = Steps::of_loads(&[12], s(15.0), s(3.0), s(1.0)).unwrap();
        let names = (0..devices).map(|number| format!("device-{number}")).collect();
        let mut summary = Summary::new(steps, names);
        satline_machine::readings::Observer::sample(&mut summary, simulation.reading());
        simulation.run_until(at(15.0), &mut summary);
        summary.steps().remove(0).measures
    };
    let with = measures(pressed(), 4);
    for (name, _) in SWAPPING {
        assert!(
            with[*name].is_some_and(|value| value >= 0.0),
            "{name}: {:?}",
            with[*name]
        );
    }
    let per_sio = with["pages_per_swap_sio"].unwrap();
    assert!((1.0..=8.0).contains(&per_sio), "{per_sio}");
    assert!(
        with["page_io_ms"].unwrap() < with["swap_io_ms"].unwrap(),
        "a drum and a disk"
    );
    let without = measures(start(&machine(), &mixed(25.0), 12, 1.0), 3);
    assert!(SWAPPING.iter().all(|(name, _)| !without.contains_key(*name)));
    let none = start(&machine(), &mixed(25.0), 12, 1.0).reading().system;
    assert_eq!(
        none,
        SystemReading {
            frames: none.frames,
            frames_free: none.frames_free,
            slots: none.slots,
            ..SystemReading::default()
        }
    );
}
