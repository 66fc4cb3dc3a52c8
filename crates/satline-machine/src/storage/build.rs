//! Making storage from a machine and a workload.

use std::collections::VecDeque;

use satline_program::Error;

use super::Memory;
use super::areas::Areas;
use super::bits::{Bits, Sharers};
use super::chain::{Chain, NONE};
use super::core::{Counts, Storage, Work};
use super::decisions::{Decisions, Setup};
use super::frames::{Account, Frame, Page};
use super::memory::threshold;
use super::migration::Migration;
use super::periodic_scan::PeriodicScan;
use super::prefetch::Prefetch;
use super::readahead::Readahead;
use super::sios::Sios;
use crate::configuration::peers::compressed_frames;
use crate::configuration::{Machine, Workload, programs};
use crate::devices::MAX_PAGES;
use crate::engine::Streams;
use crate::references::{Kind, Program};

impl Memory {
    /// Empty storage for so many users, background programs after them; nobody is in queue.
    ///
    /// # Errors
    /// There are no frames, paging areas are not on their devices, or a figure is impossible.
    pub fn empty(
        machine: &Machine,
        workload: &Workload,
        users: u32,
        streams: &Streams,
        decisions: Decisions<'_>,
    ) -> Result<Self, Error> {
        let compressed = compressed_frames(&machine.paging.peers, &machine.devices, &machine.paging.areas);
        let frames = u64::from(machine.storage.pageable_frames).saturating_sub(compressed) as u32;
        let most_pages_per_sio = machine.paging.most_pages_per_sio as usize;
        check_figures(frames, most_pages_per_sio)?;
        let kinds = Kinds::new(workload, machine.processors.speed)?;
        let all = programs(workload, users);
        let mut books = Books::default();
        all.iter().try_for_each(|of| books.open(of.space_pages))?;
        let shared = workload.shared_pages;
        books.open(shared)?;
        let pages = books.pages.len() as u32;
        let replacement = (decisions.replacement)(Setup {
            frames,
            pages,
            sampling: machine.paging.peers.sampling,
            streams,
        });
        let every_touch = replacement.every_touch();
        let (mut users, mut kind_of) = (Vec::new(), Vec::new());
        for (user, of) in (0..).zip(all) {
            users.push(Program::new(of.space_pages, shared, every_touch, streams, user));
            let first = kinds.first[usize::from(of.class)];
            kind_of.push((first, first));
        }
        let areas = Areas::new(machine, pages, decisions.set_places)?;
        let mut free = Chain::new(frames);
        (0..frames).for_each(|frame| free.push_back(frame));
        let first_places = (0..books.accounts.len() as u64).map(|user| streams.stream(user, "first places"));
        let bits = || Bits::new(pages as usize);
        let storage = Storage {
            frames: vec![Frame::EMPTY; frames as usize],
            waiters: vec![NONE; frames as usize],
            free,
            flush: Chain::new(frames),
            going_out: 0,
            page_out_device: decisions.places.device,
            slot: (decisions.places.slot)(areas.list().len()),
            write_unchanged: machine.paging.write_unchanged,
            block: None,
            sios: Sios::default(),
            first_places: first_places.collect(),
            short: VecDeque::with_capacity(users.len()),
            loosened: false,
            disturbed: Vec::with_capacity(users.len()),
            together: Vec::new(),
            in_queue_pages: 0,
            reserved: 0,
            readahead: (machine.paging.peers.readahead).map(|plan| Readahead::new(plan, users.len())),
            prefetch: (machine.paging.peers.prefetch).map(|plan| Prefetch::new(plan, users.len())),
            compression: machine.paging.peers.compression,
            compressed: (areas.list().iter())
                .map(|area| machine.devices[area.device].model.is_compressed())
                .collect(),
            migration: (machine.paging.peers.migration).map(|plan| Migration::new(plan, pages)),
            work: Work::default(),
            counts: Counts::default(),
            by_device: vec![[0; 3]; machine.devices.len()],
            present: bits(),
            referenced: bits(),
            changed: bits(),
            ahead: bits(),
            sharers: Sharers::new(shared, users.len()),
            page_on: vec![NONE; areas.slots() as usize],
            pages: books.pages,
            areas,
            accounts: books.accounts,
            kinds: kinds.all,
            kind_of,
            programs: users,
        };
        let replacement = (decisions.around)(replacement, &storage);
        let free_list_minimum = machine.storage.free_list_minimum;
        Ok(Self {
            storage,
            replacement,
            queue_drop: decisions.queue_drop,
            periodic_scan: (machine.paging.periodic_scan).map(|plan| PeriodicScan::new(plan, frames)),
            every_touch,
            most_pages_per_sio,
            free_list_minimum,
            threshold: threshold(free_list_minimum, 0, frames),
            overflow: false,
            touched: Vec::new(),
            woken: Vec::new(),
        })
    }
}

/// Transaction kinds of all classes, background programs' after them.
struct Kinds {
    all: Vec<Kind>,
    /// By class.
    first: Vec<u32>,
}

impl Kinds {
    fn new(workload: &Workload, speed: f64) -> Result<Self, Error> {
        let (mut all, mut first) = (Vec::new(), Vec::new());
        let classes = workload
            .classes
            .iter()
            .map(|class| (&class.name, class.space_pages, &class.transactions[..]));
        let background = workload.background.iter();
        let background = background.map(|of| (&of.name, of.space_pages, std::slice::from_ref(&of.kind)));
        for (name, space_pages, kinds) in classes.chain(background) {
            let wrong = |what, hint| Err(Error::input(format!("class {name:?} has no {what}"), hint));
            if kinds.is_empty() {
                return wrong("transactions", "give it at least one kind");
            }
            if space_pages == 0 {
                return wrong("pages: space_pages is 0", "give it at least one page");
            }
            first.push(all.len() as u32);
            for kind in kinds {
                all.push(Kind::new(kind, speed)?);
            }
        }
        Ok(Self { all, first })
    }
}

/// Accounts and pages, owner after owner.
#[derive(Default)]
struct Books {
    accounts: Vec<Account>,
    pages: Vec<Page>,
}

impl Books {
    fn open(&mut self, pages: u32) -> Result<(), Error> {
        let end = self.pages.len() + pages as usize;
        if end >= NONE as usize {
            return Err(Error::input(
                "more than 2³² pages in all",
                "give fewer users, or less space_pages",
            ));
        }
        let page = Page {
            frame: NONE,
            slot: NONE,
            owner: self.accounts.len() as u32,
        };
        self.accounts.push(Account::new(self.pages.len() as u32));
        self.pages.resize(end, page);
        Ok(())
    }
}

fn check_figures(frames: u32, most_pages_per_sio: usize) -> Result<(), Error> {
    if frames == 0 || frames == NONE {
        return Err(Error::input(
            format!("storage.pageable_frames is {frames}"),
            "give at least 1 and less than 2³²",
        ));
    }
    if !(1..=MAX_PAGES).contains(&most_pages_per_sio) {
        return Err(Error::input(
            format!("paging.most_pages_per_sio is {most_pages_per_sio}"),
            format!("give 1 to {MAX_PAGES}"),
        ));
    }
    Ok(())
}
