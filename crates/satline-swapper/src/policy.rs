//! The policy file: whom to watch, when to act, and how much at most. Each key is one line here: its type, its value where
//! a file does not state it, what it may be, and its meaning.

use std::path::{Path, PathBuf};

use satline_program::Error;
use serde::{Deserialize, Serialize};

pub use crate::amount::Amount;
use crate::policy_check::{Is, Key, wrong_in};

/// A part of the policy, with the table of its keys.
macro_rules! part {
    ($(#[$about:meta])* $part:ident {
        $($key:ident: $kind:ty = $default:expr, $is:expr, $meaning:literal;)*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $part {
            $(#[doc = $meaning] pub $key: $kind,)*
        }

        impl $part {
            pub const KEYS: &[Key] = &[$(Key { name: stringify!($key), is: $is, meaning: $meaning },)*];
        }

        impl Default for $part {
            fn default() -> Self {
                $part { $($key: $default,)* }
            }
        }
    };
}

/// A key that has one of a few words.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($variant:ident = $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
        pub enum $name {
            $(#[serde(rename = $word)] $variant,)*
        }

        impl $name {
            pub const WORDS: Is = Is::Words(&[$($word),*]);
        }
    };
}

#[rustfmt::skip]
part! {
    /// The whole policy. Every part has defaults but `watch`.
    Policy {
        watch: Vec<Watch> = Vec::new(), Is::Each(Watch::KEYS), "one kind of user";
        allow: Allow = Allow::default(), Is::Part(Allow::KEYS), "processes that may be acted on at all";
        activity: Activity = Activity::default(), Is::Part(Activity::KEYS), "what counts as work of a user";
        queue_drop: QueueDrop = QueueDrop::default(), Is::Part(QueueDrop::KEYS), "when a stay is over";
        storage: Storage = Storage::default(), Is::Part(Storage::KEYS), "when storage is short";
        swap_out: SwapOut = SwapOut::default(), Is::Part(SwapOut::KEYS), "how pages are written out";
        admission: Admission = Admission::default(), Is::Part(Admission::KEYS),
            "a user that comes back is held while its working set does not fit beside those of the users in the queue";
        prepage: Prepage = Prepage::default(), Is::Part(Prepage::KEYS), "what is read when a user returns";
        give_up: GiveUp = GiveUp::default(), Is::Part(GiveUp::KEYS), "when a user is left alone";
        tiers: Tiers = Tiers::default(), Is::Part(Tiers::KEYS),
            "the coldest pages of compressed storage go to the device behind it";
        safety: Safety = Safety::default(), Is::Part(Safety::KEYS), "bounds";
    }
}

#[rustfmt::skip]
part! {
    /// `[[watch]]`: one kind of user; exactly one of the first five keys.
    Watch {
        cgroup: Option<String> = None, Is::GroupPath, "control groups by path, * for any name; each is a user";
        pid_file: Option<PathBuf> = None, Is::Text,
            "a file of lines PID or PID<TAB>USER; each with its descendants is a user";
        parent_pid: Option<i32> = None, Is::Count(1, i32::MAX as u64),
            "every child of this process is a user, with its descendants";
        // Process 1 is never swapped.
        pid: Option<i32> = None, Is::Count(2, i32::MAX as u64), "this process with its descendants is a user";
        command: Option<String> = None, Is::Text, "every process of this name is a user, with its descendants";
        uid: Option<u32> = None, Is::Count(0, u32::MAX as u64), "with command: only processes of this user id";
        interactive: Option<bool> = None, Is::Flag,
            "whether these users wait for answers; absent: those with a terminal do";
        cpu_share: Option<f64> = None, Is::Share, "as activity.cpu_share, for these users";
        cpu_burst_us: Option<u64> = None, Is::Count(0, MOST), "as activity.cpu_burst_us, for these users";
        faults: Option<u64> = None, Is::Count(1, MOST), "as activity.faults, for these users";
    }
}

#[rustfmt::skip]
part! {
    /// `[allow]`: processes that may be acted on at all.
    Allow {
        uids: Option<Vec<u32>> = None, Is::Ids, "effective user ids; absent: any";
    }
}

#[rustfmt::skip]
part! {
    /// `[activity]`: what counts as work of a user.
    Activity {
        tick_ms: u64 = 250, Is::Count(20, 10_000), "time between two looks, ms";
        rescan_seconds: f64 = 5.0, Is::Seconds(0.1, 3600.0), "time between two searches for users and processes, s";
        cpu_share: f64 = 0.005, Is::Share, "share of a processor that an idle user may go on using (heartbeats)";
        cpu_burst_us: u64 = 3000, Is::Count(0, MOST), "processor time above that share that ends idleness, µs";
        faults: u64 = 2, Is::Count(1, MOST),
            "touches of pages outside, within a second, that mean that the user is back";
        fault_event: FaultEvent = FaultEvent::All, FaultEvent::WORDS,
            "all: a touch counts when it begins; major: when its read is done";
    }
}

words! {
    /// Which faults are counted.
    FaultEvent {
        All = "all",
        Major = "major",
    }
}

#[rustfmt::skip]
part! {
    /// `[queue_drop]`: when a stay is over.
    QueueDrop {
        idle_seconds: f64 = 10.0, Is::Seconds(0.5, 86_400.0), "idleness after which a stay is over, s";
        short_stay_share: f64 = 0.25, Is::Share,
            "a stay that touched less than this share of what earlier stays touched and was outside \
             adds to the working set, and does not replace it";
        working_set_stays: usize = 2, Is::Count(1, 8),
            "the working set is what each of so many stays touched, the last ones that could tell";
    }
}

#[rustfmt::skip]
part! {
    /// `[storage]`: when storage is short.
    Storage {
        low: Amount = Amount::Share(0.10), Is::Amount, "free storage below which idle users are swapped out";
        high: Amount = Amount::Share(0.20), Is::Amount,
            "free storage at which that ends at the latest; of all but cold pages only as much goes as others may ask for";
        cgroup: Option<String> = None, Is::Text,
            "the control group whose limit and usage count; absent: the whole host";
        pressure_share: Option<f64> = None, Is::Share,
            "share of two seconds in which tasks waited for storage, above which it is short too; absent: not watched";
    }
}

#[rustfmt::skip]
part! {
    /// `[swap_out]`: how pages are written out.
    SwapOut {
        order: Order = Order::Address, Order::WORDS,
            "address: in order of virtual address, the working set apart; kernel: nothing is written out, reclaim does it";
        unknown: Order = Order::Kernel, Order::WORDS,
            "who writes out a user of whom no working set is known yet, in the same words";
        set_pages: u64 = 64, Is::Count(1, 65_536), "pages of a swap set";
        trim: bool = true, Is::Flag, "pages outside the working set go first";
        bytes_per_second: Amount = Amount::Bytes(256 << 20), Is::Size(LEAST_RATE), "most bytes written in a second";
        // To write nothing there is `order`.
        ios_per_second: u64 = 20_000, Is::Count(1, MOST), "most writes in a second, a run of pages counted as one";
    }
}

words! {
    /// Who writes pages out.
    Order {
        Address = "address",
        Kernel = "kernel",
    }
}

#[rustfmt::skip]
part! {
    /// `[admission]`: a user that comes back is held while its working set does not fit beside those of the users in the queue.
    Admission {
        hold_seconds: f64 = 0.0, Is::Seconds(0.0, 60.0), "longest time for which one return is held, s; 0: nobody is held";
        storage_share: f64 = 0.5, Is::Share,
            "share of storage that the working sets of the users in the queue may fill";
    }
}

#[rustfmt::skip]
part! {
    /// `[prepage]`: what is read at queue-add. Never more than the recorded working set, unless `[prepage.whole]` says so.
    Prepage {
        sets: u64 = 128, Is::Count(0, MOST), "swap sets read at once; 0: none";
        rest: Rest = Rest::Paced, Rest::WORDS,
            "the other sets: paced: read one by one; touched: a set is read when one of its pages is touched; \
             demand: not read";
        bytes_per_second: Amount = Amount::Bytes(128 << 20), Is::Size(LEAST_RATE), "most bytes read in a second";
        // To read nothing write sets = 0 and rest = "demand".
        ios_per_second: u64 = 5_000, Is::Count(1, MOST), "most reads in a second, a run of pages counted as one";
        share_of_free_storage: f64 = 0.5, Is::Share, "most of the free storage that one return may fill";
        gap_pages: u64 = 0, Is::Count(0, 1024), "gaps up to so many swapped pages between two runs are read too";
        from_compressed: bool = false, Is::Flag,
            "prepage also where all swap is compressed storage: it costs processor time, not waits";
        whole: Option<Whole> = None, Is::Whole(Whole::KEYS), "reading more than the working set; absent: never";
    }
}

words! {
    /// What becomes of the sets that are not read at once.
    Rest {
        Paced = "paced",
        Touched = "touched",
        Demand = "demand",
    }
}

#[rustfmt::skip]
part! {
    /// `[prepage.whole]`: read everything a user has outside when, by these measured figures of the device, that takes less
    /// time than the working set alone: bytes ÷ bandwidth < runs × service time. A file states all of them or none.
    Whole {
        max_bytes: Amount = Amount::Bytes(0), Is::Size(1), "a user with more outside is never read whole";
        device_bytes_per_second: Amount = Amount::Bytes(0), Is::Size(1), "measured: bytes a second of long reads";
        device_service_us: u64 = 0, Is::Count(1, MOST), "measured: time of one small read, µs";
    }
}

#[rustfmt::skip]
part! {
    /// `[give_up]`: when a user is left alone.
    GiveUp {
        prepage_error_share: f64 = 0.5, Is::Share,
            "share of prepaged pages not touched, above which a user is left alone";
        stays: u64 = 3, Is::Count(1, MOST), "stays with prepaging before that is judged";
        retry_seconds: f64 = 3600.0, Is::Seconds(1.0, 1e7), "after this time the user is tried again, s";
    }
}

#[rustfmt::skip]
part! {
    /// `[tiers]`: migration of the coldest pages from compressed storage to the device behind it.
    Tiers {
        zram: Vec<String> = Vec::new(), Is::Zram, "zram devices whose idle pages are written back";
        cold_seconds: f64 = 600.0, Is::Seconds(1.0, 1e7), "a page that nobody read for so long is cold, s";
        full_share: f64 = 0.7, Is::Share, "migration begins when the device is this full";
    }
}

#[rustfmt::skip]
part! {
    /// `[safety]`: bounds.
    Safety {
        swap_reserve: Amount = Amount::Share(0.05), Is::Amount, "free swap space below which nothing is written out";
        action_seconds: f64 = 30.0, Is::Seconds(0.1, 3600.0),
            "a user for whom an action does not get on for so long is left alone, s";
        lock_memory: bool = true, Is::Flag, "keep the swapper itself in storage";
    }
}

/// Of numbers without a bound.
const MOST: u64 = i64::MAX as u64;
/// Of bytes in a second.
const LEAST_RATE: u64 = 1 << 16;

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
    /// It cannot be read or used: all problems at once, each with file, line and key.
    pub fn read(path: &Path) -> Result<Self, Error> {
        const HINT: &str = "`satline swapper explain --policy FILE` says what every key means";
        let shown = path.display();
        let text =
            std::fs::read_to_string(path).map_err(|error| Error::input(format!("{shown}: {error}"), HINT))?;
        Self::parse(&text).map_err(|wrong| {
            let lines: Vec<String> = wrong
                .iter()
                .map(|(line, what)| format!("{shown}:{line}: {what}"))
                .collect();
            Error::input(lines.join("\n"), HINT)
        })
    }

    /// The policy in a text.
    ///
    /// # Errors
    /// All that is wrong: line and words that name the key.
    pub fn parse(text: &str) -> Result<Self, Vec<(usize, String)>> {
        let wrong = wrong_in(text, Policy::KEYS);
        if !wrong.is_empty() {
            return Err(wrong);
        }
        toml::from_str(text).map_err(|error| vec![(1, error.message().to_owned())])
    }

    /// Every key with its meaning, in the order of the file: `prepage.sets`; of a watch `watch.pid`.
    pub fn meanings() -> Vec<(String, &'static str)> {
        fn add(into: &mut Vec<(String, &'static str)>, before: &str, keys: &[Key]) {
            for key in keys {
                let name = format!("{before}{}", key.name);
                match key.is {
                    Is::Each(keys) | Is::Part(keys) => add(into, &format!("{name}."), keys),
                    Is::Whole(keys) => {
                        into.push((name.clone(), key.meaning));
                        add(into, &format!("{name}."), keys);
                    }
                    _ => into.push((name, key.meaning)),
                }
            }
        }
        let mut all = Vec::new();
        add(&mut all, "", Policy::KEYS);
        all
    }
}
