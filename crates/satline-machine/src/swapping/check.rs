//! What the swapping knows, against storage.

use super::Swapping;
use crate::storage::{State, Storage};

impl Swapping {
    /// Kept frames are on one user's list each, and pages of sets are out, each in one set.
    pub(super) fn check_books(&self, storage: &Storage) -> Result<(), String> {
        let mut kept = 0;
        for (user, him) in (0..).zip(&self.users) {
            let pages = him.kept.iter().map(|&frame| match storage.frame(frame).state() {
                State::Kept => storage.owner(frame).filter(|&(owner, _)| owner == user),
                _ => None,
            });
            let pages: Option<Vec<u32>> = pages.map(|page| Some(page?.1)).collect();
            let falls = |pages: Vec<u32>| pages.windows(2).all(|pair| pair[0] > pair[1]);
            if !pages.is_some_and(falls) {
                return Err(format!(
                    "user {user}'s kept frames are not kept or not in order: {:?}",
                    him.kept
                ));
            }
            if him.kept.is_empty() == self.list.contains(user) || (him.in_queue && !him.kept.is_empty()) {
                return Err(format!(
                    "user {user} is on the swap list and should not be, or the reverse"
                ));
            }
            kept += him.kept.len();
        }
        let states = (0..storage.frames()).map(|frame| storage.frame(frame).state());
        let all = states.filter(|&state| state == State::Kept).count();
        if all != kept {
            return Err(format!("{all} frames are kept, {kept} are on swap lists"));
        }
        for (user, page) in self.sets.check()? {
            let frame = storage
                .frame_of(user, page)
                .map(|frame| storage.frame(frame).state());
            let is_out = matches!(frame, None | Some(State::Free | State::GoingOut));
            if !is_out || !storage.has_slot(user, page) {
                return Err(format!(
                    "page {page} of user {user} is in a swap set and {frame:?}"
                ));
            }
        }
        for (user, him) in (0_u32..).zip(&self.users) {
            for page in (0..him.touched.len() as u32).filter(|&page| storage.lies_in_set_area(user, page)) {
                let frame = storage.frame_of(user, page);
                let comes = frame.is_some_and(|frame| self.inbound[frame as usize]);
                if !comes && self.sets.of_page(user, page).is_none() {
                    return Err(format!(
                        "page {page} of user {user} is in no swap set and has a slot of one"
                    ));
                }
            }
        }
        let comes =
            |&(frame, &inbound): &(u32, &bool)| inbound && storage.frame(frame).state() != State::ComingIn;
        match (0..).zip(&self.inbound).find(comes) {
            Some((frame, _)) => Err(format!(
                "a page of a swap set is to come into frame {frame} and does not"
            )),
            None => Ok(()),
        }
    }
}
