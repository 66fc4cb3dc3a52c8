//! The thread that encodes, writes and syncs, so that a slow disk does not delay the next sample.

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use satline_program::Error;

use crate::description::replace_atomically;
use crate::segment::SegmentSeries;

/// Batches that may wait for a slow disk before the writer waits too.
const QUEUE: usize = 1024;

enum Message {
    Table(Box<SegmentSeries>),
    /// A file that others write: it is durable before the rows are that it belongs to.
    Beside(PathBuf, File),
    Batch {
        table: usize,
        day: i64,
        batch: RecordBatch,
    },
    /// Replaces a small file atomically.
    Replace {
        path: PathBuf,
        text: String,
    },
    /// Answers when everything sent before is written, and durable if `sync`.
    Barrier {
        sync: bool,
        done: SyncSender<()>,
    },
}

/// What both sides see.
#[derive(Default)]
struct Shared {
    bytes: AtomicU64,
    failure: Mutex<Option<Error>>,
}

/// The writer's side.
pub(crate) struct Worker {
    sender: Option<SyncSender<Message>>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

impl Worker {
    pub fn start(sync_interval: Duration) -> std::io::Result<Self> {
        let (sender, receiver) = sync_channel(QUEUE);
        let shared = Arc::new(Shared::default());
        let state = State {
            tables: Vec::new(),
            beside: None,
            sync_interval,
            last_sync: Instant::now(),
            unsynced: false,
            shared: shared.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("recording".into())
            .spawn(move || state.run(&receiver))?;
        Ok(Worker {
            sender: Some(sender),
            thread: Some(thread),
            shared,
        })
    }

    /// Makes the next table; tables are numbered from 0 in the order of these calls.
    pub fn add_table(&self, series: SegmentSeries) {
        self.send(Message::Table(Box::new(series)));
    }

    /// Syncs this file, too, before every sync of the tables.
    pub fn beside(&self, path: PathBuf, file: File) {
        self.send(Message::Beside(path, file));
    }

    pub fn append(&self, table: usize, day: i64, batch: RecordBatch) {
        self.send(Message::Batch { table, day, batch });
    }

    pub fn replace(&self, path: PathBuf, text: String) {
        self.send(Message::Replace { path, text });
    }

    /// Waits until everything is written, and durable if `sync`.
    pub fn wait(&self, sync: bool) {
        let (done, finished) = sync_channel(1);
        self.send(Message::Barrier { sync, done });
        let _ = finished.recv();
    }

    /// The first error, if there was one.
    pub fn failure(&self) -> Result<(), Error> {
        match &*self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    pub fn bytes_written(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// Writes what waits, makes it durable and ends the thread.
    pub fn stop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    fn send(&self, message: Message) {
        if let Some(sender) = &self.sender {
            // It fails only when the thread has ended, which it does only when the sender is gone.
            let _ = sender.send(message);
        }
    }
}

struct State {
    tables: Vec<SegmentSeries>,
    beside: Option<(PathBuf, File)>,
    sync_interval: Duration,
    last_sync: Instant,
    unsynced: bool,
    shared: Arc<Shared>,
}

impl State {
    fn run(mut self, receiver: &Receiver<Message>) {
        loop {
            let wait = self.sync_interval.saturating_sub(self.last_sync.elapsed());
            let message = if self.unsynced {
                receiver.recv_timeout(wait)
            } else {
                receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match message {
                Ok(Message::Table(series)) => self.tables.push(*series),
                Ok(Message::Beside(path, file)) => self.beside = Some((path, file)),
                Ok(Message::Batch { table, day, batch }) => self.attempt(|state| {
                    let written = state.tables[table].append(day, &batch)?;
                    state.shared.bytes.fetch_add(written, Ordering::Relaxed);
                    state.unsynced = true;
                    Ok(())
                }),
                Ok(Message::Replace { path, text }) => self.attempt(|_| replace_atomically(&path, &text)),
                Ok(Message::Barrier { sync, done }) => {
                    if sync {
                        self.sync();
                    }
                    let _ = done.send(());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.sync();
                    // After a failure too: what is on disk is whole up to there.
                    let closed = self.tables.iter_mut().try_for_each(SegmentSeries::close);
                    self.attempt(|_| closed);
                    return;
                }
            }
            if self.unsynced && self.last_sync.elapsed() >= self.sync_interval {
                self.sync();
            }
        }
    }

    fn sync(&mut self) {
        self.attempt(|state| {
            if let Some((path, file)) = &state.beside {
                file.sync_data()
                    .map_err(|e| Error::file(path, "make it durable", &e))?;
            }
            state.tables.iter_mut().try_for_each(SegmentSeries::sync)
        });
        self.unsynced = false;
        self.last_sync = Instant::now();
    }

    /// Does it unless something failed before; the first failure is kept.
    fn attempt(&mut self, action: impl FnOnce(&mut Self) -> Result<(), Error>) {
        if self
            .shared
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
        {
            return;
        }
        if let Err(error) = action(self) {
            *self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            // What was written before the failure is to survive too.
            for series in &mut self.tables {
                let _ = series.sync();
            }
        }
    }
}
