//! Least frequently used.
//!
//! What: the page with the fewest touches since it came is taken; of several the one that has that number longest.
//! Why: the peer that knows how often and not when; it keeps what once was busy.
//! Reference: Coffman, Denning, Operating systems theory, 1973. In constant time: Shah, Mitra, Matani, 2010.

use super::{Links, NONE, Policy, Setup};

/// Frames with the same number of touches are a bucket; buckets are in the order of that number.
#[derive(Debug)]
pub struct Lfu {
    /// A list for each bucket.
    frames: Links,
    /// List 0: those with frames in them, the fewest touches oldest; list 1: those without.
    buckets: Links,
    bucket_of: Vec<u32>,
    touches: Vec<u64>,
}

const USED: u32 = 0;
const FREE: u32 = 1;

impl Lfu {
    /// A free bucket, put next to `below`; the fewest of all where there is none below.
    fn make(&mut self, touches: u64, below: Option<u32>) -> u32 {
        // A frame that moves may need one before its old one is empty: there is one more than frames.
        let bucket = self.buckets.oldest(FREE).unwrap_or(NONE);
        self.buckets.remove(FREE, bucket);
        match below {
            Some(below) => self.buckets.push_after(USED, bucket, below),
            None => self.buckets.push_oldest(USED, bucket),
        }
        self.touches[bucket as usize] = touches;
        bucket
    }

    fn enter(&mut self, frame: u32, bucket: u32) {
        self.frames.push(bucket, frame);
        self.bucket_of[frame as usize] = bucket;
    }

    fn leave(&mut self, frame: u32) {
        let bucket = self.bucket_of[frame as usize];
        self.frames.remove(bucket, frame);
        if self.frames.len(bucket) == 0 {
            self.buckets.remove(USED, bucket);
            self.buckets.push(FREE, bucket);
        }
    }
}

impl Policy for Lfu {
    const SOURCE: &str = include_str!("lfu.rs");

    fn new(setup: &Setup) -> Self {
        let buckets = setup.frames + 1;
        let mut order = Links::new(buckets, 2);
        (0..buckets).for_each(|bucket| order.push(FREE, bucket));
        Self {
            frames: Links::new(setup.frames, buckets),
            buckets: order,
            bucket_of: vec![NONE; setup.frames as usize],
            touches: vec![0; buckets as usize],
        }
    }

    fn touched(&mut self, frame: u32) {
        let bucket = self.bucket_of[frame as usize];
        let more = self.touches[bucket as usize] + 1;
        let above = self.buckets.newer(bucket);
        let same = above.filter(|&above| self.touches[above as usize] == more);
        match same {
            // Alone in its bucket: the bucket gets another number.
            None if self.frames.len(bucket) == 1 => self.touches[bucket as usize] = more,
            _ => {
                let into = same.unwrap_or_else(|| self.make(more, Some(bucket)));
                self.leave(frame);
                self.enter(frame, into);
            }
        }
    }

    fn came(&mut self, frame: u32, _page: u32) {
        let fewest = self.buckets.oldest(USED);
        let once = fewest.filter(|&bucket| self.touches[bucket as usize] == 1);
        let bucket = once.unwrap_or_else(|| self.make(1, None));
        self.enter(frame, bucket);
    }

    fn victim(&mut self, _wanted: Option<u32>, takeable: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        let mut bucket = self.buckets.oldest(USED);
        while let Some(at) = bucket {
            let mut frame = self.frames.oldest(at);
            while let Some(candidate) = frame {
                if takeable(candidate) {
                    self.leave(candidate);
                    return Some(candidate);
                }
                frame = self.frames.newer(candidate);
            }
            bucket = self.buckets.newer(at);
        }
        None
    }

    fn left(&mut self, frame: u32) {
        self.leave(frame);
    }
}
