//! Policies of the crate for page-reference traces on this machine's frames: the same code replays a trace.
//!
//! They are told every touch and keep bits, lists and ghosts of their own, so reference bits that a queue-drop resets mean
//! nothing to them. A victim is taken before it is known what it is for. What they look at is billed as a scan; the work of
//! those that move a page in a list at each touch is not.

use std::fmt::Debug;

use satline_traces::policies::{self, Policy};

use super::{Replacement, Setup};
use crate::storage::Storage;

/// Which touches a policy is told. The instruction for which a page came is done again when it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touches {
    /// That of the instruction too: the hardware sets the bit as at any touch.
    All,
    /// Not that one: the arrival has told it.
    Further,
    None,
}

#[derive(Debug)]
struct Traced<P> {
    policy: P,
    touches: Touches,
    /// By frame: its page came, and was not touched since.
    fresh: Vec<bool>,
}

/// Makes one; the policy's pages are numbered as [`Replacement::came`] says.
pub(super) fn traced<P>(setup: Setup, touches: Touches) -> Box<dyn Replacement>
where
    P: Policy + Debug + Send + 'static,
{
    let policy = P::new(&policies::Setup {
        frames: setup.frames,
        pages: setup.pages,
        // None of those made so draws.
        seed: 0,
    });
    adapted(policy, &setup, touches)
}

/// One that is made already.
pub(super) fn adapted<P>(policy: P, setup: &Setup, touches: Touches) -> Box<dyn Replacement>
where
    P: Policy + Debug + Send + 'static,
{
    Box::new(Traced {
        policy,
        touches,
        fresh: vec![false; setup.frames as usize],
    })
}

impl<P: Policy + Debug + Send> Replacement for Traced<P> {
    fn victim(&mut self, storage: &mut Storage) -> Option<u32> {
        let taken = self
            .policy
            .victim(None, &mut |frame| storage.scan(frame).takeable());
        storage.scanned(self.policy.looked());
        taken
    }

    fn came(&mut self, frame: u32, page: u32) {
        self.fresh[frame as usize] = true;
        self.policy.came(frame, page);
    }

    fn came_ahead(&mut self, frame: u32, page: u32) {
        self.fresh[frame as usize] = true;
        self.policy.came_ahead(frame, page);
    }

    fn left(&mut self, frame: u32) {
        self.policy.left(frame);
    }

    fn every_touch(&self) -> bool {
        self.touches != Touches::None
    }

    fn touched(&mut self, frame: u32) {
        let fresh = std::mem::take(&mut self.fresh[frame as usize]);
        if !fresh || self.touches == Touches::All {
            self.policy.touched(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::engine::Streams;

    /// What policies of this test were told; one test uses it.
    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

    #[derive(Debug)]
    struct Told;

    fn told(what: String) {
        TOLD.lock().unwrap().push(what);
    }

    impl Policy for Told {
        const SOURCE: &str = "";

        fn new(setup: &policies::Setup) -> Self {
            told(format!("{} frames, {} pages", setup.frames, setup.pages));
            Self
        }

        fn touched(&mut self, frame: u32) {
            told(format!("touched {frame}"));
        }

        fn came(&mut self, frame: u32, page: u32) {
            told(format!("came {frame} {page}"));
        }

        fn victim(&mut self, _: Option<u32>, _: &mut impl FnMut(u32) -> bool) -> Option<u32> {
            None
        }

        fn left(&mut self, frame: u32) {
            told(format!("left {frame}"));
        }
    }

    #[test]
    fn the_touch_for_which_a_page_came_is_told_once() {
        let of = |touches| {
            let streams = Streams::new(1, 0);
            let setup = Setup {
                frames: 4,
                pages: 9,
                sampling: crate::configuration::Sampling::default(),
                streams: &streams,
            };
            let mut policy = traced::<Told>(setup, touches);
            policy.came(2, 7);
            policy.touched(2);
            policy.touched(2);
            policy.left(2);
            policy.came(2, 8);
            policy.touched(2);
            std::mem::take(&mut *TOLD.lock().unwrap()).join(", ")
        };
        assert_eq!(
            of(Touches::Further),
            "4 frames, 9 pages, came 2 7, touched 2, left 2, came 2 8"
        );
        assert_eq!(
            of(Touches::All),
            "4 frames, 9 pages, came 2 7, touched 2, touched 2, left 2, came 2 8, touched 2"
        );
    }
}
