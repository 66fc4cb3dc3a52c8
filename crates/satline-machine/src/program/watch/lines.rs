//! The lines that a watched run prints. Times and counts add up from the start; who looks at two lines has the rates.

use serde::Serialize;

use crate::configuration::programs;
use crate::configuration::{Machine, Role, Workload};
use crate::model::Simulation;
use crate::readings::{
    Activity, DeviceReading, Observer, ProcessorReading, Reading, Status, TransactionRecord, UserReading,
};
use crate::summary::{Steps, seconds};

/// Of the lines: raised when one loses a key or a key changes its meaning.
const FORMAT: u32 = 1;

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Line<'a> {
    Machine(Header<'a>),
    Frame(Box<Frame>),
    End,
}

#[derive(Serialize)]
pub struct Header<'a> {
    format: u32,
    machine: &'a str,
    workload: &'a str,
    seed: u64,
    frames: u32,
    processors: u32,
    /// The most that there can be; background programs come after them.
    users: u32,
    /// By user and background program: the place of his class in `classes`.
    class_of: Vec<u16>,
    classes: Vec<&'a str>,
    devices: Vec<Device<'a>>,
    channels: Vec<u16>,
    /// [from, users]
    steps: Vec<(f64, u32)>,
    end_s: f64,
    /// Figures of the machine without a source.
    unverified: usize,
}

#[derive(Serialize)]
struct Device<'a> {
    name: &'a str,
    role: &'static str,
    /// Of one with an arm.
    cylinders: Option<u32>,
    channels: Vec<u16>,
}

/// The first line.
pub fn header<'a>(
    seed: u64,
    simulation: &Simulation,
    machine: &'a Machine,
    workload: &'a Workload,
    steps: &Steps,
    users: u32,
) -> Line<'a> {
    let classes = workload.classes.iter().map(|class| class.name.as_str());
    let background = workload.background.iter().map(|work| work.name.as_str());
    let channels_of = |paths: &[(u16, u16)]| {
        let mut channels: Vec<u16> = paths.iter().map(|path| path.1).collect();
        channels.sort_unstable();
        channels.dedup();
        channels
    };
    let all: Vec<(u16, u16)> = machine
        .devices
        .iter()
        .flat_map(|unit| unit.paths.clone())
        .collect();
    let devices = machine.devices.iter().enumerate().map(|(number, unit)| Device {
        name: &unit.name,
        role: match unit.role {
            Role::Paging => "paging",
            Role::Files => "files",
            Role::Both => "both",
        },
        cylinders: simulation.arm(number).map(|_| unit.model.cylinders()),
        channels: channels_of(&unit.paths),
    });
    Line::Machine(Header {
        format: FORMAT,
        machine: &machine.name,
        workload: &workload.name,
        seed,
        frames: machine.storage.pageable_frames,
        processors: machine.processors.count,
        users,
        class_of: (programs(workload, users).iter())
            .map(|program| program.class)
            .collect(),
        classes: classes.chain(background).collect(),
        devices: devices.collect(),
        channels: channels_of(&all),
        steps: (steps.all().iter())
            .map(|step| (seconds(step.from), step.users))
            .collect(),
        end_s: seconds(steps.end()),
        unverified: machine.unverified.len(),
    })
}

/// Transactions that ended.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Completions {
    transactions: u64,
    response_ns: u64,
    /// Of them those that ended in Q1.
    interactive_transactions: u64,
    interactive_response_ns: u64,
}

impl Observer for Completions {
    fn transaction(&mut self, record: &TransactionRecord) {
        let ns = (record.ended - record.started).ns();
        self.transactions += 1;
        self.response_ns += ns;
        self.interactive_transactions += u64::from(record.interactive);
        self.interactive_response_ns += if record.interactive { ns } else { 0 };
    }
}

/// What is where, now; and what was done so far.
#[derive(Serialize)]
pub struct Frame {
    time_s: f64,
    users_wanted: u32,
    /// A letter for each frame of storage: [`crate::storage::Memory::map`].
    map: String,
    /// A letter for each user and background program: [`state`].
    users: String,
    /// By user and background program: own pages in storage; projected working set.
    resident_pages: Vec<u32>,
    projected_pages: Vec<u32>,
    q1: u32,
    q2: u32,
    q1_candidates: u32,
    q2_candidates: u32,
    logged_on: u32,
    /// Of all paging areas.
    slots_used: u32,
    slots: u32,
    #[serde(flatten)]
    completions: Completions,
    mpl_ns: u128,
    eligible_ns: u128,
    /// Of all processors; supervisor time with what is spun before locks.
    problem_ns: u64,
    supervisor_ns: u64,
    idle_ns: u64,
    page_wait_ns: u64,
    io_wait_ns: u64,
    page_reads: u64,
    page_writes: u64,
    page_faults: u64,
    reclaims: u64,
    steals: u64,
    user_ios: u64,
    events: u64,
    devices: Vec<DeviceLine>,
    /// In the order of the first line's.
    channels_busy_ns: Vec<u128>,
}

#[derive(Serialize)]
struct DeviceLine {
    busy_ns: u128,
    sios: u64,
    page_reads: u64,
    page_writes: u64,
    user_ios: u64,
    /// Requests queued or being served; their number integrated.
    outstanding: u32,
    outstanding_ns: u128,
    /// The cylinder used last.
    arm: Option<u32>,
}

/// The line of now.
pub fn frame(simulation: &mut Simulation, completions: &Completions, machine: &Machine) -> Line<'static> {
    let mut map = String::with_capacity(machine.storage.pageable_frames as usize);
    simulation.map(&mut map);
    let users_wanted = simulation.wanted();
    let arms: Vec<_> = (0..machine.devices.len())
        .map(|device| simulation.arm(device))
        .collect();
    let Reading {
        time,
        system,
        processors,
        devices,
        channels,
        users,
        ..
    } = simulation.reading();
    let sum = |of: fn(&ProcessorReading) -> u64| processors.iter().map(of).sum();
    let device = |(read, arm): (&DeviceReading, Option<u32>)| DeviceLine {
        busy_ns: read.busy_ns,
        sios: read.sios,
        page_reads: read.page_reads,
        page_writes: read.page_writes,
        user_ios: read.user_ios,
        outstanding: read.outstanding,
        outstanding_ns: read.outstanding_ns,
        arm,
    };
    Line::Frame(Box::new(Frame {
        time_s: seconds(*time),
        users_wanted,
        map,
        users: users.iter().map(state).collect(),
        resident_pages: users.iter().map(|user| user.resident_pages).collect(),
        projected_pages: users.iter().map(|user| user.projected_pages).collect(),
        q1: system.q1,
        q2: system.q2,
        q1_candidates: system.q1_candidates,
        q2_candidates: system.q2_candidates,
        logged_on: system.logged_on,
        slots_used: system.slots_used,
        slots: system.slots,
        completions: *completions,
        mpl_ns: system.q1_ns + system.q2_ns,
        eligible_ns: system.q1_candidates_ns + system.q2_candidates_ns,
        problem_ns: sum(|one| one.problem_ns),
        supervisor_ns: sum(|one| one.supervisor_ns + one.spin_ns),
        idle_ns: sum(|one| one.idle_ns),
        page_wait_ns: sum(|one| one.page_wait_ns),
        io_wait_ns: sum(|one| one.io_wait_ns),
        page_reads: system.page_reads,
        page_writes: system.page_writes,
        page_faults: system.page_faults,
        reclaims: system.reclaims,
        steals: system.steals,
        user_ios: system.user_ios,
        events: system.events,
        devices: devices.iter().zip(arms).map(device).collect(),
        channels_busy_ns: channels.iter().map(|channel| channel.busy_ns).collect(),
    }))
}

/// A user's state: `-` logged off, `d` dormant, `e` eligible; in queue `r` running (also the control program for him), `c`
/// waiting for the processor, `p` for a page, `i` for I/O. Capitals: as a candidate for Q2, or in it.
fn state(user: &UserReading) -> char {
    let letter = match (user.status, user.activity) {
        (Status::LoggedOff, _) => '-',
        (Status::Dormant, _) => 'd',
        (Status::Q1Candidate | Status::Q2Candidate, _) => 'e',
        (_, Activity::Running) => 'r',
        // Between being let in and the dispatcher's list he waits for the control program.
        (_, Activity::CpuWait | Activity::None) => 'c',
        (_, Activity::PageWait) => 'p',
        (_, Activity::IoWait) => 'i',
    };
    match user.status {
        Status::Q2Candidate | Status::Q2 => letter.to_ascii_uppercase(),
        _ => letter,
    }
}
