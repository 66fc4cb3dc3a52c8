//! One process that may be acted on: held by a descriptor, so that its number going to another process does no harm.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;

use crate::calls;
use crate::pages::{self, Census, Method};
use crate::roots::Roots;
use crate::runs::{Run, Runs};
use crate::stat::Stat;

/// What the processes of users are opened by.
#[derive(Debug)]
pub struct Process {
    pub pid: i32,
    pub start_ticks: u64,
    /// Changes at an exec.
    pub image: (u64, u64, u64),
    pub pidfd: OwnedFd,
    pagemap: File,
}

impl Process {
    /// Opens a process: first the descriptor, then its page map, then a look whether it still is the one that was meant.
    ///
    /// # Errors
    /// It is gone, another has its number, or we may not look at it.
    pub fn open(roots: &Roots, pid: i32, start_ticks: u64) -> io::Result<Self> {
        let pidfd = calls::pidfd_open(pid)?;
        let pagemap = File::open(roots.of_process(pid, "pagemap"))?;
        let gone = || io::Error::new(io::ErrorKind::NotFound, "another process has its number now");
        let (_, stat) = Stat::read(roots, pid).ok_or_else(gone)?;
        if stat.start_ticks != start_ticks {
            return Err(gone());
        }
        Ok(Process {
            pid,
            start_ticks,
            image: stat.image,
            pidfd,
            pagemap,
        })
    }

    /// Whether it still runs what it ran when it was opened: after an exec its pages are others, and the page map that was
    /// opened shows the old ones.
    pub fn is_same(&self, roots: &Roots) -> bool {
        Stat::read(roots, self.pid)
            .is_some_and(|(_, stat)| stat.start_ticks == self.start_ticks && stat.image == self.image)
    }

    /// Its anonymous pages now.
    ///
    /// # Errors
    /// It is gone.
    pub fn census(&self, roots: &Roots, method: Method, page_bytes: u64) -> io::Result<Census> {
        let maps = fs::read(roots.of_process(self.pid, "maps"))?;
        Census::take(&self.pagemap, &maps, method, page_bytes)
    }

    /// The pages of `wanted` that are outside, in order of their places in swap; none where these cannot be told.
    pub fn in_order_of_place(&self, wanted: &Runs) -> Option<Vec<Run>> {
        pages::in_order_of_place(&self.pagemap, wanted).ok().flatten()
    }
}
