//! A machine: processors, storage, the control program's figures, devices on their paths.

use satline_program::Error;

use super::free_storage::FreeStoragePlan;
use super::multiprocessor::{LockPlan, Multiprocessor};
use super::peers::Peers;
use super::swapping::{Purpose, SwappingPlan};
use crate::devices::DeviceModel;
use crate::engine::Span;

/// A machine file, checked.
#[derive(Debug, Clone)]
pub struct Machine {
    pub name: String,
    pub note: String,
    pub processors: Processors,
    /// `None`: processors are alike and share all there is.
    pub multiprocessor: Option<Multiprocessor>,
    /// Of the control program; none: nothing is guarded.
    pub locks: Vec<LockPlan>,
    /// `None`: what the control program asks of its own storage is a part of its paths.
    pub free_storage: Option<FreeStoragePlan>,
    pub storage: StorageFigures,
    pub scheduler: SchedulerFigures,
    pub costs: Costs,
    pub paging: PagingPlan,
    /// `None`: nothing is swapped.
    pub swapping: Option<SwappingPlan>,
    pub policies: Policies,
    /// In the order of the file; a device's place here is its number everywhere.
    pub devices: Vec<DeviceUnit>,
    /// Keys of figures without a known source: what rests on them says so.
    pub unverified: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Processors {
    pub count: u32,
    /// Of one processor, relative to the 370/158-3.
    pub speed: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageFigures {
    /// Frames that hold users' pages, shared ones included: main storage less what is fixed.
    pub pageable_frames: u32,
    /// For the recording: bytes of main storage.
    pub bytes: u64,
    /// The free list is refilled when it has fewer frames than this plus the multiprogramming level (MPL + 1 at base).
    pub free_list_minimum: u32,
}

/// When users get in and how long they stay. Times are virtual or total CPU time of the user on this machine's processor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SchedulerFigures {
    /// Total CPU time after which a Q1 user becomes a Q2 candidate.
    pub q1_slice: Span,
    /// Total CPU time of one stay in Q2.
    pub q2_slice: Span,
    /// CPU time between two places in the dispatch list.
    pub quantum: Span,
    /// The next quantum of a user who did no I/O in the last is so many times longer (classic VM: 4).
    pub compute_bound_factor: u32,
    /// After so many quanta in a row without I/O, that is (classic VM: 1; [TB84], a change for attached processors: 2).
    pub compute_bound_after: u32,
    /// Q1 candidates are admitted against available frames times this (classic: 1.25).
    pub q1_frames_factor: f64,
    /// At most so many users in queue (Q1 + Q2); `None`: no cap.
    pub mpl_cap: Option<u32>,
    /// At most so many users in Q2; `None`: no cap.
    pub q2_cap: Option<u32>,
    /// Least projected working set, pages.
    pub minimum_working_set: u32,
    /// `None`: admission does not look at the paging rate.
    pub paging_rate: Option<PagingRate>,
    /// The projection is multiplied by this: below 1 it underestimates, above 1 it overestimates.
    pub projection_factor: f64,
}

/// The paging rate by which users are admitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PagingRate {
    /// Pages read per second.
    pub limit_per_s: f64,
    /// It is measured over so long.
    pub interval: Span,
    /// The control program divides it by the number of processors: the fault of attached processors [TB84].
    pub divided: bool,
}

/// Processor time of the control program's paths, on this machine; charged to the user for whom it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Costs {
    /// Putting a user on a processor, the search of the list included.
    pub dispatch: Span,
    /// A page fault up to the start of its I/O.
    pub page_fault: Span,
    /// The end of a page-in: interrupt, page table.
    pub page_in_end: Span,
    /// Starting one page-out start-I/O and taking its interrupt.
    pub page_out: Span,
    /// A user's start-I/O: translation of the channel program, simulation.
    pub user_io_start: Span,
    /// Its interrupt, reflected to the user.
    pub user_io_end: Span,
    pub queue_add: Span,
    pub queue_drop: Span,
    /// For every resident page at queue-add and queue-drop.
    pub queue_page: Span,
    /// For every frame that the replacement policy looks at.
    pub scan_frame: Span,
    /// A frame given back that was still on the free or flush list.
    pub reclaim: Span,
    /// For every resident shared page at a switch to a different user.
    pub shared_page_check: Span,
    /// Any other privileged instruction: simulated for the user at this cost.
    pub simulation: Span,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PagingPlan {
    /// Where pages are kept, in order of preference: fast devices first.
    pub areas: Vec<PageArea>,
    /// The most pages that requests on one cylinder of a device's queue share in one start-I/O; 1: never.
    pub most_pages_per_sio: u32,
    /// A page that leaves storage is written also if it is unchanged, and its old slot is freed.
    pub write_unchanged: bool,
    pub periodic_scan: Option<PeriodicScan>,
    pub peers: Peers,
}

/// A scan beside the replacement's, for pages that belong to no user in queue [T87].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeriodicScan {
    pub interval: Span,
    /// Of the pageable frames, looked at each time.
    pub part: f64,
}

/// A part of a device that holds pages.
#[derive(Debug, Clone, PartialEq)]
pub struct PageArea {
    /// Its place in [`Machine::devices`].
    pub device: usize,
    pub first_cylinder: u32,
    pub cylinders: u32,
    /// Page-outs go to areas of the lowest tier that has a free slot; 0 is the fast one.
    pub tier: u32,
    pub purpose: Purpose,
}

/// The involuntary drops that a machine file can name, the default first.
pub const INVOLUNTARY_DROPS: [&str; 2] = ["never", "outgrown"];

/// The queue-drop of a machine file that names none.
pub const QUEUE_DROP_DEFAULT: &str = "reset-bits";

/// Names of the policies' tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policies {
    pub replacement: String,
    pub page_out_device: String,
    pub slot: String,
    pub queue_drop: String,
    pub admission: String,
    pub dispatch: String,
    /// Of table `[scheduler]`.
    pub involuntary_drop: String,
}

#[derive(Debug, Clone)]
pub struct DeviceUnit {
    pub name: String,
    pub model: DeviceModel,
    pub role: Role,
    /// (control unit, channel), the preferred first.
    pub paths: Vec<(u16, u16)>,
}

/// What a device is for; one that holds page areas and files is `Both`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Paging,
    Files,
    Both,
}

impl SchedulerFigures {
    /// Names, lengths, and what each must exceed with so many shared pages in storage: a quantum covers a dispatch, a stay
    /// in queue its queue-add and one page that is waited for, with a dispatch before and after.
    pub fn least(&self, costs: &Costs, shared_pages: u32) -> [(&'static str, Span, Span); 3] {
        let dispatch = costs.dispatch + costs.shared_page_check * u64::from(shared_pages);
        let stay = costs.queue_add + dispatch + costs.page_fault + costs.page_in_end + dispatch;
        [
            ("quantum", self.quantum, dispatch),
            ("q1_slice", self.q1_slice, stay),
            ("q2_slice", self.q2_slice, stay),
        ]
    }
}

impl Machine {
    /// What this machine leaves out of a multiprocessor, one phrase each; nothing of one with a single processor.
    pub fn not_modelled(&self) -> Vec<&'static str> {
        if self.processors.count <= 1 {
            return Vec::new();
        }
        let mut missing = Vec::new();
        if self.locks.is_empty() {
            missing.push("the control program has no locks");
        }
        if self.multiprocessor.is_none() {
            missing.push("I/O starts and is interrupted on any processor");
            missing.push("a better user takes any processor at once");
        }
        missing
    }

    /// Slices and the quantum are long enough when so many pages are shared.
    ///
    /// # Errors
    /// One is not.
    pub fn covers(&self, shared_pages: u32) -> Result<(), Error> {
        let resident = shared_pages.min(self.storage.pageable_frames);
        let least = self.scheduler.least(&self.costs, resident);
        match least.into_iter().find(|(_, length, least)| length <= least) {
            Some((name, length, least)) => Err(Error::input(
                format!(
                    "machine {:?}: {name} is {:.3} ms, and the control program's paths alone take {:.3} ms with {resident} shared \
                     pages in storage",
                    self.name,
                    length.ns() as f64 * 1e-6,
                    least.ns() as f64 * 1e-6
                ),
                "users would get nowhere: give longer slices, shorter paths in [costs], or fewer shared pages",
            )),
            None => Ok(()),
        }
    }
}
