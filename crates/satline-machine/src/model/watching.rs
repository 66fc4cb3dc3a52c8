//! For one who looks on: a picture of storage, where the arms are, and more or fewer users on the spot.

use super::Simulation;

impl Simulation {
    /// Appends a letter for each frame of storage; see [`crate::storage::Memory::map`].
    pub fn map(&self, into: &mut String) {
        self.memory.map(into);
    }

    /// The cylinder that a device used last; `None`: it has no arm.
    pub fn arm(&self, device: usize) -> Option<u32> {
        self.subsystem.arm(self.devices[device])
    }

    /// Users that are wanted now.
    pub fn wanted(&self) -> u32 {
        self.wanted
    }

    /// So many users are wanted from now to the plan's next step; no more than the plan's most.
    pub fn want(&mut self, users: u32) {
        self.turn_to(users.min(self.plan.users));
        self.settle();
    }
}
