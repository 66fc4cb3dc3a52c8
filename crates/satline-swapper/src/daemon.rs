//! The loop: look, decide, act.

mod acting;

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use satline_program::{Error, clock};

use crate::abilities::Abilities;
use crate::budget::Budget;
use crate::calls::{self, Interest, Ready};
use crate::decision::{Decisions, Event, State, StorageSeen, UserId, UserSeen};
use crate::face::Face;
use crate::hold::Holds;
use crate::jobs::Surroundings;
use crate::policy::Policy;
use crate::population;
use crate::pressure::Pressure;
use crate::roots::Roots;
use crate::sentry::Sentry;
use crate::storage::Storage;
use crate::tiers::Tiers;
use crate::user::{Progress, User};
use crate::workers::Workers;

/// While somebody resumes, so often is looked whether his faults have ended, ms.
const RESUME_TICK_MS: i64 = 20;
/// Users whose faults wake us are looked at only every so many ticks.
const QUIET_TICKS: u64 = 8;

/// The daemon.
pub struct Daemon {
    surroundings: Arc<Surroundings>,
    users: BTreeMap<UserId, User>,
    next_id: UserId,
    decisions: Decisions,
    workers: Workers,
    holds: Holds,
    storage: Storage,
    seen_storage: Option<StorageSeen>,
    pressure: Pressure,
    announcements: Option<UnixDatagram>,
    tiers: Tiers,
    face: Face,
    tick: u64,
    next_tick_ns: i64,
    next_scan_ns: i64,
    /// Of the lists of users when they were last read.
    lists: Vec<ListState>,
    pressed_until_ns: i64,
}

/// Since a trigger tells only that the share was exceeded, it counts for as long as its window, ns.
const PRESSED_NS: i64 = 2_000_000_000;

impl Daemon {
    /// Looks at what this kernel has and finds the first users.
    ///
    /// # Errors
    /// No threads or descriptors are left.
    pub fn open(
        roots: Roots,
        policy: Policy,
        abilities: &Abilities,
        dry_run: bool,
        socket: Option<&Path>,
        face: Face,
    ) -> Result<Self, Error> {
        let now_ns = clock::monotonic_ns();
        let budget = |bytes, ios| Mutex::new(Budget::new(bytes, ios, now_ns));
        let surroundings = Arc::new(Surroundings {
            method: abilities.method,
            page_bytes: abilities.page_bytes,
            out_budget: budget(
                policy.swap_out.bytes_per_second.bytes(0),
                policy.swap_out.ios_per_second,
            ),
            in_budget: budget(
                policy.prepage.bytes_per_second.bytes(0),
                policy.prepage.ios_per_second,
            ),
            roots: roots.clone(),
            policy: policy.clone(),
            dry_run,
        });
        let workers = Workers::new(surroundings.clone())
            .map_err(|error| Error::system("a pair of sockets", &error, "raise `ulimit -n`"))?;
        Ok(Daemon {
            storage: Storage::new(&roots, &policy),
            tiers: Tiers::new(&roots, &policy, dry_run),
            surroundings,
            users: BTreeMap::new(),
            next_id: 1,
            decisions: Decisions::new(),
            workers,
            holds: Holds::default(),
            seen_storage: None,
            pressure: Pressure::default(),
            announcements: socket.and_then(announcements),
            face,
            tick: 0,
            next_tick_ns: now_ns,
            next_scan_ns: now_ns,
            lists: Vec::new(),
            pressed_until_ns: 0,
        })
    }

    /// Runs until `stop` says so.
    ///
    /// # Errors
    /// The recording cannot be written.
    pub fn run(&mut self, stop: impl Fn() -> bool) -> Result<(), Error> {
        while !stop() {
            let now_ns = clock::monotonic_ns();
            let ticked = now_ns >= self.next_tick_ns;
            if now_ns >= self.next_scan_ns || ticked && self.lists != list_states(&self.surroundings.policy) {
                self.scan(now_ns);
            }
            if ticked {
                self.look(now_ns);
            }
            let events = self.hear(now_ns);
            if events.iter().any(|event| matches!(event, Event::Out { .. })) {
                // What was seen before the page-out would have as much written out again.
                self.seen_storage = self.storage.look(now_ns < self.pressed_until_ns);
            }
            self.decide(now_ns, &events);
            if ticked {
                self.face
                    .tick(now_ns, &self.decisions, &self.users, self.seen_storage)?;
                self.tiers.tick(now_ns);
            }
            self.wait();
        }
        self.holds.release_all();
        self.workers.stop_all();
        self.face.end()
    }

    /// Who the users are and which processes they have.
    fn scan(&mut self, now_ns: i64) {
        let Surroundings { roots, policy, .. } = &*self.surroundings;
        self.next_scan_ns = now_ns + (policy.activity.rescan_seconds * 1e9) as i64;
        self.pressure.follow(roots, policy);
        self.lists = list_states(policy);
        let own_pid = i32::try_from(std::process::id()).unwrap_or(0);
        let Ok(found) = population::find(roots, policy, own_pid) else {
            return;
        };
        let mut known = std::mem::take(&mut self.users);
        for one in found {
            let id = known
                .iter()
                .find(|(_, user)| user.found.name == one.name)
                .map(|(&id, _)| id);
            let user = match id.and_then(|id| known.remove(&id)) {
                Some(mut user) => {
                    user.follow(roots, one);
                    user
                }
                None => {
                    self.next_id += 1;
                    User::new(self.next_id - 1, roots, one)
                }
            };
            self.users.insert(user.id, user);
        }
        for id in known.keys() {
            self.workers.stop(*id);
            self.holds.release(*id);
        }
    }

    /// Activity and storage.
    fn look(&mut self, now_ns: i64) {
        let Surroundings { roots, policy, .. } = &*self.surroundings;
        self.tick += 1;
        for (index, user) in self.users.values_mut().enumerate() {
            let quiet = user.sentry.as_ref().is_some_and(Sentry::wakes);
            if !quiet || (self.tick + index as u64) % QUIET_TICKS == 0 {
                user.active |= user.meter.worked(now_ns, &policy.activity_of(user.found.watch));
            }
            if let Some(sentry) = user.sentry.as_mut().filter(|sentry| !sentry.wakes()) {
                let least = policy.activity_of(user.found.watch).faults;
                user.faulted |= sentry.look_at_list(roots, now_ns, least);
            }
        }
        self.seen_storage = self.storage.look(now_ns < self.pressed_until_ns);
        let resuming = self.users.values().any(|user| user.resume.is_some());
        let tick_ms = policy.activity.tick_ms as i64;
        let next_ms = if resuming {
            RESUME_TICK_MS.min(tick_ms)
        } else {
            tick_ms
        };
        self.next_tick_ns = now_ns + next_ms * 1_000_000;
        for user in self.users.values_mut() {
            let progress = user.resume.map(|mut resume| {
                let state = self.decisions.users.get(&user.id).map(|known| known.state);
                let waits = || state == Some(State::Eligible) || user.is_busy(roots);
                let progress = resume.look(now_ns, user.major_faults(roots), waits);
                user.resume = Some(resume);
                progress
            });
            match progress {
                // Who waits for his pages uses next to no processor, and is not idle.
                Some(Progress::Faulting) => user.active = true,
                Some(Progress::Over { length_us }) => {
                    user.resume = None;
                    user.totals.resume_us += length_us;
                    self.face
                        .event("resumed", Some(length_us as f64 / 1e6), &user.found.name);
                }
                Some(Progress::Quiet) | None => {}
            }
        }
    }

    /// Who would leave the queue now but waits for a device or a processor is not idle: no fault and no processor time tell of him.
    fn spare_the_busy(&mut self, now_ns: i64) {
        let Surroundings { roots, policy, .. } = &*self.surroundings;
        for user in self
            .users
            .values_mut()
            .filter(|user| !user.active && !user.faulted)
        {
            let drops = self
                .decisions
                .users
                .get(&user.id)
                .is_some_and(|state| state.would_drop(now_ns / 1000, policy));
            user.active = drops && user.is_busy(roots);
        }
    }

    /// Faults, announcements, and jobs that have ended.
    fn hear(&mut self, now_ns: i64) -> Vec<Event> {
        for user in self.users.values_mut() {
            if let Some(sentry) = &mut user.sentry {
                let least = self.surroundings.policy.activity_of(user.found.watch).faults;
                user.faulted |= sentry.look(now_ns, least);
                let touched = std::mem::take(&mut sentry.touched);
                if user.resume.is_some() && !touched.is_empty() {
                    self.workers.touched(user.id, &touched);
                }
            }
        }
        if let Some(socket) = &self.announcements {
            let mut buffer = [0; 4096];
            while let Ok(length) = socket.recv(&mut buffer) {
                let name = String::from_utf8_lossy(&buffer[..length]);
                for user in self.users.values_mut().filter(|user| user.found.name == name) {
                    user.announced = true;
                }
            }
        }
        let (ended, late) = self.workers.ended(now_ns);
        let mut events: Vec<Event> = ended.into_iter().filter_map(|one| self.settle(one)).collect();
        events.extend(late.into_iter().map(|id| Event::Failed { id }));
        events
    }

    fn decide(&mut self, now_ns: i64, events: &[Event]) {
        self.spare_the_busy(now_ns);
        let page_bytes = self.surroundings.page_bytes;
        let seen: Vec<UserSeen> = self
            .users
            .values_mut()
            .map(|user| UserSeen {
                id: user.id,
                active: std::mem::take(&mut user.active),
                faulted: std::mem::take(&mut user.faulted),
                announced: std::mem::take(&mut user.announced),
                interactive: user.found.interactive,
                resident_bytes: user.resident_bytes(page_bytes),
            })
            .collect();
        let policy = &self.surroundings.policy;
        let before: Vec<(UserId, State)> = self
            .decisions
            .users
            .iter()
            .map(|(&id, user)| (id, user.state))
            .collect();
        let actions = self
            .decisions
            .step(now_ns / 1000, policy, self.seen_storage, &seen, events);
        self.face.seen(now_ns, &seen, events, self.seen_storage);
        for action in actions {
            self.act(action, now_ns);
        }
        let before: BTreeMap<UserId, State> = before.into_iter().collect();
        let changed: Vec<(UserId, State)> = self
            .decisions
            .users
            .iter()
            .filter(|(id, user)| before.get(id) != Some(&user.state))
            .map(|(&id, user)| (id, user.state))
            .collect();
        for (id, state) in changed {
            self.entered(id, before.get(&id).copied(), state, now_ns);
        }
    }

    /// Waits for the next tick, a fault, an announcement, or the end of a job.
    fn wait(&mut self) {
        let mut descriptors: Vec<(RawFd, Interest)> = vec![(self.workers.raw_fd(), Interest::Readable)];
        let pressure_at = descriptors.len();
        let pressure = self.pressure.descriptor();
        descriptors.extend(pressure.map(|fd| (fd, Interest::Urgent)));
        descriptors.extend(
            self.announcements
                .iter()
                .map(|socket| (socket.as_raw_fd(), Interest::Readable)),
        );
        let sentries = self.users.values().filter_map(|user| user.sentry.as_ref());
        descriptors.extend(
            sentries
                .flat_map(Sentry::descriptors)
                .map(|fd| (fd, Interest::Readable)),
        );
        let now_ns = clock::monotonic_ns();
        let due_ns = self.next_tick_ns.min(self.next_scan_ns).max(now_ns);
        let wait_ms = i32::try_from((due_ns - now_ns + 999_999) / 1_000_000).unwrap_or(1000);
        let ready = calls::poll(&descriptors, wait_ms);
        match ready.get(pressure_at).filter(|_| pressure.is_some()) {
            Some(Ready::Yes) => self.pressed_until_ns = clock::monotonic_ns() + PRESSED_NS,
            // The group of the trigger is gone.
            Some(Ready::Gone) => self.pressure.lost(),
            _ => {}
        }
        for ((descriptor, _), _) in descriptors
            .iter()
            .zip(&ready)
            .filter(|(_, ready)| **ready == Ready::Gone)
        {
            for user in self.users.values_mut() {
                if let Some(sentry) = &mut user.sentry {
                    sentry.withdraw(*descriptor);
                }
            }
        }
    }
}

/// When a list of users was written, and how long it is; none: it is not there.
type ListState = Option<(SystemTime, u64)>;

/// Whoever is put on a list is known at the next look, not at the next search only.
fn list_states(policy: &Policy) -> Vec<ListState> {
    let lists = policy.watch.iter().filter_map(|watch| watch.pid_file.as_ref());
    lists
        .map(|path| {
            let file = path.metadata().ok()?;
            Some((file.modified().ok()?, file.len()))
        })
        .collect()
}

/// The socket on which somebody says that a user is about to come back.
fn announcements(path: &Path) -> Option<UnixDatagram> {
    let _ = std::fs::remove_file(path);
    let socket = UnixDatagram::bind(path).ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(socket)
}
