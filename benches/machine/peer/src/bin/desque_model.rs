//! The model in desque, written as its examples are: an event is a boxed value with `execute`.

use std::collections::VecDeque;

use desque::SimState;
use desque::serial::{OkEvent, Simulation};
use satline_machine_peers::{CUSTOMERS, Chance, DISKS, asked_ns, print};

const CPU: usize = DISKS;

struct State {
    chance: Chance,
    lines: [VecDeque<u32>; DISKS + 1],
    busy: [bool; DISKS + 1],
    until: u64,
    events: u64,
    done: u64,
}

impl SimState<u64> for State {
    fn is_complete(&self, now: &u64) -> bool {
        *now >= self.until
    }
}

type Run = Simulation<State, u64>;

#[derive(Debug)]
struct Thought(u32);

#[derive(Debug)]
struct Served {
    station: usize,
    customer: u32,
}

fn serve(run: &mut Run, station: usize, customer: u32) {
    let chance = &mut run.state_mut().chance;
    let length = if station == CPU {
        chance.burst()
    } else {
        chance.access()
    };
    let at = *run.current_time() + length;
    run.schedule(Served { station, customer }, at)
        .expect("not in the past");
}

fn arrive(run: &mut Run, station: usize, customer: u32) {
    if run.state().busy[station] {
        run.state_mut().lines[station].push_back(customer);
    } else {
        run.state_mut().busy[station] = true;
        serve(run, station, customer);
    }
}

impl OkEvent<State, u64> for Thought {
    fn execute(&mut self, run: &mut Run) {
        run.state_mut().events += 1;
        arrive(run, CPU, self.0);
    }
}

impl OkEvent<State, u64> for Served {
    fn execute(&mut self, run: &mut Run) {
        run.state_mut().events += 1;
        match run.state_mut().lines[self.station].pop_front() {
            Some(next) => serve(run, self.station, next),
            None => run.state_mut().busy[self.station] = false,
        }
        if self.station != CPU {
            arrive(run, CPU, self.customer);
        } else if let Some(disk) = run.state_mut().chance.route() {
            arrive(run, disk, self.customer);
        } else {
            run.state_mut().done += 1;
            let at = *run.current_time() + run.state_mut().chance.think();
            run.schedule(Thought(self.customer), at).expect("not in the past");
        }
    }
}

fn main() {
    let until = asked_ns();
    let state = State {
        chance: Chance::new(),
        lines: std::array::from_fn(|_| VecDeque::with_capacity(100)),
        busy: [false; DISKS + 1],
        until,
        events: 0,
        done: 0,
    };
    let mut run = Run::new(state, 0);
    for customer in 0..CUSTOMERS {
        let at = run.state_mut().chance.think();
        run.schedule(Thought(customer), at).expect("not in the past");
    }
    run.run().expect("no event fails");
    print(run.state().events, run.state().done, until);
}
