//! Migration of the coldest pages from compressed storage to the device behind it: page 8's drum-to-disk migration, done by
//! zram's own writeback where the kernel has it.
//!
//! Reference: [TB84], page migration.

use std::fs;
use std::path::PathBuf;

use crate::policy::Policy;
use crate::policy::Tiers as TiersPolicy;
use crate::roots::Roots;

/// The tiers.
#[derive(Debug)]
pub struct Tiers {
    policy: TiersPolicy,
    /// Directories of devices that have writeback.
    devices: Vec<PathBuf>,
    next_ns: i64,
    /// Whether pages were marked idle one period ago, so that those still marked are cold.
    marked: bool,
    dry_run: bool,
}

impl Tiers {
    /// Those of the policy that this kernel can migrate.
    pub fn new(roots: &Roots, policy: &Policy, dry_run: bool) -> Self {
        let devices = policy
            .tiers
            .zram
            .iter()
            .map(|name| roots.sys.join("block").join(name))
            .filter(|device| device.join("writeback").exists() && device.join("idle").exists())
            .collect();
        Tiers {
            policy: policy.tiers.clone(),
            devices,
            next_ns: 0,
            marked: false,
            dry_run,
        }
    }

    /// Once in `cold_seconds`: pages that were marked idle then and were not read since are written back, if the device is
    /// fuller than the policy says; then all are marked.
    pub fn tick(&mut self, now_ns: i64) {
        if now_ns < self.next_ns || self.dry_run || self.devices.is_empty() {
            return;
        }
        self.next_ns = now_ns + (self.policy.cold_seconds * 1e9) as i64;
        let (devices, marked, full_share) = (self.devices.clone(), self.marked, self.policy.full_share);
        self.marked = true;
        // Writing back waits for the device; a thread of its own may.
        let _ = std::thread::Builder::new().name("tiers".into()).spawn(move || {
            for device in devices {
                if marked && full(&device).is_some_and(|share| share >= full_share) {
                    let _ = fs::write(device.join("writeback"), "idle");
                }
                let _ = fs::write(device.join("idle"), "all");
            }
        });
    }
}

/// Share of a zram device that compressed storage holds: data before compression ÷ disk size. The kernel goes on counting what it has
/// written back.
fn full(device: &std::path::Path) -> Option<f64> {
    let first = |file: &str| -> Option<f64> {
        let text = fs::read_to_string(device.join(file)).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    let behind = first("bd_stat").unwrap_or(0.0) * BEHIND_UNIT_BYTES;
    let size = first("disksize")?;
    (size > 0.0).then_some((first("mm_stat")? - behind) / size)
}

/// What `bd_stat` counts in, bytes: whatever the size of a page.
const BEHIND_UNIT_BYTES: f64 = 4096.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cold_pages_are_written_back_when_the_device_is_full() {
        let dir = tempfile::tempdir().unwrap();
        let device = dir.path().join("block/zram0");
        fs::create_dir_all(&device).unwrap();
        for (file, text) in [
            ("writeback", ""),
            ("idle", ""),
            ("mm_stat", "  800 100 120\n"),
            ("disksize", "1000\n"),
        ] {
            fs::write(device.join(file), text).unwrap();
        }
        let roots = Roots {
            proc: "/none".into(),
            sys: dir.path().to_owned(),
        };
        let policy: Policy =
            toml::from_str("[[watch]]\npid = 9\n[tiers]\nzram = [\"zram0\", \"zram1\"]\ncold_seconds = 1\n")
                .unwrap();
        assert_eq!(full(&device), Some(0.8));
        let mut tiers = Tiers::new(&roots, &policy, false);
        assert_eq!(tiers.devices.len(), 1, "zram1 is not there");
        let until = |file: &str, text: &str| {
            for _ in 0..24_000 {
                if fs::read_to_string(device.join(file)).unwrap() == text {
                    return;
                }
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            panic!("{file} never was {text:?}");
        };
        tiers.tick(0);
        until("idle", "all");
        assert_eq!(fs::read_to_string(device.join("writeback")).unwrap(), "");
        tiers.tick(1_000_000_000);
        until("writeback", "idle");
    }

    #[test]
    fn what_was_written_back_is_in_compressed_storage_no_more() {
        let dir = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("mm_stat", "41107456 0 0 0 38301696 23 0 0 8783\n"),
            ("bd_stat", "   10000        0    10013\n"),
            ("disksize", "268435456\n"),
        ] {
            fs::write(dir.path().join(file), text).unwrap();
        }
        assert_eq!(full(dir.path()), Some(147_456.0 / 268_435_456.0));
        fs::write(dir.path().join("disksize"), "0\n").unwrap();
        assert_eq!(full(dir.path()), None);
    }
}
