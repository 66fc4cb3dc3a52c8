//! Jobs on threads of their own, and what they came to.

use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use crate::decision::UserId;
use crate::jobs::{Books, Control, Part, Read, Recorded, Surroundings, Written, read_in, record, write_out};

/// What is to be done for a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    Record,
    Out { last: Part, bytes: u64 },
    In { first_pid: Option<i32>, free_bytes: u64 },
}

/// What came of it.
#[derive(Debug, Clone)]
pub enum Outcome {
    Recorded(Recorded),
    Written { written: Written, trimmed_only: bool },
    Read(Read),
}

/// A job that has ended.
#[derive(Debug)]
pub struct Ended {
    pub job: u64,
    pub user: UserId,
    pub outcome: Outcome,
}

/// A job under way.
#[derive(Debug)]
struct Running {
    job: u64,
    user: UserId,
    control: Arc<Control>,
    /// Its time was over; what it still brings is not listened to.
    given_up: bool,
}

/// Jobs that hang; above this no more are begun, since the device does not answer.
const MAX_HANGING: usize = 4;

/// Begins jobs and hears of their ends.
#[derive(Debug)]
pub struct Workers {
    surroundings: Arc<Surroundings>,
    running: Vec<Running>,
    next_job: u64,
    sender: Sender<Ended>,
    receiver: Receiver<Ended>,
    waker: Arc<UnixStream>,
    woken: UnixStream,
}

impl Workers {
    /// No jobs yet.
    ///
    /// # Errors
    /// No descriptors are left.
    pub fn new(surroundings: Arc<Surroundings>) -> std::io::Result<Self> {
        let (sender, receiver) = channel();
        let (waker, woken) = UnixStream::pair()?;
        waker.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        Ok(Workers {
            surroundings,
            running: Vec::new(),
            next_job: 0,
            sender,
            receiver,
            waker: Arc::new(waker),
            woken,
        })
    }

    /// Becomes readable when a job has ended.
    pub fn raw_fd(&self) -> RawFd {
        self.woken.as_raw_fd()
    }

    /// Whether so many jobs hang that the device must be taken for failed.
    pub fn device_fails(&self) -> bool {
        self.running.iter().filter(|job| job.given_up).count() >= MAX_HANGING
    }

    /// Begins a job on the user's books; false if none can be begun.
    pub fn begin(&mut self, user: UserId, books: &Arc<Mutex<Books>>, task: Task, now_ns: i64) -> bool {
        if self.device_fails() {
            return false;
        }
        let job = self.next_job;
        self.next_job += 1;
        let control = Arc::new(Control {
            beat_ns: AtomicI64::new(now_ns),
            ..Control::default()
        });
        let (surroundings, books) = (self.surroundings.clone(), books.clone());
        let (sender, waker, controlled) = (self.sender.clone(), self.waker.clone(), control.clone());
        let begun = std::thread::Builder::new()
            .name("swap".into())
            .stack_size(256 << 10)
            .spawn(move || {
                let mut books = books.lock().unwrap_or_else(PoisonError::into_inner);
                let outcome = run(&surroundings, &mut books, task, &controlled);
                drop(books);
                let _ = sender.send(Ended { job, user, outcome });
                // A full pipe has woken it already.
                let _ = (&*waker).write(&[1]);
            });
        if begun.is_ok() {
            self.running.push(Running {
                job,
                user,
                control,
                given_up: false,
            });
        }
        begun.is_ok()
    }

    /// Asks the user's job to end.
    pub fn stop(&mut self, user: UserId) {
        for job in self.running.iter().filter(|job| job.user == user) {
            job.control.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Tells the user's job which pages he touched.
    pub fn touched(&mut self, user: UserId, pages: &[(i32, u64)]) {
        for job in self.running.iter().filter(|job| job.user == user) {
            let mut touched = job.control.touched.lock().unwrap_or_else(PoisonError::into_inner);
            touched.extend_from_slice(pages);
        }
    }

    /// Asks all to end.
    pub fn stop_all(&mut self) {
        for job in &self.running {
            job.control.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Jobs that have ended, and users whose job has not got on for too long.
    pub fn ended(&mut self, now_ns: i64) -> (Vec<Ended>, Vec<UserId>) {
        let mut buffer = [0; 64];
        while matches!(std::io::Read::read(&mut self.woken, &mut buffer), Ok(n) if n > 0) {}
        let mut ended = Vec::new();
        while let Ok(one) = self.receiver.try_recv() {
            let place = self.running.iter().position(|job| job.job == one.job);
            let was_given_up = place.is_some_and(|place| self.running.swap_remove(place).given_up);
            if !was_given_up {
                ended.push(one);
            }
        }
        let longest_ns = (self.surroundings.policy.safety.action_seconds * 1e9) as i64;
        let mut late = Vec::new();
        for job in &mut self.running {
            if !job.given_up && now_ns - job.control.beat_ns.load(Ordering::Relaxed) > longest_ns {
                job.given_up = true;
                job.control.stop.store(true, Ordering::Relaxed);
                late.push(job.user);
            }
        }
        (ended, late)
    }
}

fn run(surroundings: &Surroundings, books: &mut Books, task: Task, control: &Control) -> Outcome {
    match task {
        Task::Record => Outcome::Recorded(record(surroundings, books)),
        Task::Out { last, bytes } => Outcome::Written {
            written: write_out(surroundings, books, last, bytes, control),
            trimmed_only: last != Part::Working,
        },
        Task::In {
            first_pid,
            free_bytes,
        } => Outcome::Read(read_in(surroundings, books, first_pid, free_bytes, control)),
    }
}
