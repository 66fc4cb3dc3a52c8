//! The loop: takes requests, has the disk say which is next and when it is done, answers then.

use crate::fuse::{self, Call};
use crate::model::{Disk, Request};
use crate::store::Store;
use crate::sys;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// One that waits for the arm, or for its turn; `answer` is what is sent in the end.
struct Waiting {
    request: Request,
    unique: u64,
    answer: Vec<u8>,
    arrived_ns: u64,
}

/// One that is being served.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Begun {
    done_ns: u64,
    unique: u64,
    answer: Vec<u8>,
}

struct Server {
    device: File,
    disk: Disk,
    store: Store,
    began: Instant,
    waiting: Vec<Waiting>,
    begun: BinaryHeap<Reverse<Begun>>,
}

/// Serves until the file is unmounted.
pub fn serve(device: File, disk: Disk, bytes: u64) -> io::Result<()> {
    let store = Store::new(bytes);
    let mut server = Server {
        device,
        disk,
        store,
        began: Instant::now(),
        waiting: Vec::new(),
        begun: BinaryHeap::new(),
    };
    let mut buffer = vec![0; fuse::BUFFER_BYTES];
    loop {
        server.work_off()?;
        if !sys::readable(&server.device, server.next_event())? {
            continue;
        }
        match server.device.read(&mut buffer) {
            Ok(length) => server.take(&buffer[..length])?,
            Err(error) => match error.raw_os_error() {
                Some(libc::ENODEV) => return Ok(()),
                // Withdrawn before it was read, or a signal.
                Some(libc::ENOENT | libc::EINTR | libc::EAGAIN) => {}
                _ => return Err(error),
            },
        }
    }
}

impl Server {
    fn now_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// Time until something is done or can be begun.
    fn next_event(&self) -> Option<Duration> {
        let done = self.begun.peek().map(|Reverse(first)| first.done_ns);
        let free = (!self.waiting.is_empty()).then(|| self.disk.free_ns());
        let next = done.into_iter().chain(free).min()?;
        Some(Duration::from_nanos(next.saturating_sub(self.now_ns())))
    }

    /// Begins what can be begun and answers what is done, in the order in which it happens.
    fn work_off(&mut self) -> io::Result<()> {
        let now = self.now_ns();
        while !self.waiting.is_empty() && self.disk.free_ns() <= now {
            let requests: Vec<Request> = self.waiting.iter().map(|one| one.request).collect();
            let next = self.waiting.remove(self.disk.next(&requests));
            // The disk went on by itself: a late wake-up of this program is none of its own.
            let begin_ns = self.disk.free_ns().max(next.arrived_ns);
            let done_ns = self.disk.begin(begin_ns, next.request);
            self.begun.push(Reverse(Begun {
                done_ns,
                unique: next.unique,
                answer: next.answer,
            }));
        }
        while self
            .begun
            .peek()
            .is_some_and(|Reverse(first)| first.done_ns <= now)
        {
            let Some(Reverse(done)) = self.begun.pop() else {
                break;
            };
            self.send(&fuse::ended(done.answer, 0))?;
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some((unique, call)) = fuse::parse(bytes) else {
            return Ok(());
        };
        let mut answer = fuse::answer(unique);
        match call {
            Call::Read { offset, bytes } => {
                self.store.read(offset, bytes, &mut answer);
                self.wait(
                    Request {
                        offset,
                        bytes,
                        write: false,
                    },
                    unique,
                    answer,
                );
                return Ok(());
            }
            Call::Write { offset, data } => {
                let written = self.store.write(offset, data);
                fuse::put_written(&mut answer, written);
                self.wait(
                    Request {
                        offset,
                        bytes: data.len() as u32,
                        write: true,
                    },
                    unique,
                    answer,
                );
                return Ok(());
            }
            Call::Silent => return Ok(()),
            Call::Unknown => return self.send(&fuse::ended(answer, libc::ENOSYS)),
            Call::Init { flags } => fuse::put_init(&mut answer, flags),
            Call::Discard { offset, bytes } => {
                self.store.discard(offset, bytes);
                self.wait(
                    Request {
                        offset,
                        bytes: 0,
                        write: true,
                    },
                    unique,
                    answer,
                );
                return Ok(());
            }
            Call::FileSystem => fuse::put_file_system(&mut answer, self.store.bytes()),
            Call::Attributes => fuse::put_attributes(&mut answer, self.store.bytes()),
            Call::Open => fuse::put_open(&mut answer),
            Call::Nothing => {}
        }
        self.send(&fuse::ended(answer, 0))
    }

    fn wait(&mut self, request: Request, unique: u64, answer: Vec<u8>) {
        let arrived_ns = self.now_ns();
        self.waiting.push(Waiting {
            request,
            unique,
            answer,
            arrived_ns,
        });
    }

    fn send(&mut self, answer: &[u8]) -> io::Result<()> {
        match self.device.write_all(answer) {
            // Whoever asked has gone.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            other => other,
        }
    }
}
