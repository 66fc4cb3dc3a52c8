//! The policy file: whom to watch, when to act, and how much at most.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::SwapperError;

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
    /// A stay that touched less than this share of the recorded working set adds to it and does not replace it.
    pub short_stay_share: f64,
}

impl Default for QueueDrop {
    fn default() -> Self {
        QueueDrop {
            idle_seconds: 10.0,
            short_stay_share: 0.25,
        }
    }
}

/// An amount of storage: bytes, or a share (up to 1) of what there is.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Amount {
    Bytes(u64),
    Share(f64),
    Text(SizeText),
}

/// Text such as `256 MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct SizeText(pub u64);

impl TryFrom<String> for SizeText {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is not an amount; write bytes, a share up to 1.0, or text like \"256 MiB\"");
        let digits = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let number: f64 = text[..digits].parse().map_err(|_| wrong())?;
        let unit = match text[digits..].trim() {
            "" | "B" => 1.0,
            "KiB" | "K" => 1024.0,
            "MiB" | "M" => 1024.0 * 1024.0,
            "GiB" | "G" => 1024.0 * 1024.0 * 1024.0,
            "kB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            _ => return Err(wrong()),
        };
        Ok(SizeText((number * unit) as u64))
    }
}

impl From<SizeText> for String {
    fn from(size: SizeText) -> String {
        size.0.to_string()
    }
}

impl Amount {
    /// In bytes, where `total_bytes` is the whole.
    pub fn bytes(self, total_bytes: u64) -> u64 {
        match self {
            Amount::Bytes(bytes) | Amount::Text(SizeText(bytes)) => bytes,
            Amount::Share(share) => (share * total_bytes as f64) as u64,
        }
    }

    fn is_possible(self) -> bool {
        !matches!(self, Amount::Share(share) if !(0.0..=1.0).contains(&share))
    }
}

/// `[storage]`: when storage is short.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Storage {
    /// Free storage below which idle users are swapped out.
    pub low: Amount,
    /// Free storage at which that ends.
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
            set_pages: 64,
            trim: true,
            bytes_per_second: Amount::Bytes(256 << 20),
            ios_per_second: 20_000,
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
    /// Reads and checks a policy file.
    ///
    /// # Errors
    /// `Input`, with the file, the place and the remedy.
    pub fn read(path: &Path) -> Result<Self, SwapperError> {
        const HINT: &str = "`satline swapper explain --policy FILE` says what every key means";
        let text = std::fs::read_to_string(path)
            .map_err(|error| SwapperError::input(format!("{}: {error}", path.display()), HINT))?;
        let policy: Policy = toml::from_str(&text)
            .map_err(|error| SwapperError::input(format!("{}: {error}", path.display()), HINT))?;
        policy
            .check()
            .map_err(|wrong| SwapperError::input(format!("{}: {wrong}", path.display()), HINT))?;
        Ok(policy)
    }

    /// What is wrong with it, if something is: the key and why.
    ///
    /// # Errors
    /// The first value that cannot be.
    pub fn check(&self) -> Result<(), String> {
        if self.watch.is_empty() {
            return Err("watch: there is no [[watch]], so there is nobody to swap".into());
        }
        for (index, watch) in self.watch.iter().enumerate() {
            watch
                .check()
                .map_err(|wrong| format!("watch {}: {wrong}", index + 1))?;
        }
        let shares = [
            ("activity.cpu_share", self.activity.cpu_share),
            ("queue_drop.short_stay_share", self.queue_drop.short_stay_share),
            (
                "prepage.share_of_free_storage",
                self.prepage.share_of_free_storage,
            ),
            ("give_up.prepage_error_share", self.give_up.prepage_error_share),
            ("tiers.full_share", self.tiers.full_share),
            (
                "storage.pressure_share",
                self.storage.pressure_share.unwrap_or(0.5),
            ),
        ];
        for (key, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("{key}: {share} is not a share from 0 to 1"));
            }
        }
        let times = [
            (
                "queue_drop.idle_seconds",
                self.queue_drop.idle_seconds,
                0.5,
                86_400.0,
            ),
            (
                "activity.rescan_seconds",
                self.activity.rescan_seconds,
                0.1,
                3600.0,
            ),
            ("activity.tick_ms", self.activity.tick_ms as f64 / 1e3, 0.02, 10.0),
            ("give_up.retry_seconds", self.give_up.retry_seconds, 1.0, 1e7),
            ("safety.action_seconds", self.safety.action_seconds, 0.1, 3600.0),
            ("tiers.cold_seconds", self.tiers.cold_seconds, 1.0, 1e7),
        ];
        for (key, seconds, least, most) in times {
            if !(least..=most).contains(&seconds) {
                return Err(format!("{key}: {seconds} s is not between {least} and {most} s"));
            }
        }
        let amounts = [
            ("storage.low", self.storage.low),
            ("storage.high", self.storage.high),
            ("safety.swap_reserve", self.safety.swap_reserve),
        ];
        for (key, amount) in amounts {
            if !amount.is_possible() {
                return Err(format!("{key}: a share must be from 0 to 1"));
            }
        }
        // Both of one kind or not, a common whole tells.
        let whole = 1 << 40;
        if let (Amount::Share(_), Amount::Share(_)) | (Amount::Bytes(_), Amount::Bytes(_)) =
            (self.storage.low, self.storage.high)
        {
            if self.storage.high.bytes(whole) < self.storage.low.bytes(whole) {
                return Err("storage.high: it is below storage.low".into());
            }
        }
        let rates = [
            ("swap_out.bytes_per_second", self.swap_out.bytes_per_second),
            ("prepage.bytes_per_second", self.prepage.bytes_per_second),
        ];
        for (key, rate) in rates {
            if matches!(rate, Amount::Share(_)) || rate.bytes(0) < 1 << 16 {
                return Err(format!("{key}: write bytes, at least 65536"));
            }
        }
        if self.swap_out.ios_per_second == 0 || self.prepage.ios_per_second == 0 {
            return Err("ios_per_second: it must be at least 1; to read nothing write prepage.sets = 0 and rest = \"demand\"".into());
        }
        if !(1..=65_536).contains(&self.swap_out.set_pages) {
            return Err(format!(
                "swap_out.set_pages: {} is not between 1 and 65536",
                self.swap_out.set_pages
            ));
        }
        if self.prepage.gap_pages > 1024 {
            return Err("prepage.gap_pages: it is above 1024".into());
        }
        if let Some(whole) = &self.prepage.whole {
            for (key, amount) in [
                ("max_bytes", whole.max_bytes),
                ("device_bytes_per_second", whole.device_bytes_per_second),
            ] {
                if matches!(amount, Amount::Share(_)) || amount.bytes(0) == 0 {
                    return Err(format!("prepage.whole.{key}: write bytes"));
                }
            }
        }
        for name in &self.tiers.zram {
            if !name.starts_with("zram") || !name[4..].bytes().all(|b| b.is_ascii_digit()) || name.len() == 4
            {
                return Err(format!("tiers.zram: {name:?} is not the name of a zram device"));
            }
        }
        Ok(())
    }
}

impl Watch {
    fn check(&self) -> Result<(), String> {
        let said = [
            self.cgroup.is_some(),
            self.pid_file.is_some(),
            self.parent_pid.is_some(),
            self.pid.is_some(),
            self.command.is_some(),
        ];
        if said.iter().filter(|&&said| said).count() != 1 {
            return Err("write exactly one of cgroup, pid_file, parent_pid, pid, command".into());
        }
        if self.uid.is_some() && self.command.is_none() {
            return Err("uid goes with command only".into());
        }
        if let Some(path) = &self.cgroup {
            if !path.starts_with('/') || path.split('/').any(|part| part == "..") {
                return Err(format!(
                    "cgroup: {path:?} must be a path from the root of its hierarchy, without `..`"
                ));
            }
        }
        if self.pid.is_some_and(|pid| pid <= 1) || self.parent_pid.is_some_and(|pid| pid < 1) {
            return Err("process 1 is never swapped".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Policy, String> {
        let policy: Policy = toml::from_str(text).map_err(|error| error.to_string())?;
        policy.check().map(|()| policy)
    }

    const WATCH: &str = "[[watch]]\npid = 100\n";

    #[test]
    fn everything_but_whom_to_watch_has_a_default() {
        let policy = parse(WATCH).unwrap();
        assert_eq!(policy.queue_drop, QueueDrop::default());
        assert_eq!(policy.prepage.whole, None);
    }

    #[test]
    fn amounts_are_bytes_shares_or_text() {
        let policy = parse(&format!(
            "{WATCH}[storage]\nlow = 1000\nhigh = 0.5\n[swap_out]\nbytes_per_second = \"64 MiB\"\n"
        ))
        .unwrap();
        assert_eq!(policy.storage.low.bytes(4000), 1000);
        assert_eq!(policy.storage.high.bytes(4000), 2000);
        assert_eq!(policy.swap_out.bytes_per_second.bytes(0), 64 << 20);
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_key() {
        for (text, key) in [
            ("[queue_drop]\nidle_seconds = 0.0\n", "queue_drop.idle_seconds"),
            ("[queue_drop]\nidle_second = 3\n", "idle_second"),
            ("[storage]\nlow = 0.5\nhigh = 0.2\n", "storage.high"),
            ("[storage]\nlow = 1.5\n", "storage.low"),
            ("[storage]\nlow = \"many\"\n", "low"),
            ("[swap_out]\norder = \"random\"\n", "order"),
            ("[swap_out]\nset_pages = 0\n", "swap_out.set_pages"),
            (
                "[prepage]\nshare_of_free_storage = nan\n",
                "prepage.share_of_free_storage",
            ),
            (
                "[prepage]\nwhole = { max_bytes = 5 }\n",
                "device_bytes_per_second",
            ),
            (
                "[give_up]\nprepage_error_share = -0.1\n",
                "give_up.prepage_error_share",
            ),
            ("[tiers]\nzram = [\"../sda\"]\n", "tiers.zram"),
            ("[[watch]]\npid = 1\n", "watch 2"),
            ("[[watch]]\ncgroup = \"/a/../b\"\n", "watch 2"),
            ("[[watch]]\npid = 5\ncommand = \"x\"\n", "watch 2"),
        ] {
            let wrong = parse(&format!("{WATCH}{text}")).unwrap_err();
            assert!(wrong.contains(key), "{text}: {wrong}");
        }
        assert!(parse("").is_err());
    }
}
