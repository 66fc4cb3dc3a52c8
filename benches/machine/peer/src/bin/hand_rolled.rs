//! The least that runs the model: a standard heap, one random stream, no counters but the one printed.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use satline_machine_peers::{CUSTOMERS, Chance, DISKS, asked_ns, print};

const THINKING: u32 = u32::MAX;
const CPU: u32 = DISKS as u32;

fn main() {
    let until = asked_ns();
    let mut chance = Chance::new();
    let mut heap = BinaryHeap::with_capacity(CUSTOMERS as usize + 1);
    let mut sequence = 0u64;
    // (time, sequence, place, customer): a service at the place ends.
    let mut push = |heap: &mut BinaryHeap<Reverse<(u64, u64, u32, u32)>>, time, place, customer| {
        sequence += 1;
        heap.push(Reverse((time, sequence, place, customer)));
    };
    let mut lines: [VecDeque<u32>; DISKS + 1] = std::array::from_fn(|_| VecDeque::with_capacity(100));
    let mut busy = [false; DISKS + 1];
    let (mut events, mut done) = (0u64, 0u64);
    for customer in 0..CUSTOMERS {
        push(&mut heap, chance.think(), THINKING, customer);
    }
    while let Some(Reverse((now, _, place, customer))) = heap.pop() {
        if now > until {
            break;
        }
        events += 1;
        if place != THINKING {
            let station = place as usize;
            match lines[station].pop_front() {
                Some(next) => {
                    let length = if place == CPU {
                        chance.burst()
                    } else {
                        chance.access()
                    };
                    push(&mut heap, now + length, place, next);
                }
                None => busy[station] = false,
            }
        }
        let target = if place == CPU {
            chance.route()
        } else {
            Some(CPU as usize)
        };
        match target {
            None => {
                done += 1;
                push(&mut heap, now + chance.think(), THINKING, customer);
            }
            Some(station) if busy[station] => lines[station].push_back(customer),
            Some(station) => {
                busy[station] = true;
                let length = if station == CPU as usize {
                    chance.burst()
                } else {
                    chance.access()
                };
                push(&mut heap, now + length, station as u32, customer);
            }
        }
    }
    print(events, done, until);
}
