//! A machine, a workload, and readings in which every figure differs from every other.

use std::path::Path;

use satline_machine::configuration::{
    Background, Costs, DeviceUnit, IoPattern, Locality, LockPlan, LockWait, Machine, PageArea, PagingPlan,
    Peers, Population, Processors, Purpose, Role, SchedulerFigures, StorageFigures, TransactionKind,
    UserClass, Work, Workload,
};
use satline_machine::devices::DeviceModel;
use satline_machine::engine::{Distribution, Span, Time};
use satline_machine::readings::{
    Activity, ChannelReading, DeviceReading, LockReading, ProcessorReading, Reading, Status, SystemReading,
    TransactionRecord, Transition, UserReading,
};

/// 1975-01-06T00:00:00Z.
pub const START_NS: i64 = 158_198_400_000_000_000;

pub fn s(seconds: f64) -> Span {
    Span::from_seconds(seconds)
}

pub fn at(seconds: f64) -> Time {
    Time::START + s(seconds)
}

pub fn machine() -> Machine {
    let devices = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/devices");
    let unit = |name: &str, kind: &str, role, path| DeviceUnit {
        name: name.into(),
        model: DeviceModel::read(&devices.join(kind)).unwrap(),
        role,
        paths: vec![path],
    };
    let area = |device, tier| PageArea {
        device,
        first_cylinder: 0,
        cylinders: 10,
        tier,
        purpose: Purpose::Paging,
    };
    Machine {
        name: "made <machine>".into(),
        note: String::new(),
        processors: Processors { count: 2, speed: 1.0 },
        multiprocessor: None,
        free_storage: None,
        locks: vec![LockPlan {
            name: "SYSTEM".into(),
            wait: LockWait::Spin,
            holds: vec![(Work::Dispatch, 0.5)],
        }],
        storage: StorageFigures {
            pageable_frames: 200,
            bytes: 1 << 20,
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
            minimum_working_set: 4,
            projection_factor: 1.0,
            paging_rate: None,
        },
        costs: Costs::default(),
        paging: PagingPlan {
            areas: vec![area(0, 0), area(1, 1)],
            most_pages_per_sio: 1,
            write_unchanged: false,
            periodic_scan: None,
            peers: Peers::default(),
        },
        swapping: None,
        policies: crate::support::machines::policies(),
        devices: vec![
            unit("drum", "2305-2.toml", Role::Paging, (1, 1)),
            unit("disk", "3330-1.toml", Role::Both, (2, 2)),
        ],
        unverified: vec!["costs.dispatch_us".into()],
    }
}

pub fn kind(name: &str) -> TransactionKind {
    TransactionKind {
        name: name.into(),
        weight: 1.0,
        cpu: Distribution::exponential(0.1).unwrap(),
        cpu_between_ios: None,
        cpu_between_simulations: None,
        io: IoPattern {
            skew: 0.0,
            span_cylinders: 1,
            blocks: 1,
        },
        locality: Locality {
            working_set_pages: 10.0,
            working_set_sd: 0.0,
            repeatability: 0.5,
            growth: 0.5,
            reference_interval: s(0.01),
            phase: s(1.0),
            changed: 0.3,
            shared_pages: 0,
        },
    }
}

pub fn workload() -> Workload {
    Workload {
        name: "made".into(),
        note: String::new(),
        classes: vec![UserClass {
            name: "typist".into(),
            share: 1.0,
            think: Distribution::exponential(10.0).unwrap(),
            space_pages: 50,
            transactions: vec![kind("edit"), kind("compile")],
        }],
        population: Population::Constant(2),
        shared_pages: 0,
        background: vec![Background {
            name: "compute".into(),
            count: 1,
            space_pages: 50,
            kind: kind("compute"),
        }],
    }
}

/// A reading in which every figure differs from every other; `n` moves all of them.
pub fn reading(time: f64, n: u64) -> Reading {
    let mut next = 0u64;
    let mut count = || {
        next += 1;
        next * 1000 * n
    };
    let system = SystemReading {
        logged_on: 2,
        q1: 1,
        q2: 1,
        q1_ns: u128::from(count()),
        q2_ns: u128::from(count()),
        in_transaction_ns: u128::from(count()),
        page_reads: count(),
        page_writes: count(),
        steals: count(),
        frames: 200,
        frames_free: 3,
        in_queue_pages: 150,
        demanded_pages: 260,
        slots_used: 40,
        slots: 100,
        dispatches: count(),
        trimmed_pages: Some(count()),
        swap_pages_in: Some(count()),
        swap_io_ns: Some(9_001_999),
        physically_swapped: Some(4),
        storage_main_requests: Some(71),
        storage_subpool_requests: Some(72),
        storage_blocks_searched: Some(73),
        storage_ns: Some(74_999),
        storage_free_blocks: Some(75),
        ..SystemReading::default()
    };
    let processor = |k: u64| ProcessorReading {
        problem_ns: 1_001_999 * n * k,
        supervisor_ns: 2_000_000 * n * k,
        idle_ns: 3_000_000 * n * k,
        page_wait_ns: 4_000_500 * n * k,
        io_wait_ns: 5_000_500 * n * k,
        spin_ns: 250_000 * n * k,
        ..ProcessorReading::default()
    };
    let lock = |k: u64| LockReading {
        holds: 7,
        hold_ns: 30_000 * n * k,
        spins: 2 * n * k,
        spin_ns: 250_000 * n * k,
        defers: 3 * n * k,
        wait_ns: 1_000_999 * n * k,
    };
    let device = DeviceReading {
        sios: 10 * n,
        page_reads: 4 * n,
        page_writes: 2 * n,
        user_blocks: n,
        queue_ns: 1000,
        pend_ns: 2000,
        disconnect_ns: 3000,
        connect_ns: 4000,
        slots: Some(50),
        slots_used: Some(20),
        ..DeviceReading::default()
    };
    let user = |background| UserReading {
        class: u16::from(background),
        background,
        status: Status::Q1,
        activity: if background {
            Activity::Running
        } else {
            Activity::PageWait
        },
        problem_ns: 6_000_000 * n,
        supervisor_ns: 1_000_000 * n,
        cpu_wait_ns: 2_000_000,
        page_wait_ns: 3_000_000,
        io_wait_ns: 4_000_000,
        eligible_ns: 5_000_000,
        dormant_ns: 0,
        page_reads: 7,
        page_writes: 8,
        ios: 9,
        steals: 10,
        resident_pages: 11,
        projected_pages: 12,
        transactions: 13,
    };
    Reading {
        time: at(time),
        system,
        processors: vec![processor(1), processor(2)],
        devices: vec![
            device,
            DeviceReading {
                slots: None,
                slots_used: None,
                ..device
            },
        ],
        channels: vec![ChannelReading {
            channel: 7,
            busy_ns: 9_999,
        }],
        users: vec![user(false), user(false), user(true)],
        locks: vec![lock(1), lock(2)],
    }
}

pub fn transaction(user: u32, started: f64, ended: f64) -> TransactionRecord {
    TransactionRecord {
        user,
        class: 0,
        kind: 1,
        started: at(started),
        ended: at(ended),
        think: s(2.5),
        interactive: true,
        problem_ns: 100_000,
        supervisor_ns: 20_000,
        cpu_wait_ns: 3_000,
        page_wait_ns: 4_000,
        io_wait_ns: 5_000,
        eligible_ns: 6_000,
        page_reads: 7,
        ios: 8,
        stays: 2,
    }
}

pub fn transition(user: u32, seconds: f64, from: Status, to: Status) -> Transition {
    Transition {
        time: at(seconds),
        user,
        from,
        to,
    }
}
