//! Conservation: every frame is in one place, every slot holds one page at most, and sums agree.

use super::Memory;
use super::chain::NONE;
use super::frames::State;

impl Memory {
    /// Checks all of storage; costs a pass over frames and pages.
    ///
    /// # Errors
    /// What does not agree: a mistake of the program; or the paging areas are full, which is one of the machine.
    pub fn check(&self) -> Result<(), String> {
        self.check_frames()?;
        self.check_pages()?;
        self.check_sios()?;
        match self.overflow() {
            true => Err(
                "the paging areas are full and no frame can be given up: give more area, or fewer users"
                    .into(),
            ),
            false => Ok(()),
        }
    }

    fn check_frames(&self) -> Result<(), String> {
        let storage = &self.storage;
        let mut going_out = 0;
        let mut held = vec![0; storage.frames.len()];
        let holds = storage.accounts.iter().filter(|account| account.hold != NONE);
        holds.for_each(|account| held[account.hold as usize] += 1);
        for (number, frame) in (0..).zip(&storage.frames) {
            let wrong = |why: &str| Err(format!("frame {number}: {why}: {frame:?}"));
            let (free, flush) = (storage.free.contains(number), storage.flush.contains(number));
            if (free, flush) != (frame.state == State::Free, frame.state == State::Flush) {
                return wrong("its state is not where it is");
            }
            going_out += u32::from(frame.state == State::GoingOut);
            if frame.page == NONE {
                if frame.state != State::Free {
                    return wrong("it is in use without a page");
                }
                continue;
            }
            let page = &storage.pages[frame.page as usize];
            if page.frame != number || page.present != (frame.state == State::Used) {
                return wrong("its page does not agree");
            }
            if frame.state == State::GoingOut && !frame.writing {
                return wrong("it goes out and is not written");
            }
            if matches!(frame.state, State::Free | State::ComingIn) && frame.writing {
                return wrong("it is written where it cannot be");
            }
            if frame.state == State::Free && (frame.changed || page.slot == NONE) {
                return wrong("its page would be lost");
            }
            if held[number as usize] != frame.holds {
                return wrong("holds do not agree");
            }
        }
        agree("frames going out", going_out, storage.going_out)
    }

    fn check_pages(&self) -> Result<(), String> {
        let storage = &self.storage;
        let mut resident = vec![0; storage.accounts.len()];
        let mut slots = Vec::with_capacity(storage.pages.len());
        for (number, page) in (0_u32..).zip(&storage.pages) {
            resident[page.owner as usize] += u32::from(page.present);
            if page.frame != NONE && storage.frames[page.frame as usize].page != number {
                return Err(format!("page {number}: its frame has another"));
            }
            if page.slot != NONE {
                slots.push(page.slot);
                if !storage.areas.is_taken(page.slot) {
                    return Err(format!("page {number}: its slot is free"));
                }
            }
        }
        let held = slots.len() as u32;
        slots.sort_unstable();
        slots.dedup();
        agree("slots held by one page", slots.len() as u32, held)?;
        agree("slots in use", storage.areas.used(), held)?;
        let mut in_queue = 0;
        for (user, account) in storage.accounts.iter().enumerate() {
            agree(
                &format!("resident pages of user {user}"),
                resident[user],
                account.resident,
            )?;
            in_queue += if account.in_queue { account.resident } else { 0 };
        }
        agree("pages of users in queue", in_queue, storage.in_queue_pages)
    }

    fn check_sios(&self) -> Result<(), String> {
        let storage = &self.storage;
        let moving = storage.sios.open().map(|sio| sio.frames().count()).sum::<usize>();
        let moves = |state, writing| state == State::ComingIn || writing;
        let frames = storage
            .frames
            .iter()
            .filter(|frame| moves(frame.state, frame.writing));
        agree("pages on their way", moving as u32, frames.count() as u32)?;
        let open = storage.sios.open().count() as u32;
        agree(
            "start-I/Os",
            open,
            storage.sios.outstanding + storage.sios.ready.len() as u32,
        )
    }
}

fn agree(what: &str, found: u32, wanted: u32) -> Result<(), String> {
    match found == wanted {
        true => Ok(()),
        false => Err(format!("{what}: {found} counted, {wanted} in the books")),
    }
}
