//! What every model needs: events in total order, an integer clock, random streams, exact counters, queues.

mod alarms;
mod calendar;
mod clock;
mod counters;
mod distribution;
mod server;
mod streams;

pub use alarms::Alarm;
pub use calendar::{Calendar, NORMAL, Token};
pub use clock::{Span, Time, real_ns, whole_ns};
pub use counters::{Level, State, Stays};
pub use distribution::Distribution;
pub use server::Server;
pub use streams::{Stream, Streams};

/// What happens at an event.
pub trait Model {
    /// A small value: it is copied within the calendar.
    type Event: Copy;

    /// One event, at `calendar.now()`.
    fn handle(&mut self, event: Self::Event, calendar: &mut Calendar<Self::Event>);
}

/// Runs a model up to and including a time, and returns how many events there were. The clock then stands at that time.
pub fn run<M: Model>(model: &mut M, calendar: &mut Calendar<M::Event>, until: Time) -> u64 {
    let mut events = 0;
    while let Some(event) = calendar.next(until) {
        model.handle(event, calendar);
        events += 1;
    }
    events
}
