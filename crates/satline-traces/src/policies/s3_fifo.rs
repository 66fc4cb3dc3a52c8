//! S3-FIFO: three queues.
//!
//! What: new pages enter a small queue, a tenth of the frames; what was touched twice there goes on to the main queue, the
//! rest is taken and remembered as a ghost. A ghost that is wanted again enters the main queue, whose pages are
//! reinserted as long as they were touched, up to three times.
//! Why: most pages that are touched once are never touched again; they must not cross the whole storage to leave.
//! Reference: Yang, Zhang, Qiu, Yue, Rashmi, FIFO queues are all you need for cache eviction, SOSP 2023. As ghosts nine
//! tenths of the frames are remembered. Where the paper leaves it open, as in its authors' simulator: a ghost is known
//! before a victim is taken for it, and until the first victim pages beyond the small queue's share enter the main one.

use super::{Ghosts, Links, NONE, Policy, Setup};

const SMALL: u32 = 0;
const MAIN: u32 = 1;
/// Touches in the small queue that a page needs for the main one.
const TO_MAIN: u8 = 2;
/// Touches that count.
const MOST: u8 = 3;

#[derive(Debug)]
pub struct S3Fifo {
    queues: Links,
    queue_of: Vec<u32>,
    page_of: Vec<u32>,
    touches: Vec<u8>,
    ghosts: Ghosts,
    most_ghosts: u32,
    small_share: u32,
    main_share: u32,
    /// The ghost for which the last victim was taken.
    recalled: u32,
    /// Whether a victim was taken yet.
    taken: bool,
}

impl S3Fifo {
    fn take_small(&mut self, takeable: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        for _ in 0..self.queues.len(SMALL) {
            let frame = self.queues.oldest(SMALL)?;
            self.queues.remove(SMALL, frame);
            if self.touches[frame as usize] >= TO_MAIN {
                self.enter(frame, MAIN);
            } else if takeable(frame) {
                self.remember(self.page_of[frame as usize]);
                return Some(frame);
            } else {
                self.queues.push(SMALL, frame);
            }
        }
        None
    }

    fn take_main(&mut self, takeable: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        for _ in 0..=u32::from(MOST) * self.queues.len(MAIN) {
            let frame = self.queues.oldest(MAIN)?;
            let touches = &mut self.touches[frame as usize];
            if *touches == 0 && takeable(frame) {
                self.queues.remove(MAIN, frame);
                return Some(frame);
            }
            *touches = touches.saturating_sub(1);
            self.queues.renew(MAIN, frame);
        }
        // Of frames that may not be taken some can have used up the rounds.
        self.queues.take_oldest(MAIN, takeable)
    }

    fn enter(&mut self, frame: u32, queue: u32) {
        self.queues.push(queue, frame);
        self.queue_of[frame as usize] = queue;
        self.touches[frame as usize] = 0;
    }

    fn remember(&mut self, page: u32) {
        if self.most_ghosts == 0 {
            return;
        }
        if self.ghosts.count() >= self.most_ghosts {
            self.ghosts.forget_oldest();
        }
        self.ghosts.push(page);
    }
}

impl Policy for S3Fifo {
    const SOURCE: &str = include_str!("s3_fifo.rs");

    fn new(setup: &Setup) -> Self {
        let frames = setup.frames as usize;
        Self {
            queues: Links::new(setup.frames, 2),
            queue_of: vec![SMALL; frames],
            page_of: vec![NONE; frames],
            touches: vec![0; frames],
            ghosts: Ghosts::new(setup.pages),
            most_ghosts: (u64::from(setup.frames) * 9 / 10) as u32,
            small_share: setup.frames / 10,
            main_share: setup.frames - setup.frames / 10,
            recalled: NONE,
            taken: false,
        }
    }

    fn touched(&mut self, frame: u32) {
        let touches = &mut self.touches[frame as usize];
        *touches = (*touches + 1).min(MOST);
    }

    fn came(&mut self, frame: u32, page: u32) {
        let known = self.recalled == page || self.ghosts.remove(page);
        self.recalled = NONE;
        self.page_of[frame as usize] = page;
        let filling = !self.taken && self.queues.len(SMALL) >= self.small_share;
        self.enter(frame, if known || filling { MAIN } else { SMALL });
    }

    fn victim(&mut self, wanted: Option<u32>, takeable: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        self.taken = true;
        // Before the victim may push it out of those remembered.
        self.recalled = wanted.filter(|&page| self.ghosts.remove(page)).unwrap_or(NONE);
        // The small queue may pass all of its pages on: then the main one gives.
        if self.queues.len(MAIN) <= self.main_share {
            if let Some(frame) = self.take_small(takeable) {
                return Some(frame);
            }
        }
        self.take_main(takeable).or_else(|| self.take_small(takeable))
    }

    fn left(&mut self, frame: u32) {
        self.queues.remove(self.queue_of[frame as usize], frame);
    }
}
