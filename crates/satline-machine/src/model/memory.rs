//! Storage with the policies that a machine file names.

use satline_program::Error;

use crate::configuration::{Machine, Workload};
use crate::engine::Streams;
use crate::policies::{find, page_out_device, queue_drop, replacement, slot};
use crate::storage::{Decisions, Memory, Places, Replacement, Setup};
use crate::swapping::Swapping;

impl Memory {
    /// Empty storage for so many users, background programs after them; nobody is in queue.
    ///
    /// # Errors
    /// A policy is not known; else as [`Memory::empty`].
    pub fn new(machine: &Machine, workload: &Workload, users: u32, streams: &Streams) -> Result<Self, Error> {
        let name = &machine.policies.replacement;
        let make = find(replacement::POLICIES, "replacement", name)?;
        Self::with_policy(machine, workload, users, streams, make)
    }

    /// The same with a replacement policy that is in no table.
    ///
    /// # Errors
    /// As [`Memory::new`].
    pub fn with_policy(
        machine: &Machine,
        workload: &Workload,
        users: u32,
        streams: &Streams,
        make: impl FnOnce(Setup) -> Box<dyn Replacement>,
    ) -> Result<Self, Error> {
        let places = |device: &str, slot: &str| -> Result<Places, Error> {
            Ok(Places {
                device: find(page_out_device::POLICIES, "page_out_device", device)?(),
                slot: find(slot::POLICIES, "slot", slot)?,
            })
        };
        let names = &machine.policies;
        let decisions = Decisions {
            replacement: Box::new(make),
            around: Box::new(|last_resort, storage| match &machine.swapping {
                Some(plan) => Box::new(Swapping::new(plan, last_resort, storage)),
                None => last_resort,
            }),
            places: places(&names.page_out_device, &names.slot)?,
            set_places: places("round-robin", "moving-cursor")?,
            queue_drop: find(queue_drop::POLICIES, "queue_drop", &names.queue_drop)?(),
        };
        Self::empty(machine, workload, users, streams, decisions)
    }
}
