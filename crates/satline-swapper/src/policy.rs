//! The policy file: whom to watch, when to act, and how much at most.

use std::path::{Path, PathBuf};

use satline_program::Error;
use serde::{Deserialize, Serialize};

pub use crate::amount::Amount;

/// The whole policy. Every part has defaults but `watch`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    pub watch: Vec<Watch>,
    #[serde(default)]
    pub allow: Allow,
    #[serde(default)]
    pub activity: Activity,
    #[serde(default)]
    pub queue_drop: QueueDrop,
    #[serde(default)]
    pub storage: Storage,
    #[serde(default)]
    pub swap_out: SwapOut,
    #[serde(default)]
    pub admission: Admission,
    #[serde(default)]
    pub prepage: Prepage,
    #[serde(default)]
    pub give_up: GiveUp,
    #[serde(default)]
    pub tiers: Tiers,
    #[serde(default)]
    pub safety: Safety,
}

/// `[[watch]]`: one kind of user; exactly one of the first five keys.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// Control groups by path, `*` for any name at one place; each that matches is a user.
    pub cgroup: Option<String>,
    /// A file of lines `PID` or `PID<TAB>USER`; each with its descendants is a user.
    pub pid_file: Option<PathBuf>,
    /// Every child of this process is a user, with its descendants.
    pub parent_pid: Option<i32>,
    /// This process with its descendants is a user.
    pub pid: Option<i32>,
    /// Every process of this name is a user, with its descendants; `uid` may narrow it.
    pub command: Option<String>,
    /// With `command`: only processes of this user id.
    pub uid: Option<u32>,
    /// Whether these users wait for answers; absent: they do where they have a terminal.
    pub interactive: Option<bool>,
    /// The same as in `[activity]`, for these users; absent: as there.
    pub cpu_share: Option<f64>,
    /// Likewise.
    pub cpu_burst_us: Option<u64>,
    /// Likewise.
    pub faults: Option<u64>,
}

/// `[allow]`: processes that may be acted on at all.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Allow {
    /// Effective user ids; absent: any.
    pub uids: Option<Vec<u32>>,
}

/// `[activity]`: what counts as work of a user.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Activity {
    /// Time between two looks, ms.
    pub tick_ms: u64,
    /// Time between two searches for users and processes, s.
    pub rescan_seconds: f64,
    /// Processor time, as a share of one processor, that an idle user may go on using (heartbeats).
    pub cpu_share: f64,
    /// Processor time above that share that ends idleness, µs.
    pub cpu_burst_us: u64,
    /// Faults of a swapped user that mean that he is back, within one second.
    pub faults: u64,
    /// `all`: faults count when they begin; `major`: when their read is done.
    pub fault_event: FaultEvent,
}

/// Which faults are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultEvent {
    All,
    Major,
}

impl Default for Activity {
    fn default() -> Self {
        Activity {
            tick_ms: 250,
            rescan_seconds: 5.0,
            cpu_share: 0.005,
            cpu_burst_us: 3000,
            faults: 2,
            fault_event: FaultEvent::All,
        }
    }
}

/// `[queue_drop]`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueueDrop {
    /// Idleness after which a stay is over, s.
    pub idle_seconds: f64,
    /// A stay that touched less than this share of what earlier stays touched and was outside adds to the working set and does not
    /// replace it.
    pub short_stay_share: f64,
    /// Pages that each of so many stays touched, the last ones that could tell, are the working set.
    pub working_set_stays: usize,
}

impl Default for QueueDrop {
    fn default() -> Self {
        QueueDrop {
            idle_seconds: 10.0,
            short_stay_share: 0.25,
            working_set_stays: 2,
        }
    }
}

/// `[storage]`: when storage is short.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Storage {
    /// Free storage below which idle users are swapped out.
    pub low: Amount,
    /// Free storage at which that ends at the latest; of all but cold pages only as much goes as others may ask for.
    pub high: Amount,
    /// The control group whose limit and usage count; absent: the whole host.
    pub cgroup: Option<String>,
    /// Share of the last two seconds in which tasks waited for storage, above which it is short too; absent: not watched.
    pub pressure_share: Option<f64>,
}

impl Default for Storage {
    fn default() -> Self {
        Storage {
            low: Amount::Share(0.10),
            high: Amount::Share(0.20),
            cgroup: None,
            pressure_share: None,
        }
    }
}

/// `[swap_out]`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct SwapOut {
    /// `address`: in order of virtual address, the working set apart; `kernel`: nothing is written out, reclaim does it.
    pub order: Order,
    /// The same for users of whom no working set is known yet.
    pub unknown: Order,
    /// Pages of a swap set.
    pub set_pages: u64,
    /// Pages outside the working set go first.
    pub trim: bool,
    /// Most bytes written in a second.
    pub bytes_per_second: Amount,
    /// Most writes in a second, a run counted as one.
    pub ios_per_second: u64,
}

/// Who writes pages out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    Address,
    Kernel,
}

impl Default for SwapOut {
    fn default() -> Self {
        SwapOut {
            order: Order::Address,
            unknown: Order::Kernel,
            set_pages: 64,
            trim: true,
            bytes_per_second: Amount::Bytes(256 << 20),
            ios_per_second: 20_000,
        }
    }
}

/// `[admission]`: who comes back is held while his working set does not fit beside those of the users in the queue.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Admission {
    /// Longest time for which one return is held, s; 0: nobody is held.
    pub hold_seconds: f64,
    /// Share of storage that the working sets of the users in the queue may fill.
    pub storage_share: f64,
}

impl Default for Admission {
    fn default() -> Self {
        Admission {
            hold_seconds: 0.0,
            storage_share: 0.5,
        }
    }
}

/// `[prepage]`: what is read at queue-add. Never more than the recorded working set, unless `[prepage.whole]` says so.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Prepage {
    /// Swap sets read at once; 0: none.
    pub sets: u64,
    /// The other sets: `paced`: read one by one; `touched`: read when one of their pages is touched; `demand`: not read.
    pub rest: Rest,
    /// Most bytes read in a second.
    pub bytes_per_second: Amount,
    /// Most reads in a second, a run counted as one.
    pub ios_per_second: u64,
    /// Most of the free storage that one resume may fill.
    pub share_of_free_storage: f64,
    /// Gaps up to so many swapped pages between two runs are read too: one longer read instead of two.
    pub gap_pages: u64,
    /// Prepage also where all swap is compressed storage: there a page costs processor time, and next to no wait.
    pub from_compressed: bool,
    /// Reading more than the working set; absent: never.
    pub whole: Option<Whole>,
}

/// What becomes of the sets that are not read at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rest {
    Paced,
    Touched,
    Demand,
}

impl Default for Prepage {
    fn default() -> Self {
        Prepage {
            sets: 128,
            rest: Rest::Paced,
            bytes_per_second: Amount::Bytes(128 << 20),
            ios_per_second: 5_000,
            share_of_free_storage: 0.5,
            gap_pages: 0,
            from_compressed: false,
            whole: None,
        }
    }
}

/// `[prepage.whole]`: read everything a user has outside when, by these measured figures of the device, that takes less time
/// than the working set alone: bytes ÷ bandwidth < runs × service time. All keys are required.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Whole {
    /// Upper bound: a user with more outside is never read whole.
    pub max_bytes: Amount,
    /// Measured: bytes that the device reads in a second in long reads.
    pub device_bytes_per_second: Amount,
    /// Measured: time of one small read, µs.
    pub device_service_us: u64,
}

/// `[give_up]`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct GiveUp {
    /// Share of prepaged pages that were not touched, above which a user is left alone.
    pub prepage_error_share: f64,
    /// Stays with prepaging before that is judged.
    pub stays: u64,
    /// After this time he is tried again, s.
    pub retry_seconds: f64,
}

impl Default for GiveUp {
    fn default() -> Self {
        GiveUp {
            prepage_error_share: 0.5,
            stays: 3,
            retry_seconds: 3600.0,
        }
    }
}

/// `[tiers]`: migration of the coldest pages from compressed storage to the device behind it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tiers {
    /// zram devices whose idle pages are written back, such as `zram0`; absent or empty: none.
    pub zram: Vec<String>,
    /// A page that nobody read for so long is cold, s.
    pub cold_seconds: f64,
    /// Migration begins when the device is this full.
    pub full_share: f64,
}

impl Default for Tiers {
    fn default() -> Self {
        Tiers {
            zram: Vec::new(),
            cold_seconds: 600.0,
            full_share: 0.7,
        }
    }
}

/// `[safety]`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Safety {
    /// Free swap below which nothing is written out.
    pub swap_reserve: Amount,
    /// Longest time of one action; a user whose action takes longer is left alone, s.
    pub action_seconds: f64,
    /// Keep the swapper itself in storage.
    pub lock_memory: bool,
}

impl Default for Safety {
    fn default() -> Self {
        Safety {
            swap_reserve: Amount::Share(0.05),
            action_seconds: 30.0,
            lock_memory: true,
        }
    }
}

impl Policy {
    /// What counts as work of the users whom this `[[watch]]` names.
    pub fn activity_of(&self, watch: usize) -> Activity {
        let mut activity = self.activity.clone();
        if let Some(watch) = self.watch.get(watch) {
            activity.cpu_share = watch.cpu_share.unwrap_or(activity.cpu_share);
            activity.cpu_burst_us = watch.cpu_burst_us.unwrap_or(activity.cpu_burst_us);
            activity.faults = watch.faults.unwrap_or(activity.faults);
        }
        activity
    }

    /// Reads and checks a policy file.
    ///
    /// # Errors
    /// It cannot be read or used, with the file, the place and the remedy.
    pub fn read(path: &Path) -> Result<Self, Error> {
        const HINT: &str = "`satline swapper explain --policy FILE` says what every key means";
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::input(format!("{}: {error}", path.display()), HINT))?;
        let policy: Policy = toml::from_str(&text)
            .map_err(|error| Error::input(format!("{}: {error}", path.display()), HINT))?;
        policy
            .check()
            .map_err(|wrong| Error::input(format!("{}: {wrong}", path.display()), HINT))?;
        Ok(policy)
    }
}
