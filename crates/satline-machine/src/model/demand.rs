//! What the classes of a workload ask of this machine.

use rand::RngExt;
use rand_distr::{Distribution as _, Exp1};
use satline_program::Error;

use super::files::Pattern;
use crate::configuration::{Machine, TransactionKind, Workload};
use crate::engine::{Distribution, Span, Stream};

/// A class of users, or one background program's.
#[derive(Debug)]
pub struct Class {
    /// `None`: it never thinks.
    pub think: Option<Distribution>,
    pub kinds: Vec<Kind>,
}

/// A kind of transaction on this machine's processor.
#[derive(Debug)]
pub struct Kind {
    /// Weights of this kind and those before it, as a part of all.
    reached: f64,
    cpu: Distribution,
    /// Of this machine's processor, relative to the reference.
    speed: f64,
    /// Mean problem-state time between I/Os here, ns.
    between_ios_ns: Option<f64>,
    /// Supervisor time of simulated instructions for every unit of problem time.
    pub simulation: f64,
    pub pattern: Pattern,
}

impl Class {
    /// All classes, background ones last: the order of [`super::Program::class`].
    pub fn all(machine: &Machine, workload: &Workload) -> Result<Vec<Self>, Error> {
        let users = workload.classes.iter().map(|class| {
            let think = Some(class.think.clone());
            Self::new(machine, &class.name, think, &class.transactions)
        });
        let background = workload
            .background
            .iter()
            .map(|work| Self::new(machine, &work.name, None, std::slice::from_ref(&work.kind)));
        users.chain(background).collect()
    }

    fn new(
        machine: &Machine,
        name: &str,
        think: Option<Distribution>,
        kinds: &[TransactionKind],
    ) -> Result<Self, Error> {
        let total: f64 = kinds.iter().map(|kind| kind.weight).sum();
        if !(total.is_finite() && total > 0.0) {
            return Err(Error::input(
                format!("class {name:?}: the weights of its transactions add up to {total}"),
                "give it at least one transaction with a weight above 0",
            ));
        }
        let mut reached = 0.0;
        let kinds = kinds.iter().map(|kind| {
            reached += kind.weight / total;
            Kind::new(machine, name, kind, reached)
        });
        Ok(Self {
            think,
            kinds: kinds.collect::<Result<_, _>>()?,
        })
    }

    /// Which kind of transaction comes next.
    pub fn draw_kind(&self, stream: &mut Stream) -> usize {
        let wanted: f64 = stream.random();
        let found = self.kinds.iter().position(|kind| wanted < kind.reached);
        found.unwrap_or(self.kinds.len() - 1)
    }
}

impl Kind {
    fn new(machine: &Machine, class: &str, kind: &TransactionKind, reached: f64) -> Result<Self, Error> {
        let speed = machine.processors.speed;
        let here = |span: Span| span.ns() as f64 / speed;
        let simulation = kind.cpu_between_simulations.map_or(0.0, |between| {
            machine.costs.simulation.ns() as f64 / here(between)
        });
        if !simulation.is_finite() {
            return Err(Error::input(
                format!(
                    "class {class:?}, transaction {:?}: no time between simulated instructions",
                    kind.name
                ),
                "give cpu_between_simulations a length above 0, or leave it out",
            ));
        }
        Ok(Self {
            reached,
            cpu: kind.cpu.clone(),
            speed,
            between_ios_ns: kind.cpu_between_ios.map(here),
            simulation,
            pattern: Pattern::new(machine, class, kind)?,
        })
    }

    /// Problem-state time of a transaction here; at least 1 ns, so that time goes on.
    pub fn draw_demand(&self, stream: &mut Stream) -> Span {
        let reference = self.cpu.draw(stream);
        Span::from_ns(((reference.ns() as f64 / self.speed) as u64).max(1))
    }

    /// Problem-state time up to the next I/O, ns.
    #[inline]
    pub fn draw_io_interval(&self, stream: &mut Stream) -> u64 {
        self.between_ios_ns.map_or(u64::MAX, |mean| {
            let standard: f64 = Exp1.sample(stream);
            (mean * standard + 0.5) as u64
        })
    }
}
