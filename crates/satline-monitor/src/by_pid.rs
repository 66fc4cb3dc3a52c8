//! Processes by number.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::process::Process;

/// Process numbers need no defence against chosen keys.
#[derive(Default)]
pub struct PidHasher(u64);

impl Hasher for PidHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_i32(i32::from(byte));
        }
    }

    fn write_i32(&mut self, number: i32) {
        self.0 =
            (self.0.rotate_left(5) ^ u64::from(number.unsigned_abs())).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
}

/// A map from process numbers.
pub type ByPid<T> = HashMap<i32, T, BuildHasherDefault<PidHasher>>;

/// The processes, in one piece of storage and in the order in which they were found, which is mostly that of their numbers:
/// a scan goes through it from one end to the other.
#[derive(Debug, Default)]
pub struct Processes {
    places: ByPid<u32>,
    all: Vec<Process>,
}

impl Processes {
    /// A process, if it is known.
    pub fn get(&self, pid: i32) -> Option<&Process> {
        self.all.get(*self.places.get(&pid)? as usize)
    }

    /// A process, if it is known.
    pub fn get_mut(&mut self, pid: i32) -> Option<&mut Process> {
        self.all.get_mut(*self.places.get(&pid)? as usize)
    }

    /// A process, which is made if it is not known.
    pub fn get_or_new(&mut self, pid: i32) -> &mut Process {
        let next = self.all.len();
        let place = *self.places.entry(pid).or_insert(next as u32) as usize;
        if place == next {
            self.all.push(Process::new(pid));
        }
        &mut self.all[place]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Process> {
        self.all.iter()
    }

    /// All of them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Process> {
        self.all.iter_mut()
    }

    /// Forgets those of which `stays` says no.
    pub fn retain(&mut self, mut stays: impl FnMut(&mut Process) -> bool) {
        let mut place = 0;
        while place < self.all.len() {
            if stays(&mut self.all[place]) {
                place += 1;
                continue;
            }
            let gone = self.all.swap_remove(place);
            self.places.remove(&gone.pid);
            if let Some(moved) = self.all.get(place) {
                self.places.insert(moved.pid, place as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_found_after_others_have_gone() {
        let mut processes = Processes::default();
        for pid in 1..=9 {
            processes.get_or_new(pid).parent = pid * 10;
        }
        processes.retain(|process| process.pid % 3 != 0);
        assert_eq!(processes.iter().count(), 6);
        for pid in 1..=9 {
            let parent = processes.get(pid).map(|process| process.parent);
            assert_eq!(parent, (pid % 3 != 0).then_some(pid * 10));
        }
        assert_eq!(
            processes.get_or_new(3).parent,
            0,
            "a number that has come back is a new process"
        );
        assert_eq!(processes.get_mut(3).map(|process| process.pid), Some(3));
    }
}
