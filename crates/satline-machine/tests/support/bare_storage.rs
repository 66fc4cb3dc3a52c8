//! Storage and devices alone.

use satline_machine::configuration::{Machine, Workload};
use satline_machine::devices::{IoEvent, Subsystem};
use satline_machine::engine::{Calendar, Span, Streams, Time};
use satline_machine::readings::{DeviceReading, SystemReading};
use satline_machine::storage::{Fault, Memory, State};

use super::small_system::subsystem;

/// Storage without a scheduler: users run when the test says so.
pub struct Bare {
    pub memory: Memory,
    pub subsystem: Subsystem,
    pub calendar: Calendar<IoEvent>,
    pub woken: Vec<u32>,
}

impl Bare {
    pub fn new(machine: &Machine, workload: &Workload, users: u32) -> Self {
        Self {
            memory: Memory::new(machine, workload, users, &Streams::new(1, 0)).unwrap(),
            subsystem: subsystem(machine),
            calendar: Calendar::default(),
            woken: Vec::new(),
        }
    }

    pub fn begin(&mut self, user: u32, kind: usize, demand: Span) {
        self.memory.begin_transaction(user, kind, demand);
        self.memory
            .queue_add(user, true, &mut self.subsystem, &mut self.calendar);
    }

    pub fn drop_out(&mut self, user: u32) {
        self.memory
            .queue_drop(user, true, &mut self.subsystem, &mut self.calendar);
        self.memory.end_transaction(user);
    }

    /// Runs a user up to his next fault, within a limit; the fault, and how long he ran.
    pub fn fault_within(&mut self, user: u32, limit: Span) -> (Option<Fault>, Span) {
        let until = self.memory.until_fault(user, limit);
        let run = until.unwrap_or(limit);
        self.memory.ran(user, run);
        let fault = until.map(|_| self.memory.fault(user, &mut self.subsystem, &mut self.calendar));
        (fault, run)
    }

    /// Lets all I/O end.
    pub fn settle(&mut self) {
        // A calendar asked beyond its last event stands at the end of time.
        while !self.calendar.is_empty() {
            let event = self.calendar.next(Time::NEVER).unwrap();
            if let Some(done) = self.subsystem.handle(event, &mut self.calendar) {
                self.memory
                    .completed(&done, &mut self.subsystem, &mut self.calendar, &mut self.woken);
            }
            self.memory.check().unwrap();
        }
    }

    /// Runs a user for so long, one I/O at a time; the number of faults.
    pub fn run(&mut self, user: u32, length: Span) -> u32 {
        let (mut left, mut faults) = (length, 0);
        while left > Span::ZERO {
            let (fault, run) = self.fault_within(user, left);
            left = left - run;
            faults += u32::from(fault.is_some());
            self.settle();
        }
        faults
    }

    /// A whole transaction.
    pub fn transaction(&mut self, user: u32, kind: usize, length: Span) -> u32 {
        self.begin(user, kind, length);
        let faults = self.run(user, length);
        self.drop_out(user);
        self.settle();
        faults
    }

    pub fn reading(&self) -> SystemReading {
        let mut reading = SystemReading::default();
        self.memory.read_system(&mut reading);
        reading
    }

    pub fn device(&self, number: usize) -> DeviceReading {
        let mut reading = DeviceReading::default();
        self.memory.read_device(number, &mut reading);
        reading
    }

    pub fn states(&self) -> Vec<State> {
        (0..self.reading().frames)
            .map(|frame| self.memory.frame_state(frame))
            .collect()
    }
}
