//! A run for one who looks on: a line for the machine, one for every interval, one for the end.
//!
//! docs/reference/watching.md says what is in them. Whoever reads slowly slows the run down: nothing is left out.

mod commands;
mod lines;

use std::io::{self, Write};

use satline_program::{Error, harmless};
use serde::Serialize;

use self::commands::{Commands, Wish};
use self::lines::{Completions, Line};
use super::ending::Ending;
use super::run::{CHUNK, STUCK, does_not_add_up, overflown, plan, steps};
use crate::configuration::Machine;
use crate::configuration::read::read_files;
use crate::engine::{Span, Streams, Time};
use crate::model::Simulation;
use crate::options::WatchOptions;

type Stop<'a> = &'a dyn Fn() -> Option<Ending>;

/// Nobody reads any more.
struct Gone;

/// Runs to the end, until told to quit, or until `stop` says why not.
///
/// # Errors
/// Wrong input, a wrong command, or a failed audit.
pub fn watch(options: &WatchOptions, stop: Stop<'_>) -> Result<Ending, Error> {
    let load = &options.load;
    let (machine, workload) = read_files(&load.machine, &load.workload, &load.set)?;
    let (machine, workload) = (machine.machine, workload.workload);
    let steps = steps(load, &workload, Span::ZERO, load.step_seconds)?;
    let most = steps.most_users().saturating_add(options.room);
    let plan = plan(&steps, most, load.step_seconds);
    let mut simulation = Simulation::new(&machine, &workload, &plan, Streams::new(load.seed, 0))?;
    let mut run = Run {
        completions: Completions::default(),
        machine: &machine,
        most,
        end: steps.end(),
        flowed: Time::START,
    };
    let first = lines::header(load.seed, &simulation, &machine, &workload, &steps, most);
    let Ok(()) = say(&first).and_then(|()| run.show(&mut simulation)) else {
        return Ok(Ending::Complete);
    };
    match options.commands {
        true => run.obey(&mut simulation, Commands::new(), stop),
        false => run.go_on(&mut simulation, options.interval, stop),
    }
}

/// A run as it is looked at.
struct Run<'a> {
    completions: Completions,
    machine: &'a Machine,
    most: u32,
    end: Time,
    /// When paging areas last had room.
    flowed: Time,
}

impl Run<'_> {
    /// A line for every interval to the end.
    fn go_on(
        &mut self,
        simulation: &mut Simulation,
        interval: Span,
        stop: Stop<'_>,
    ) -> Result<Ending, Error> {
        while simulation.now() < self.end {
            if let Some(ending) = self.forward(simulation, interval, stop)? {
                return Ok(ending);
            }
            if self.show(simulation).is_err() {
                return Ok(Ending::Complete);
            }
        }
        self.finish(simulation)
    }

    /// Does what it is told.
    fn obey(
        &mut self,
        simulation: &mut Simulation,
        mut commands: Commands,
        stop: Stop<'_>,
    ) -> Result<Ending, Error> {
        loop {
            match commands.next(self.most, stop)? {
                Wish::Go(interval) => {
                    if let Some(ending) = self.forward(simulation, interval, stop)? {
                        return Ok(ending);
                    }
                    if self.show(simulation).is_err() {
                        return Ok(Ending::Complete);
                    }
                    if simulation.now() >= self.end {
                        return self.finish(simulation);
                    }
                }
                Wish::Users(users) => simulation.want(users),
                Wish::Quit => return Ok(Ending::Complete),
                Wish::End(ending) => return Ok(ending),
            }
        }
    }

    /// Simulates so long, or to the end.
    fn forward(
        &mut self,
        simulation: &mut Simulation,
        interval: Span,
        stop: Stop<'_>,
    ) -> Result<Option<Ending>, Error> {
        let until = self.end.min(simulation.now() + interval);
        let mut now = simulation.now();
        while now < until {
            if let Some(ending) = stop() {
                return Ok(Some(ending));
            }
            now = until.min(now + CHUNK);
            simulation.run_until(now, &mut self.completions);
            if !simulation.overflow() {
                self.flowed = now;
            } else if now - self.flowed >= STUCK {
                return Err(overflown(simulation.wanted(), now));
            }
        }
        Ok(None)
    }

    fn show(&self, simulation: &mut Simulation) -> Result<(), Gone> {
        say(&lines::frame(simulation, &self.completions, self.machine))
    }

    fn finish(&self, simulation: &Simulation) -> Result<Ending, Error> {
        simulation.audit().map_err(does_not_add_up)?;
        let _ = say(&Line::End);
        Ok(Ending::Complete)
    }
}

/// One line, at once. Names in it may be anybody's.
fn say(line: &impl Serialize) -> Result<(), Gone> {
    let text = serde_json::to_string(line).map_err(|_| Gone)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", harmless(&text))
        .and_then(|()| out.flush())
        .map_err(|_| Gone)
}
