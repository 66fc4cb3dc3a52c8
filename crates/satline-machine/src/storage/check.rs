//! Conservation: every frame is in one place, every slot holds one page at most, and sums agree.

use std::fmt::Display;

use super::Memory;
use super::bits::Bits;
use super::chain::NONE;
use super::frames::{Account, State};

impl Memory {
    /// Checks all of storage; costs a pass over frames and pages.
    ///
    /// # Errors
    /// What does not agree: a mistake of the program.
    pub fn check(&self) -> Result<(), String> {
        self.check_frames()?;
        self.check_pages()?;
        self.check_sios()?;
        self.check_counts()?;
        self.check_waiting()?;
        self.storage.areas.check_blocks()?;
        self.replacement.check(&self.storage)
    }

    /// How often each program is among those who wait for a page, be it on its way or without a frame yet: at most once.
    pub fn waiting(&self) -> Vec<u32> {
        let storage = &self.storage;
        let mut found = vec![0; storage.programs.len()];
        storage.short.iter().for_each(|&user| found[user as usize] += 1);
        for &first in &storage.waiters {
            let next = |user: &u32| Some(storage.accounts.get(*user as usize)?.next_waiter);
            let chain = std::iter::successors(Some(first), next);
            // A chain that never ended would go through some user twice.
            for user in chain.take_while(|&user| user != NONE).take(found.len() + 1) {
                found[user as usize] += 1;
            }
        }
        found
    }

    /// Nobody waits for a frame that could be had, nor for one that brings nothing.
    fn check_waiting(&self) -> Result<(), String> {
        let storage = &self.storage;
        for (number, (frame, &waiter)) in storage.frames.iter().zip(&storage.waiters).enumerate() {
            if waiter != NONE && frame.state != State::ComingIn {
                return Err(format!("frame {number}: somebody waits for it: {frame:?}"));
            }
        }
        for &user in &storage.short {
            if storage.accounts[user as usize].wants == NONE {
                return Err(format!("user {user} waits for a frame and wants no page"));
            }
        }
        if storage.short.is_empty() || storage.loosened {
            return Ok(());
        }
        agree("frames free while users wait for one", storage.free.len(), 0)?;
        let full = storage.areas.open_tier().is_none();
        match storage.frames.iter().position(|frame| frame.takeable()) {
            Some(frame) if storage.is_still() && !full => Err(format!(
                "users wait for a frame, nothing is on its way, and frame {frame} can be taken"
            )),
            _ => Ok(()),
        }
    }

    /// What was read and written: by user, shared pages' owner included, by device, and in all.
    fn check_counts(&self) -> Result<(), String> {
        let storage = &self.storage;
        let of_users = |count: fn(&Account) -> u64| storage.accounts.iter().map(count).sum::<u64>();
        let of_devices = |at: usize| storage.by_device.iter().map(|counts| counts[at]).sum::<u64>();
        let counts = &storage.counts;
        let frames = storage.frames.iter().filter(|frame| frame.page != NONE);
        let ahead = frames.filter(|frame| storage.ahead.get(frame.page)).count() as u64;
        if ahead + counts.ahead_used + counts.ahead_wasted != counts.ahead {
            return Err(format!("{ahead} frames have pages read ahead: {counts:?}"));
        }
        for (what, users, devices, all) in [
            (
                "page reads",
                of_users(|account| account.page_reads),
                of_devices(1),
                counts.page_reads,
            ),
            (
                "page writes",
                of_users(|account| account.page_writes),
                of_devices(2),
                counts.page_writes,
            ),
        ] {
            if users != all || devices != all {
                return Err(format!("{what}: {all}, by user {users}, by device {devices}"));
            }
        }
        Ok(())
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
            if page.frame != number || storage.present.get(frame.page) != (frame.state == State::Used) {
                return wrong("its page does not agree");
            }
            if frame.state == State::GoingOut && !frame.writing {
                return wrong("it goes out and is not written");
            }
            if matches!(frame.state, State::Free | State::ComingIn) && frame.writing {
                return wrong("it is written where it cannot be");
            }
            if frame.state == State::Free && (storage.changed.get(frame.page) || page.slot == NONE) {
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
        let mut slots = Bits::new(storage.areas.slots() as usize);
        let mut held = 0;
        for (number, page) in (0_u32..).zip(&storage.pages) {
            resident[page.owner as usize] += u32::from(storage.present.get(number));
            if page.frame != NONE && storage.frames[page.frame as usize].page != number {
                return Err(format!("page {number}: its frame has another"));
            }
            if page.slot != NONE {
                held += 1;
                if slots.get(page.slot) {
                    return Err(format!("page {number}: its slot has another too"));
                }
                slots.set(page.slot, true);
                if !storage.areas.is_taken(page.slot) {
                    return Err(format!("page {number}: its slot is free"));
                }
            }
        }
        agree("slots in use", storage.areas.used(), held)?;
        let mut in_queue = 0;
        for (user, account) in storage.accounts.iter().enumerate() {
            agree(
                format_args!("resident pages of user {user}"),
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

fn agree(what: impl Display, found: u32, wanted: u32) -> Result<(), String> {
    match found == wanted {
        true => Ok(()),
        false => Err(format!("{what}: {found} counted, {wanted} in the books")),
    }
}
