//! What a policy cannot say.

use crate::policy::{Amount, Policy, Watch};

impl Policy {
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
            ("admission.storage_share", self.admission.storage_share),
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
            check_share(key, share)?;
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
            ("admission.hold_seconds", self.admission.hold_seconds, 0.0, 60.0),
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
        if !(1..=8).contains(&self.queue_drop.working_set_stays) {
            return Err(format!(
                "queue_drop.working_set_stays: {} is not between 1 and 8",
                self.queue_drop.working_set_stays
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
        if let Some(share) = self.cpu_share {
            check_share("cpu_share", share)?;
        }
        if self.faults == Some(0) {
            return Err("faults must be 1 or more".into());
        }
        Ok(())
    }
}

fn check_share(key: &str, share: f64) -> Result<(), String> {
    if (0.0..=1.0).contains(&share) {
        return Ok(());
    }
    Err(format!("{key}: {share} is not a share from 0 to 1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::QueueDrop;

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
    fn some_users_may_be_judged_by_figures_of_their_own() {
        let text = "[[watch]]\npid = 9\n[[watch]]\npid = 10\ncpu_share = 0.05\nfaults = 7\n[activity]\ncpu_burst_us = 5\n";
        let policy = parse(text).unwrap();
        let of = |watch| {
            let activity = policy.activity_of(watch);
            (activity.cpu_share, activity.cpu_burst_us, activity.faults)
        };
        assert_eq!((of(0), of(1)), ((0.005, 5, 2), (0.05, 5, 7)));
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_key() {
        for (text, key) in [
            ("[queue_drop]\nidle_seconds = 0.0\n", "queue_drop.idle_seconds"),
            ("[queue_drop]\nidle_second = 3\n", "idle_second"),
            ("cpu_share = 5.0\n", "cpu_share"),
            ("faults = 0\n", "faults"),
            (
                "[queue_drop]\nworking_set_stays = 0\n",
                "queue_drop.working_set_stays",
            ),
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
