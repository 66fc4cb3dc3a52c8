//! Network file systems by mount: `/proc/self/mountstats`, as devices of kind `nfs`.
//!
//! Of each NFS mount the kernel counts requests by operation, and how long they took in all, in its own queue and at the server.

use std::collections::HashSet;

use satline_program::parse;

use crate::device::DeviceReading;
use crate::files::{self, Roots};
use crate::missing::Missing;

/// Whether any is mounted is looked at this often; the file tells of every mount, NFS or not.
const LOOK_NS: i64 = 60_000_000_000;

/// What is mounted.
#[derive(Debug, Default)]
pub struct NfsMounts {
    any: bool,
    due_ns: i64,
}

impl NfsMounts {
    /// All mounts, now.
    pub fn read(&mut self, roots: &Roots, now_ns: i64) -> Vec<DeviceReading> {
        if !self.any && now_ns < self.due_ns {
            return Vec::new();
        }
        self.due_ns = now_ns.saturating_add(LOOK_NS);
        let text = files::read(&roots.proc.join("self/mountstats")).unwrap_or_default();
        let found = mounts(&text);
        self.any = !found.is_empty();
        found
    }
}

/// What is said where there is none.
pub fn missing(roots: &Roots) -> Option<Missing> {
    let text = files::read(&roots.proc.join("self/mountstats"));
    let reason = match &text {
        None => "/proc/self/mountstats does not exist",
        Some(text) if mounts(text).is_empty() => "no NFS is mounted where the monitor looks",
        Some(_) => return None,
    };
    Some(Missing::new(
        "device: NFS by mount",
        reason,
        "an NFS mount in the monitor's own view of the file system",
    ))
}

/// The NFS mounts of a text in the format of `/proc/self/mountstats`. Several mounts of one export share their counters: the first stands for
/// all.
fn mounts(text: &[u8]) -> Vec<DeviceReading> {
    let mut found: Vec<DeviceReading> = Vec::new();
    let (mut exports, mut is_nfs, mut by_operation) = (HashSet::new(), false, false);
    for line in parse::lines(text) {
        let fields: Vec<&[u8]> = parse::fields(line).collect();
        if fields.first() == Some(&&b"device"[..]) {
            // device EXPORT mounted on PLACE with fstype KIND …; blanks in names are \040.
            by_operation = false;
            is_nfs = fields
                .get(7)
                .is_some_and(|kind| kind.starts_with(b"nfs") && *kind != b"nfsd")
                && exports.insert(fields.get(1).map(|export| export.to_vec()));
            if let Some(place) = fields.get(4).filter(|_| is_nfs) {
                found.push(DeviceReading {
                    name: parse::unescape_octal(place),
                    kind: "nfs",
                    ..DeviceReading::default()
                });
            }
            continue;
        }
        let (true, Some(mount)) = (is_nfs, found.last_mut()) else {
            continue;
        };
        let number = |place: usize| parse::signed(fields.get(place)?);
        match fields.first() {
            // bytes: read and written by programs, without the cache by them, at the server, and pages.
            Some(&b"bytes:") => (mount.read_bytes, mount.write_bytes) = (number(5), number(6)),
            Some(&b"per-op") => by_operation = true,
            Some(name) if by_operation && name.ends_with(b":") => {
                // Requests, transmissions, time-outs, bytes sent and received; ms in queue, at the server, in all; errors since 5.4.
                let us = |place| number(place)?.checked_mul(1000);
                let add = |sum: &mut Option<i64>, more: Option<i64>| {
                    if let Some(more) = more {
                        *sum = Some(sum.unwrap_or(0).saturating_add(more));
                    }
                };
                let (count, wait) = match *name {
                    b"READ:" => (&mut mount.reads, &mut mount.read_wait_us),
                    b"WRITE:" => (&mut mount.writes, &mut mount.write_wait_us),
                    _ => (&mut mount.requests, &mut mount.request_wait_us),
                };
                add(count, number(1));
                add(wait, us(8));
                // As of a disk: all the time that requests were under way.
                add(&mut mount.queue_us, us(8));
                add(&mut mount.errors, number(9).or_else(|| number(3)));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &[u8] = b"device proc mounted on /proc with fstype proc\n\
device filer:/home mounted on /home\\040of\\040all with fstype nfs4 statvers=1.1\n\
\topts:\trw,vers=4.2\n\
\tage:\t100\n\
\tbytes:\t1000 2000 0 0 700 1900 3 4\n\
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\
\txprt:\ttcp 0 0 2 0 4 100 100 0 100 0 2 1 1\n\
\tper-op statistics\n\
\t        NULL: 1 1 0 44 24 1 2 3 0\n\
\t        READ: 10 10 0 1800 49344 5 40 46 0\n\
\t       WRITE: 4 5 1 9000 800 7 80 90 1\n\
\t     GETATTR: 100 100 0 17600 24000 2 30 34 0\n\
device filer:/home mounted on /again with fstype nfs4 statvers=1.1\n\
\tper-op statistics\n\
\t        READ: 10 10 0 1800 49344 5 40 46 0\n\
device nfsd mounted on /proc/fs/nfsd with fstype nfsd\n\
device old:/x mounted on /x with fstype nfs statvers=1.0\n\
\tper-op statistics\n\
\t        READ: 2 2 1 1 1 0 3 4\n";

    #[test]
    fn mounts_are_told_by_operation() {
        let found = mounts(TEXT);
        let [home, old] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!((home.name.as_str(), home.kind), ("/home of all", "nfs"));
        assert_eq!((home.read_bytes, home.write_bytes), (Some(700), Some(1900)));
        assert_eq!((home.reads, home.read_wait_us), (Some(10), Some(46_000)));
        assert_eq!((home.writes, home.write_wait_us), (Some(4), Some(90_000)));
        assert_eq!((home.requests, home.request_wait_us), (Some(101), Some(37_000)));
        assert_eq!((home.queue_us, home.errors), (Some(173_000), Some(1)));
        assert_eq!((old.reads, old.read_bytes, old.writes), (Some(2), None, None));
        assert_eq!(old.errors, Some(1), "of kernels without errors, time-outs");
    }

    #[test]
    fn a_host_without_has_none() {
        assert!(mounts(b"device proc mounted on /proc with fstype proc\n").is_empty());
        assert!(mounts(b"").is_empty());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(line in proptest::collection::vec(any::<u8>(), 0..200), at in 0..TEXT.len()) {
            let text = [&TEXT[..at], &line[..], &TEXT[at..]].concat();
            let _ = mounts(&text);
        }
    }
}
