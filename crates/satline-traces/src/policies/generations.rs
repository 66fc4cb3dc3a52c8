//! Generations: Linux's multi-generational LRU.
//!
//! What: pages belong to generations, at most four; a page comes into the youngest. When only two are left, all reference
//! bits are read: referenced pages begin a new youngest generation. The oldest generation gives its pages away, except
//! those referenced since, which go to the youngest.
//! Why: bits are read in bulk and seldom, and still tell more than two ages.
//! Reference: Linux, mm/vmscan.c, lru_gen, since 6.1: for pages reached by page tables. Not modelled: tiers of pages reached
//! by file descriptors, and the Bloom filters that only make the walk cheaper.

use super::{Links, Policy, Setup};

const MOST: u32 = 4;
const FEWEST: u32 = 2;

#[derive(Debug)]
pub struct Generations {
    /// A list for each generation, by its number modulo four.
    lists: Links,
    list_of: Vec<u32>,
    referenced: Vec<bool>,
    oldest: u64,
    youngest: u64,
    looked: u32,
}

const OUT: u32 = u32::MAX;

fn list(generation: u64) -> u32 {
    (generation % u64::from(MOST)) as u32
}

impl Generations {
    fn count(&self) -> u64 {
        self.youngest - self.oldest + 1
    }

    fn rejuvenate(&mut self, frame: u32) {
        let at = frame as usize;
        self.referenced[at] = false;
        self.lists.remove(self.list_of[at], frame);
        self.enter(frame);
    }

    fn enter(&mut self, frame: u32) {
        self.list_of[frame as usize] = list(self.youngest);
        self.lists.push(list(self.youngest), frame);
    }

    /// Reads all bits and begins a new generation.
    fn age(&mut self) {
        self.youngest += 1;
        self.looked += self.referenced.len() as u32;
        for frame in 0..self.referenced.len() {
            if self.referenced[frame] && self.list_of[frame] != OUT {
                self.rejuvenate(frame as u32);
            }
        }
    }
}

impl Policy for Generations {
    const SOURCE: &str = include_str!("generations.rs");

    fn new(setup: &Setup) -> Self {
        Self {
            lists: Links::new(setup.frames, MOST),
            list_of: vec![OUT; setup.frames as usize],
            referenced: vec![false; setup.frames as usize],
            oldest: 0,
            youngest: u64::from(FEWEST) - 1,
            looked: 0,
        }
    }

    fn touched(&mut self, frame: u32) {
        self.referenced[frame as usize] = true;
    }

    fn came(&mut self, frame: u32, _page: u32) {
        // The instruction that faulted is done again and sets the bit.
        self.referenced[frame as usize] = true;
        self.enter(frame);
    }

    fn came_ahead(&mut self, frame: u32, _page: u32) {
        // Until somebody touches it, it is as good as gone.
        self.referenced[frame as usize] = false;
        self.list_of[frame as usize] = list(self.oldest);
        self.lists.push(list(self.oldest), frame);
    }

    fn looked(&mut self) -> u32 {
        std::mem::take(&mut self.looked)
    }

    fn victim(&mut self, _wanted: Option<u32>, takeable: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        // By the fourth generation begun here every bit is off and every page has been in the oldest once.
        for _ in 0..2 * MOST {
            if self.count() <= u64::from(FEWEST) {
                self.age();
            }
            let from = list(self.oldest);
            for _ in 0..self.lists.len(from) {
                let Some(frame) = self.lists.oldest(from) else {
                    break;
                };
                if self.referenced[frame as usize] {
                    self.looked += 1;
                    self.rejuvenate(frame);
                } else if takeable(frame) {
                    self.lists.remove(from, frame);
                    self.list_of[frame as usize] = OUT;
                    return Some(frame);
                } else {
                    self.lists.remove(from, frame);
                    self.enter(frame);
                }
            }
            self.oldest += 1;
        }
        None
    }

    fn left(&mut self, frame: u32) {
        self.lists.remove(self.list_of[frame as usize], frame);
        self.list_of[frame as usize] = OUT;
    }
}
