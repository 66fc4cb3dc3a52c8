//! Devices: whole disks, zram, network interfaces and swap areas. NFS mounts are in `nfs.rs`.
//!
//! Sources: `/proc/diskstats`, `/proc/net/dev`, `/proc/swaps`, `/sys/block/zramN`. Partitions are left out,
//! since their disk counts them; devices that exist only because the kernel made them ready (loop, ram,
//! unset zram, silent interfaces) are left out until they are used.

use std::collections::HashMap;

use satline_program::parse;

use crate::files::{self, Roots};
use crate::missing::Missing;

/// The columns of table `device` after `device` and `device_kind`, in the order of [`DeviceReading::values`].
pub const COLUMNS: &[&str] = &[
    "reads",
    "read_bytes",
    "read_wait_us",
    "writes",
    "write_bytes",
    "write_wait_us",
    "in_flight",
    "busy_us",
    "queue_us",
    "errors",
    "size_bytes",
    "used_bytes",
    "stored_bytes",
    "priority",
    "requests",
    "request_wait_us",
];

/// One device, now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceReading {
    pub name: String,
    pub kind: &'static str,
    pub reads: Option<i64>,
    pub read_bytes: Option<i64>,
    pub read_wait_us: Option<i64>,
    pub writes: Option<i64>,
    pub write_bytes: Option<i64>,
    pub write_wait_us: Option<i64>,
    pub in_flight: Option<i64>,
    pub busy_us: Option<i64>,
    pub queue_us: Option<i64>,
    pub errors: Option<i64>,
    pub size_bytes: Option<i64>,
    pub used_bytes: Option<i64>,
    pub stored_bytes: Option<i64>,
    pub priority: Option<i64>,
    /// What is neither read nor write.
    pub requests: Option<i64>,
    pub request_wait_us: Option<i64>,
}

impl DeviceReading {
    /// The values in the order of [`COLUMNS`].
    pub fn values(&self) -> [Option<i64>; 16] {
        [
            self.reads,
            self.read_bytes,
            self.read_wait_us,
            self.writes,
            self.write_bytes,
            self.write_wait_us,
            self.in_flight,
            self.busy_us,
            self.queue_us,
            self.errors,
            self.size_bytes,
            self.used_bytes,
            self.stored_bytes,
            self.priority,
            self.requests,
            self.request_wait_us,
        ]
    }

    fn is_used(&self) -> bool {
        [self.reads, self.writes, self.size_bytes]
            .iter()
            .any(|v| v.unwrap_or(0) != 0)
    }
}

/// Finds and reads the devices of a host.
#[derive(Debug, Default)]
pub struct Devices {
    /// Whether a block device is a whole one, by name; asked of /sys once for each name.
    whole: HashMap<String, bool>,
    /// Seen in use before: then it stays in the table, also when it was reset.
    used: HashMap<String, ()>,
    /// Names of disks by number.
    numbers: HashMap<(u32, u32), String>,
}

impl Devices {
    /// Reads all devices that are in use or ever were.
    pub fn read(&mut self, roots: &Roots) -> Vec<DeviceReading> {
        let mut devices = Vec::new();
        let diskstats = files::read(&roots.proc.join("diskstats")).unwrap_or_default();
        let disks: Vec<DeviceReading> = parse::lines(&diskstats).filter_map(disk).collect();
        let swaps = files::read(&roots.proc.join("swaps")).unwrap_or_default();
        for mut disk in disks.iter().cloned() {
            if self.is_whole(roots, &disk.name) {
                if disk.kind == "zram" {
                    read_zram(roots, &mut disk);
                }
                if !is_virtual(&disk.name) || self.is_used(&disk) {
                    devices.push(disk);
                }
            }
        }
        devices.extend(parse::lines(&swaps).filter_map(|line| swap(line, &disks)));
        let network = files::read(&roots.proc.join("net/dev")).unwrap_or_default();
        for interface in parse::lines(&network).filter_map(interface) {
            if self.is_used(&interface) {
                devices.push(interface);
            }
        }
        devices
    }

    /// The name of a disk by its number; the number where it has none any more.
    pub fn name_of(&mut self, roots: &Roots, (major, minor): (u32, u32)) -> String {
        let find = || {
            let link = roots.sys.join(format!("dev/block/{major}:{minor}"));
            let target = std::fs::read_link(link).ok()?;
            // As in /proc/diskstats.
            Some(target.file_name()?.to_string_lossy().replace('!', "/"))
        };
        let name = self.numbers.get(&(major, minor)).cloned();
        name.or_else(find).map_or_else(
            || format!("{major}:{minor}"),
            |name| {
                self.numbers.insert((major, minor), name.clone());
                name
            },
        )
    }

    fn is_used(&mut self, device: &DeviceReading) -> bool {
        if self.used.contains_key(&device.name) {
            return true;
        }
        if device.is_used() {
            self.used.insert(device.name.clone(), ());
        }
        device.is_used()
    }

    fn is_whole(&mut self, roots: &Roots, name: &str) -> bool {
        if let Some(&known) = self.whole.get(name) {
            return known;
        }
        // A slash in a device's name stands as an exclamation mark in /sys.
        let whole = roots.sys.join("block").join(name.replace('/', "!")).exists();
        self.whole.insert(name.to_owned(), whole);
        whole
    }
}

fn is_virtual(name: &str) -> bool {
    ["loop", "ram", "zram", "nbd", "sr", "fd"].iter().any(|prefix| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// What this host does not show of its devices. A container may hide it behind an empty file.
pub fn missing(roots: &Roots) -> Vec<Missing> {
    let hidden = |(signal, file): (&str, &str)| {
        let reason = match files::read(&roots.proc.join(file)) {
            None => format!("/proc/{file} cannot be read"),
            Some(text) if parse::lines(&text).next().is_none() => format!("/proc/{file} is empty"),
            Some(_) => return None,
        };
        let need = "the host's own /proc, where a container covers this file";
        Some(Missing::new(signal, reason, need))
    };
    [
        ("device: disks", "diskstats"),
        ("device: network interfaces", "net/dev"),
    ]
    .into_iter()
    .filter_map(hidden)
    .collect()
}

/// `/proc/diskstats`: major, minor, name, then the fields that the kernel's documentation numbers from 1.
fn disk(line: &[u8]) -> Option<DeviceReading> {
    let mut fields = parse::fields(line);
    let name = String::from_utf8_lossy(fields.nth(2)?).into_owned();
    let numbers: Vec<Option<i64>> = fields.map(parse::signed).collect();
    let number = |field: usize, scale: i64| numbers.get(field - 1).copied()??.checked_mul(scale);
    let is_zram = name
        .strip_prefix("zram")
        .is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    Some(DeviceReading {
        kind: if is_zram { "zram" } else { "block" },
        name,
        reads: number(1, 1),
        read_bytes: number(3, 512),
        read_wait_us: number(4, 1000),
        writes: number(5, 1),
        write_bytes: number(7, 512),
        write_wait_us: number(8, 1000),
        in_flight: number(9, 1),
        busy_us: number(10, 1000),
        queue_us: number(11, 1000),
        ..DeviceReading::default()
    })
}

fn read_zram(roots: &Roots, device: &mut DeviceReading) {
    let directory = roots.sys.join("block").join(&device.name);
    device.size_bytes = files::read_number(&directory.join("disksize"));
    let Some(text) = files::read(&directory.join("mm_stat")) else {
        return;
    };
    let mut numbers = parse::fields(&text).map(parse::signed);
    device.used_bytes = numbers.next().flatten();
    // orig_data_size, compr_data_size, mem_used_total: the third holds the allocator's own loss as well.
    device.stored_bytes = numbers.nth(1).flatten();
}

/// `/proc/swaps`: name, type, size, used (both KiB), priority. Traffic is given where the area is a block
/// device of its own: then diskstats counts it.
fn swap(line: &[u8], disks: &[DeviceReading]) -> Option<DeviceReading> {
    let mut fields = parse::fields(line);
    let name = parse::unescape_octal(fields.next()?);
    let _kind = fields.next()?;
    let mut number = || parse::signed(fields.next()?);
    let (size, used, priority) = (number()?, number()?, number()?);
    let disk = name
        .strip_prefix("/dev/")
        .and_then(|short| disks.iter().find(|d| d.name == short));
    Some(DeviceReading {
        name,
        kind: "swap",
        size_bytes: size.checked_mul(1024),
        used_bytes: used.checked_mul(1024),
        priority: Some(priority),
        ..disk.cloned().unwrap_or_default()
    })
}

/// `/proc/net/dev`: name, a colon, eight numbers of receiving, eight of sending.
fn interface(line: &[u8]) -> Option<DeviceReading> {
    let colon = line.iter().rposition(|&b| b == b':')?;
    let numbers: Vec<i64> = parse::fields(&line[colon + 1..])
        .map_while(parse::signed)
        .collect();
    let number = |place: usize| numbers.get(place).copied();
    Some(DeviceReading {
        name: String::from_utf8_lossy(line[..colon].trim_ascii()).into_owned(),
        kind: "network",
        read_bytes: Some(number(0)?),
        reads: number(1),
        write_bytes: number(8),
        writes: number(9),
        errors: [2, 3, 10, 11]
            .iter()
            .try_fold(0i64, |sum, &place| sum.checked_add(number(place)?)),
        ..DeviceReading::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn short_lines_of_old_kernels_leave_null() {
        let disk = disk(b" 8 0 sda 1 2 3 4 5 6 7 8 9 10").unwrap();
        assert_eq!(
            (disk.in_flight, disk.busy_us, disk.queue_us),
            (Some(9), Some(10_000), None)
        );
    }

    #[test]
    fn a_swap_partition_has_the_traffic_of_its_partition() {
        let disks = vec![disk(b" 8 2 sda2 1 2 3 4 5 6 7 8 9 10 11").unwrap()];
        let swap = swap(b"/dev/sda2 partition 2048 12 -2", &disks).unwrap();
        assert_eq!((swap.name.as_str(), swap.kind), ("/dev/sda2", "swap"));
        assert_eq!(
            (swap.reads, swap.size_bytes, swap.used_bytes),
            (Some(1), Some(2_097_152), Some(12_288))
        );
        assert_eq!(swap.priority, Some(-2));
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_parser_panic(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (disk(&line), interface(&line), swap(&line, &[]));
        }
    }
}
