//! A policy that swaps working sets, written outside of the crate: the trait and [`Storage`] are enough for one.

mod support;

use std::collections::VecDeque;

use proptest::prelude::*;
use satline_machine::configuration::Workload;
use satline_machine::engine::{Distribution, Streams, Time, run};
use satline_machine::policies::replacement::{Replacement, Setup};
use satline_machine::readings::SystemReading;
use satline_machine::storage::{Memory, Storage};
use support::small_system::{SmallSystem, locality, machine, ms, workload};

const SET: usize = 8;

/// At queue-drop the pages of the stay are kept; when frames run short they are written set by set; a fault reads the
/// whole set back, and queue-add the first two.
#[derive(Debug, Default)]
struct Swapper {
    /// (user, his kept frames in order of address), who dropped first in front.
    kept: VecDeque<(u32, Vec<u32>)>,
    /// By user: page numbers of the sets that are out.
    out: Vec<Vec<Vec<u32>>>,
    pointer: u32,
    written: u64,
    read: u64,
}

impl Swapper {
    fn forget(&mut self, frame: u32) {
        for (_, frames) in &mut self.kept {
            frames.retain(|&one| one != frame);
        }
    }

    fn sets(&mut self, user: u32) -> &mut Vec<Vec<u32>> {
        let user = user as usize;
        self.out.resize(self.out.len().max(user + 1), Vec::new());
        &mut self.out[user]
    }
}

impl Replacement for Swapper {
    fn victim(&mut self, storage: &mut Storage) -> Option<u32> {
        for _ in 0..2 * storage.frames() {
            let at = self.pointer;
            self.pointer = (at + 1) % storage.frames();
            if storage.scan(at).takeable() {
                if !storage.frame(at).referenced() {
                    return Some(at);
                }
                storage.reset(at);
            }
        }
        None
    }

    fn refill(&mut self, storage: &mut Storage) {
        while let Some((user, frames)) = self.kept.front_mut() {
            let user = *user;
            let rest = frames.split_off(frames.len().min(SET));
            let set = std::mem::replace(frames, rest);
            if set.is_empty() {
                self.kept.pop_front();
                continue;
            }
            let pages = set.iter().map(|&frame| storage.owner(frame).unwrap().1).collect();
            assert_eq!(storage.write_out(&set), set.len() as u32);
            self.sets(user).push(pages);
            self.written += 1;
            return;
        }
        if let Some(frame) = self.victim(storage) {
            storage.give_up(frame);
        }
    }

    fn came(&mut self, frame: u32) {
        self.forget(frame);
    }

    fn left(&mut self, frame: u32) {
        self.forget(frame);
    }

    fn queue_drop(&mut self, storage: &mut Storage, user: u32, _interactive: bool) {
        let mut pages = storage.touched_in_stay(user).to_vec();
        pages.sort_unstable();
        let frames = pages.iter().filter_map(|&page| storage.frame_of(user, page));
        let frames: Vec<u32> = frames.filter(|&frame| storage.frame(frame).takeable()).collect();
        frames.iter().for_each(|&frame| storage.keep(frame));
        self.kept.push_back((user, frames));
    }

    fn queue_add(&mut self, storage: &mut Storage, user: u32) {
        self.kept.retain(|(whose, frames)| {
            if *whose == user {
                frames.iter().for_each(|&frame| storage.restore(frame));
            }
            *whose != user
        });
        for _ in 0..2 {
            if let Some(set) = self.sets(user).pop() {
                self.read += u64::from(storage.read_in(user, &set) > 0);
            }
        }
    }

    fn fault(&mut self, storage: &mut Storage, user: u32, page: Option<u32>) {
        let Some(page) = page else {
            return;
        };
        let sets = self.sets(user);
        if let Some(at) = sets.iter().position(|set| set.contains(&page)) {
            let mut set = sets.swap_remove(at);
            // His first: there may not be a frame for all.
            set.sort_unstable_by_key(|&one| one != page);
            self.read += u64::from(storage.read_in(user, &set) > 0);
        }
    }

    fn read(&self, into: &mut SystemReading) {
        into.swap_sets_in = Some(self.read);
        into.swap_sets_out = Some(self.written);
    }
}

/// Users who are mostly out of queue.
fn thinkers() -> Workload {
    let mut workload = workload(locality());
    workload.classes[0].think = Distribution::exponential(5.0).unwrap();
    workload
}

fn swapping(
    frames: u32,
    users: u32,
    seed: u64,
    seconds: f64,
    slot: &str,
    checks: bool,
) -> (SystemReading, u64) {
    let mut machine = machine(frames);
    machine.policies.slot = slot.into();
    machine.storage.free_list_minimum = 8;
    // Only the policy makes blocks.
    machine.paging.most_pages_per_sio = 1;
    let (workload, streams) = (thinkers(), Streams::new(seed, 0));
    let make = |_: Setup| -> Box<dyn Replacement> { Box::new(Swapper::default()) };
    let memory = Memory::with_policy(&machine, &workload, users, &streams, make).unwrap();
    let (mut system, mut calendar) = SmallSystem::with_memory(memory, &machine, &workload, users, streams);
    system.checks = checks;
    run(&mut system, &mut calendar, Time::START + ms(seconds * 1e3));
    (system.reading(), system.transactions)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn books_agree_with_a_policy_that_keeps_and_moves_sets(
        frames in 20..300_u32, users in 1..14_u32, seed: u64, sweeps: bool,
    ) {
        let slot = if sweeps { "moving-cursor" } else { "zig-zag" };
        let (reading, transactions) = swapping(frames, users, seed, 8.0, slot, true);
        prop_assert_eq!((reading, transactions), swapping(frames, users, seed, 8.0, slot, false));
        prop_assert!(reading.in_queue_pages <= reading.frames);
    }
}

#[test]
fn sets_go_and_come_in_few_start_ios() {
    let (reading, transactions) = swapping(300, 30, 1, 120.0, "moving-cursor", false);
    let (out, back) = (reading.swap_sets_out.unwrap(), reading.swap_sets_in.unwrap());
    assert!(
        transactions > 0 && back > 100 && back <= out,
        "{out} sets out, {back} in"
    );
    // One by one at base; here shared pages, and those that a user had in no set, are still read so.
    let pages = reading.page_reads + reading.page_writes;
    let per_sio = pages as f64 / reading.paging_sios as f64;
    assert!(per_sio > 1.3, "{per_sio} pages for each start-I/O");
}
