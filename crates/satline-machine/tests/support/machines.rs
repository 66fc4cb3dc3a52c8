//! Machines and workloads made in code, for tests and examples of the whole model.

use satline_machine::configuration::{
    Background, Costs, DeviceUnit, IoPattern, Locality, Machine, PageArea, PagingPlan, Peers, Policies,
    Population, Processors, Purpose, Role, SchedulerFigures, StorageFigures, TransactionKind, UserClass,
    Workload,
};
use satline_machine::engine::{Distribution, Span, Streams, Time};
use satline_machine::model::{Plan, Simulation};
use satline_machine::readings::{Observer, Reading, TransactionRecord, Transition};

use super::paging_load::device;

pub fn s(seconds: f64) -> Span {
    Span::from_seconds(seconds)
}

pub fn at(seconds: f64) -> Time {
    Time::START + s(seconds)
}

/// Devices of one type, each on a channel of its own.
pub fn units(kind: &str, count: usize, role: Role, first_channel: u16) -> Vec<DeviceUnit> {
    let unit = |number: usize| DeviceUnit {
        name: format!("{kind}-{number}"),
        model: device(kind),
        role,
        paths: vec![(first_channel + number as u16, first_channel + number as u16)],
    };
    (0..count).map(unit).collect()
}

/// One processor as fast as the reference, storage for everything, one paging drum, two file disks, and a control program
/// that takes no time.
pub fn machine() -> Machine {
    let mut devices = units("2305-2", 1, Role::Paging, 1);
    devices.extend(units("3330-1", 2, Role::Files, 2));
    Machine {
        name: "made".into(),
        note: String::new(),
        processors: Processors { count: 1, speed: 1.0 },
        multiprocessor: None,
        locks: Vec::new(),
        free_storage: None,
        storage: StorageFigures {
            pageable_frames: 2000,
            bytes: 16 << 20,
            free_list_minimum: 1,
        },
        scheduler: SchedulerFigures {
            q1_slice: s(0.4),
            q2_slice: s(5.0),
            quantum: s(0.05),
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
            areas: vec![PageArea {
                device: 0,
                first_cylinder: 0,
                cylinders: 96,
                tier: 0,
                purpose: Purpose::Paging,
            }],
            most_pages_per_sio: 1,
            write_unchanged: false,
            periodic_scan: None,
            peers: Peers::default(),
        },
        swapping: None,
        policies: policies(),
        devices,
        unverified: Vec::new(),
    }
}

/// The base's policies.
pub fn policies() -> Policies {
    Policies {
        replacement: "core-table-scan".into(),
        page_out_device: "round-robin".into(),
        slot: "zig-zag".into(),
        queue_drop: "reset-bits".into(),
        admission: "classic".into(),
        dispatch: "priority".into(),
        involuntary_drop: "never".into(),
    }
}

/// A kind of transaction without I/O that touches next to nothing.
pub fn kind(cpu: Distribution) -> TransactionKind {
    TransactionKind {
        name: "made".into(),
        weight: 1.0,
        cpu,
        cpu_between_ios: None,
        cpu_between_simulations: None,
        io: IoPattern {
            skew: 0.0,
            span_cylinders: 20,
            blocks: 1,
        },
        locality: Locality {
            working_set_pages: 1.0,
            working_set_sd: 0.0,
            repeatability: 1.0,
            growth: 1.0,
            reference_interval: s(0.01),
            phase: s(1.0),
            changed: 0.0,
            shared_pages: 0,
        },
    }
}

pub fn class(think: Distribution, kinds: Vec<TransactionKind>) -> UserClass {
    UserClass {
        name: "users".into(),
        share: 1.0,
        think,
        space_pages: 40,
        transactions: kinds,
    }
}

pub fn workload(classes: Vec<UserClass>) -> Workload {
    Workload {
        name: "made".into(),
        note: String::new(),
        classes,
        population: Population::Constant(1),
        shared_pages: 0,
        background: Vec::new(),
    }
}

pub fn background(count: u32, kind: TransactionKind) -> Background {
    Background {
        name: "loop".into(),
        count,
        space_pages: 40,
        kind,
    }
}

/// So many users up to so many seconds, sampled every 10 s and audited.
pub fn simulation(machine: &Machine, workload: &Workload, users: u32, end_s: f64) -> Simulation {
    Simulation::new(
        machine,
        workload,
        &Plan::constant(users, at(end_s)),
        Streams::new(1, 0),
    )
    .unwrap()
}

/// Keeps all that it is told.
#[derive(Debug, Default)]
pub struct Kept {
    pub samples: Vec<Reading>,
    pub records: Vec<TransactionRecord>,
    pub transitions: Vec<Transition>,
}

impl Observer for Kept {
    fn sample(&mut self, reading: &Reading) {
        self.samples.push(reading.clone());
    }

    fn transaction(&mut self, record: &TransactionRecord) {
        self.records.push(*record);
    }

    fn transition(&mut self, transition: &Transition) {
        self.transitions.push(*transition);
    }
}

/// Runs to the end and audits.
pub fn run(simulation: &mut Simulation, end_s: f64) -> Kept {
    let mut kept = Kept::default();
    simulation.run_until(at(end_s), &mut kept);
    simulation
        .audit()
        .unwrap_or_else(|failures| panic!("{failures:#?}"));
    kept
}
