//! Holding a user: his tasks stand still until he is let in.
//!
//! A thread of its own traces them, and the kernel lets every task go whose tracer has ended, however that came about. So a hold
//! outlives neither the daemon, killed or not, nor its time, whatever the daemon's loop does meanwhile. Stopping signals and the
//! freezer of control groups would.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::calls;
use crate::calls::trace::{self, Tracee};
use crate::decision::UserId;
use crate::population::Found;
use crate::roots::Roots;
use crate::stat::{Stat, all_threads};

/// Tasks may begin others while they are being stopped: so often is looked for new ones.
const PASSES: usize = 4;
/// How often is looked whether a task has stopped that was waiting for a device.
const LOOK: Duration = Duration::from_millis(2);

/// Set when the hold is to end.
type Ending = Arc<(Mutex<bool>, Condvar)>;

/// The holds that there are.
#[derive(Debug, Default)]
pub struct Holds {
    endings: BTreeMap<UserId, Ending>,
}

impl Holds {
    /// Stops the tasks of a user, for no longer than `longest`.
    pub fn hold(&mut self, roots: &Roots, id: UserId, user: &Found, longest: Duration) {
        let Entry::Vacant(place) = self.endings.entry(id) else {
            return;
        };
        let ending = Ending::default();
        let (ours, roots) = (ending.clone(), roots.clone());
        let processes: Vec<(i32, u64)> = user
            .processes
            .iter()
            .map(|(&pid, stat)| (pid, stat.start_ticks))
            .collect();
        let begun = std::thread::Builder::new()
            .name("hold".into())
            .stack_size(128 << 10)
            .spawn(move || stand_still(&roots, &processes, &ours, Instant::now() + longest));
        if begun.is_ok() {
            place.insert(ending);
        }
    }

    /// Lets him go on.
    pub fn release(&mut self, id: UserId) {
        if let Some(ending) = self.endings.remove(&id) {
            *ending.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            ending.1.notify_all();
        }
    }

    /// Lets everybody go on.
    pub fn release_all(&mut self) {
        let held: Vec<UserId> = self.endings.keys().copied().collect();
        for id in held {
            self.release(id);
        }
    }
}

/// Stops the tasks of processes until the ending or the deadline. Tasks that cannot be traced go on.
fn stand_still(roots: &Roots, processes: &[(i32, u64)], ending: &Ending, deadline: Instant) {
    let mut tasks: BTreeMap<i32, Tracee> = BTreeMap::new();
    for &(pid, start_ticks) in processes {
        let Ok(pidfd) = calls::pidfd_open(pid) else {
            continue;
        };
        if Stat::read(roots, pid).is_none_or(|(_, stat)| stat.start_ticks != start_ticks) {
            continue;
        }
        for _ in 0..PASSES {
            let mut others = false;
            for tid in all_threads(roots, pid) {
                if !tasks.contains_key(&tid) && trace::seize(tid).is_ok() {
                    trace::interrupt(tid);
                    tasks.insert(tid, Tracee::NotYet);
                    others = true;
                }
            }
            if !others {
                break;
            }
        }
        // Another process may have got the number in the middle of this. It goes on with the end of this thread.
        if !trace::is_there(&pidfd) {
            return;
        }
    }
    let (ended, told) = &**ending;
    let mut over = ended.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let mut moving = false;
        for (&tid, task) in &mut tasks {
            if *task == Tracee::NotYet {
                *task = trace::look(tid);
                moving |= *task == Tracee::NotYet;
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if *over || left.is_zero() {
            break;
        }
        let wait = if moving { left.min(LOOK) } else { left };
        over = told
            .wait_timeout(over, wait)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
    }
    for (&tid, task) in &tasks {
        if let Tracee::Stopped { signal } = *task {
            trace::detach(tid, signal);
        }
    }
    // A task that has not stopped yet is let go by the end of this thread.
}
