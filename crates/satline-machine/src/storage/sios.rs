//! Start-I/Os of paging: which frames each one moves.

use super::areas::Place;
use crate::devices::MAX_PAGES;

/// One start-I/O.
#[derive(Debug, Clone, Copy)]
pub struct Sio {
    /// Of its first page; the others lie on the same cylinder, or in the same area of a device that chains across them.
    pub place: Place,
    frames: [u32; MAX_PAGES],
    slots: [u16; MAX_PAGES],
    count: u8,
    /// By page: 1 where it is written.
    writes: u16,
    /// Its pages are of one swap set.
    pub swap: bool,
}

impl Sio {
    pub fn new(place: Place) -> Self {
        Self {
            place,
            frames: [0; MAX_PAGES],
            slots: [0; MAX_PAGES],
            count: 0,
            writes: 0,
            swap: false,
        }
    }

    pub fn push(&mut self, frame: u32, slot: u16, write: bool) {
        let at = usize::from(self.count);
        self.frames[at] = frame;
        self.slots[at] = slot;
        self.writes |= u16::from(write) << at;
        self.count += 1;
    }

    pub fn slots(&self) -> &[u16] {
        &self.slots[..usize::from(self.count)]
    }

    /// (frame, whether it is written).
    pub fn frames(&self) -> impl Iterator<Item = (u32, bool)> {
        let writes = self.writes;
        let frames = self.frames.into_iter().take(self.count.into());
        frames
            .enumerate()
            .map(move |(at, frame)| (frame, writes >> at & 1 == 1))
    }

    pub fn has_write(&self) -> bool {
        self.writes != 0
    }
}

/// Start-I/Os by tag.
#[derive(Debug, Default)]
pub struct Sios {
    table: Vec<Sio>,
    free: Vec<u32>,
    /// Made, and not yet handed to the devices.
    pub ready: Vec<u32>,
    /// Handed to the devices and not yet done.
    pub outstanding: u32,
}

impl Sios {
    /// Makes one ready to go.
    pub fn add(&mut self, sio: Sio) {
        let tag = match self.free.pop() {
            Some(tag) => {
                self.table[tag as usize] = sio;
                tag
            }
            None => {
                self.table.push(sio);
                self.table.len() as u32 - 1
            }
        };
        self.ready.push(tag);
    }

    pub fn get(&self, tag: u32) -> &Sio {
        &self.table[tag as usize]
    }

    /// Those made ready from that place on move a swap set.
    pub fn mark_swap(&mut self, from: usize) {
        for &tag in &self.ready[from..] {
            self.table[tag as usize].swap = true;
        }
    }

    /// One page of a ready one goes with another that waits.
    pub fn join(&mut self, tag: u32, other: u32) {
        let sio = self.table[tag as usize];
        let (frame, write) = sio.frames().next().expect("a start-I/O moves a page");
        self.table[other as usize].push(frame, sio.slots()[0], write);
        self.free.push(tag);
    }

    /// One is done.
    pub fn end(&mut self, tag: u32) -> Sio {
        self.free.push(tag);
        self.outstanding -= 1;
        self.table[tag as usize]
    }

    /// All that are under way or ready.
    pub fn open(&self) -> impl Iterator<Item = &Sio> {
        let open = |tag: &usize| !self.free.contains(&(*tag as u32));
        (0..self.table.len()).filter(open).map(|tag| &self.table[tag])
    }
}
