//! The engine on a model whose truth is known, and its repeatability.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::support::central_server::{
    Batch, CPU_S, CUSTOMERS, CentralServer, DISK_S, DISKS, DONE, Event, THINK_S, batches,
};
use satline_machine::engine::{Calendar, Distribution, Model, NORMAL, Server, Stream, Streams, Time, run};
use satline_machine::engine::{Level, Span};

/// Exact mean value analysis of a closed model with one class: throughput and mean numbers present.
fn mva(demands_s: &[f64], think_s: f64, customers: u32) -> (f64, Vec<f64>) {
    let mut present = vec![0.0; demands_s.len()];
    let mut throughput = 0.0;
    for n in 1..=customers {
        let residence: Vec<f64> = demands_s
            .iter()
            .zip(&present)
            .map(|(d, q)| d * (1.0 + q))
            .collect();
        throughput = f64::from(n) / (think_s + residence.iter().sum::<f64>());
        present = residence.iter().map(|r| throughput * r).collect();
    }
    (throughput, present)
}

/// Mean and half of its 99 % interval over 20 batches.
fn interval(batches: &[Batch], of: impl Fn(&Batch) -> f64) -> (f64, f64) {
    let (count, t_99) = (batches.len() as f64, 2.861);
    assert_eq!(batches.len(), 20);
    let mean = batches.iter().map(&of).sum::<f64>() / count;
    let squares: f64 = batches.iter().map(|batch| (of(batch) - mean).powi(2)).sum();
    (mean, t_99 * (squares / (count - 1.0) / count).sqrt())
}

#[test]
fn the_central_server_model_agrees_with_exact_mean_value_analysis() {
    let bursts = 1.0 / DONE;
    let mut demands = vec![bursts * CPU_S];
    demands.extend([(bursts - 1.0) / DISKS as f64 * DISK_S; DISKS]);
    let (throughput, present) = mva(&demands, THINK_S, CUSTOMERS);
    let found = batches(Streams::new(1, 0), 200.0, 500.0, 20);

    let check = |name: &str, truth: f64, widest: f64, of: &dyn Fn(&Batch) -> f64| {
        let (mean, half) = interval(&found, of);
        assert!(
            (mean - truth).abs() <= half,
            "{name}: {mean} ± {half}, exactly {truth}"
        );
        assert!(half < widest * truth, "{name}: {mean} ± {half} says little");
    };
    check("throughput", throughput, 0.02, &|batch| batch.throughput_per_s);
    check("CPU busy", throughput * demands[0], 0.02, &|batch| batch.cpu_busy);
    for (station, truth) in present.iter().enumerate() {
        check(&format!("present at {station}"), *truth, 0.15, &|batch| {
            batch.present[station]
        });
    }
    // Little's law at a disk: the wait is what the residence has beyond the service.
    let residence = present[1] / (throughput * demands[1] / DISK_S);
    check("disk wait", residence - DISK_S, 0.1, &|batch| batch.disk_wait_s);
}

/// Hashes the event log of a model.
struct Logged<M> {
    model: M,
    hash: DefaultHasher,
}

impl Model for Logged<CentralServer> {
    type Event = Event;

    fn handle(&mut self, event: Event, calendar: &mut Calendar<Event>) {
        calendar.now().hash(&mut self.hash);
        format!("{event:?}").hash(&mut self.hash);
        self.model.handle(event, calendar);
    }
}

#[test]
fn the_same_seed_gives_the_same_events_and_another_gives_others() {
    let log = |seed, replication| {
        let (model, mut calendar) = CentralServer::start(Streams::new(seed, replication));
        let hash = DefaultHasher::new();
        let mut logged = Logged { model, hash };
        let events = run(
            &mut logged,
            &mut calendar,
            Time::START + Span::from_seconds(100.0),
        );
        (events, logged.hash.finish())
    };
    assert!(log(1, 0).0 > 10_000);
    assert_eq!(log(1, 0), log(1, 0));
    assert_ne!(log(1, 0), log(2, 0));
    assert_ne!(log(1, 0), log(1, 1));
}

/// Two kinds of users before one server; the policy says who goes first.
struct Ranked {
    users: Vec<(Stream, Stream)>,
    odd_first: bool,
    server: Server<usize>,
    thinking: Level,
    thinks: Vec<Vec<Span>>,
    services: Vec<Vec<Span>>,
    order: Vec<usize>,
}

impl Ranked {
    fn after_policy(odd_first: bool) -> Self {
        let streams = Streams::new(3, 0);
        let stream = |user, purpose| streams.stream(user, purpose);
        let mut model = Self {
            users: (0..8)
                .map(|user| (stream(user, "think"), stream(user, "cpu")))
                .collect(),
            odd_first,
            server: Server::new(1, 2, 8),
            thinking: Level::default(),
            thinks: vec![Vec::new(); 8],
            services: vec![Vec::new(); 8],
            order: Vec::new(),
        };
        let mut calendar = Calendar::default();
        (0..8).for_each(|user| model.think(user, &mut calendar));
        run(
            &mut model,
            &mut calendar,
            Time::START + Span::from_seconds(1000.0),
        );
        model
    }

    fn think(&mut self, user: usize, calendar: &mut Calendar<(bool, usize)>) {
        let length = Distribution::exponential(5.0)
            .unwrap()
            .draw(&mut self.users[user].0);
        self.thinks[user].push(length);
        self.thinking.raise(calendar.now());
        calendar.schedule(length, NORMAL, (false, user));
    }

    fn serve(&mut self, user: usize, calendar: &mut Calendar<(bool, usize)>) {
        let length = Distribution::exponential(1.0)
            .unwrap()
            .draw(&mut self.users[user].1);
        self.services[user].push(length);
        self.order.push(user);
        calendar.schedule(length, NORMAL, (true, user));
    }
}

impl Model for Ranked {
    type Event = (bool, usize);

    fn handle(&mut self, (served, user): (bool, usize), calendar: &mut Calendar<(bool, usize)>) {
        let now = calendar.now();
        if served {
            if let Some(next) = self.server.depart(now) {
                self.serve(next, calendar);
            }
            self.think(user, calendar);
        } else {
            self.thinking.lower(now);
            let rank = usize::from(self.odd_first && user % 2 == 0);
            if self.server.arrive(now, rank, user) {
                self.serve(user, calendar);
            }
        }
    }
}

#[test]
fn another_policy_reorders_events_but_every_user_keeps_his_draws() {
    let (one, two) = (Ranked::after_policy(false), Ranked::after_policy(true));
    assert_ne!(one.order, two.order);
    for user in 0..8 {
        for (a, b) in [(&one.thinks, &two.thinks), (&one.services, &two.services)] {
            let common = a[user].len().min(b[user].len());
            assert!(common > 50);
            assert_eq!(a[user][..common], b[user][..common]);
        }
    }
    // Everyone is somewhere: the two exact averages add up to the users.
    let end = Time::START + Span::from_seconds(1000.0);
    let everyone = one.thinking.integral(end) + one.server.present.integral(end);
    assert_eq!(everyone, 8 * u128::from(end.ns()));
}
