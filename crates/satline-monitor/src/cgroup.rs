//! Control groups: one relative path looked for in every mounted hierarchy, version 1 and 2 alike.
//!
//! A controller can be in one hierarchy only. Where a group has a directory in the version-1 hierarchy of a
//! controller, that is read; otherwise the version-2 directory. So a hybrid host (controllers in version 1,
//! pressure in version 2) gives both. Version-1 storage figures are the hierarchical ones (`total_…`).

use std::path::{Path, PathBuf};

use satline_program::parse;

use crate::files::{self, Roots};
use crate::missing::Missing;

/// The columns of table `cgroup` after `cgroup`, in the order of [`read`]'s values.
pub const COLUMNS: &[&str] = &[
    "cpu_us",
    "cpu_user_us",
    "cpu_system_us",
    "quota_periods",
    "quota_throttled_periods",
    "quota_throttled_us",
    "quota_limit_millicpu",
    "memory_bytes",
    "memory_limit_bytes",
    "swap_bytes",
    "anonymous_bytes",
    "file_bytes",
    "limit_hits",
    "major_faults",
    "refault_pages",
    "reads",
    "read_bytes",
    "writes",
    "write_bytes",
    "read_limit_per_second",
    "read_limit_bytes_per_second",
    "write_limit_per_second",
    "write_limit_bytes_per_second",
    "pressure_cpu_some_us",
    "pressure_memory_some_us",
    "pressure_memory_full_us",
    "pressure_io_some_us",
    "pressure_io_full_us",
];

/// A mounted hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    pub directory: PathBuf,
    /// Empty for version 2.
    pub controllers: Vec<String>,
    pub version: u8,
}

/// Finds the hierarchies in `/proc/mounts`; mount points below `/sys` are taken below the given root.
pub fn hierarchies(roots: &Roots) -> Vec<Hierarchy> {
    let mounts = files::read(&roots.proc.join("mounts")).unwrap_or_default();
    let hierarchy = |line| {
        let mut fields = parse::fields(line).skip(1);
        let point = parse::unescape_octal(fields.next()?);
        let (kind, options) = (fields.next()?, fields.next()?);
        let directory = match Path::new(&point).strip_prefix("/sys") {
            Ok(below) => roots.sys.join(below),
            Err(_) => PathBuf::from(point),
        };
        let options = String::from_utf8_lossy(options).into_owned();
        match kind {
            b"cgroup2" => Some(Hierarchy {
                directory,
                controllers: Vec::new(),
                version: 2,
            }),
            b"cgroup" => {
                let controllers = options.split(',').map(str::to_owned).collect();
                Some(Hierarchy {
                    directory,
                    controllers,
                    version: 1,
                })
            }
            _ => None,
        }
    };
    parse::lines(&mounts).filter_map(hierarchy).collect()
}

/// A group that is watched under a name, whether it exists now or not.
#[derive(Debug, Clone)]
pub struct WatchedGroup {
    pub name: String,
    /// Relative to each hierarchy's root, without a leading slash.
    path: PathBuf,
}

impl WatchedGroup {
    /// Takes `/path` or `path`.
    pub fn new(name: impl Into<String>, path: &str) -> Self {
        Self {
            name: name.into(),
            path: PathBuf::from(path.trim_start_matches('/')),
        }
    }

    /// Relative to each hierarchy's root.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The group's directories that exist now.
    pub fn directories(&self, hierarchies: &[Hierarchy]) -> Vec<PathBuf> {
        hierarchies
            .iter()
            .map(|h| h.directory.join(&self.path))
            .filter(|d| d.is_dir())
            .collect()
    }

    /// Its child groups, by name, over all hierarchies.
    pub fn children(&self, hierarchies: &[Hierarchy]) -> Vec<WatchedGroup> {
        let mut names: Vec<String> = Vec::new();
        for directory in self.directories(hierarchies) {
            let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
            let directories = entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir()));
            names.extend(directories.map(|e| e.file_name().to_string_lossy().into_owned()));
        }
        names.sort_unstable();
        names.dedup();
        let child = |name: String| WatchedGroup {
            path: self.path.join(&name),
            name: format!("{}/{name}", self.name),
        };
        names.into_iter().map(child).collect()
    }

    /// Reads the group: values in the order of [`COLUMNS`], or `None` while it does not exist.
    pub fn read(&self, hierarchies: &[Hierarchy]) -> Option<Vec<Option<i64>>> {
        let find = |controller: &str| {
            let mut v1 = hierarchies
                .iter()
                .filter(|h| h.controllers.iter().any(|c| c == controller));
            let found = v1.next().map(|h| h.directory.join(&self.path))?;
            found.is_dir().then_some(found)
        };
        let v2 = hierarchies
            .iter()
            .find(|h| h.version == 2)
            .map(|h| h.directory.join(&self.path));
        let v2 = v2.filter(|d| d.is_dir());
        let places = [find("cpuacct"), find("cpu"), find("memory"), find("blkio")];
        if v2.is_none() && places.iter().all(Option::is_none) {
            return None;
        }
        let [cpuacct, cpu, memory, blkio] = places;
        let v2 = v2.as_deref();
        let mut values = match cpuacct {
            Some(directory) => processor_v1(&directory),
            None => processor_v2(v2),
        };
        values.extend(match cpu {
            Some(directory) => quota_v1(&directory),
            None => quota_v2(v2),
        });
        values.extend(match memory {
            Some(directory) => storage_v1(&directory),
            None => storage_v2(v2),
        });
        values.extend(match blkio {
            Some(directory) => traffic_v1(&directory),
            None => traffic_v2(v2),
        });
        values.extend(pressure(v2));
        Some(values)
    }
}

fn text(directory: Option<&Path>, file: &str) -> Option<Vec<u8>> {
    files::read(&directory?.join(file))
}

fn number(directory: &Path, file: &str) -> Option<i64> {
    files::read_number(&directory.join(file))
}

fn processor_v1(directory: &Path) -> Vec<Option<i64>> {
    let files = ["cpuacct.usage", "cpuacct.usage_user", "cpuacct.usage_sys"];
    files
        .iter()
        .map(|file| Some(number(directory, file)? / 1000))
        .collect()
}

fn processor_v2(directory: Option<&Path>) -> Vec<Option<i64>> {
    let stat = text(directory, "cpu.stat").unwrap_or_default();
    ["usage_usec", "user_usec", "system_usec"]
        .iter()
        .map(|key| parse::value_of(&stat, key))
        .collect()
}

fn quota_v1(directory: &Path) -> Vec<Option<i64>> {
    let stat = text(Some(directory), "cpu.stat").unwrap_or_default();
    let quota = number(directory, "cpu.cfs_quota_us").filter(|&q| q > 0);
    vec![
        parse::value_of(&stat, "nr_periods"),
        parse::value_of(&stat, "nr_throttled"),
        parse::value_of(&stat, "throttled_time").map(|ns| ns / 1000),
        millicpu(quota, number(directory, "cpu.cfs_period_us")),
    ]
}

fn quota_v2(directory: Option<&Path>) -> Vec<Option<i64>> {
    let stat = text(directory, "cpu.stat").unwrap_or_default();
    let limit = text(directory, "cpu.max").unwrap_or_default();
    let mut limit = parse::fields(&limit).map(parse::signed);
    let (quota, period) = (limit.next().flatten(), limit.next().flatten());
    let mut values: Vec<_> = ["nr_periods", "nr_throttled", "throttled_usec"]
        .iter()
        .map(|key| parse::value_of(&stat, key))
        .collect();
    values.push(millicpu(quota, period));
    values
}

fn millicpu(quota_us: Option<i64>, period_us: Option<i64>) -> Option<i64> {
    quota_us?.checked_mul(1000)?.checked_div(period_us?)
}

/// Version 1 writes "no limit" as the largest multiple of a page that fits 63 bits.
const NO_LIMIT_V1: i64 = i64::MAX - 0xffff;

/// Whether what version 1 gives as a limit is one.
pub fn is_limit_v1(bytes: i64) -> bool {
    bytes < NO_LIMIT_V1
}

fn storage_v1(directory: &Path) -> Vec<Option<i64>> {
    let stat = text(Some(directory), "memory.stat").unwrap_or_default();
    let total = |key: &str| parse::value_of(&stat, key);
    vec![
        number(directory, "memory.usage_in_bytes"),
        number(directory, "memory.limit_in_bytes").filter(|&limit| is_limit_v1(limit)),
        total("total_swap"),
        total("total_rss"),
        total("total_cache"),
        number(directory, "memory.failcnt"),
        total("total_pgmajfault"),
        sum(
            total("total_workingset_refault_anon"),
            total("total_workingset_refault_file"),
        ),
    ]
}

fn storage_v2(directory: Option<&Path>) -> Vec<Option<i64>> {
    let stat = text(directory, "memory.stat").unwrap_or_default();
    let events = text(directory, "memory.events").unwrap_or_default();
    let value = |key: &str| parse::value_of(&stat, key);
    let alone = |file: &str| number(directory?, file);
    let limits = [alone("memory.max"), alone("memory.high")];
    let hits = [parse::value_of(&events, "max"), parse::value_of(&events, "high")];
    vec![
        alone("memory.current"),
        limits.into_iter().flatten().min(),
        alone("memory.swap.current"),
        value("anon"),
        value("file"),
        hits.into_iter().flatten().reduce(i64::saturating_add),
        value("pgmajfault"),
        sum(value("workingset_refault_anon"), value("workingset_refault_file")),
    ]
}

fn sum(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a?.checked_add(b?)
}

/// Reads, bytes read, writes, bytes written, caps. Version 1 counts below the group only in the `_recursive`
/// files; kernels before 4.20 lack them.
fn traffic_v1(directory: &Path) -> Vec<Option<i64>> {
    let counts = |file: &str| {
        let recursive = text(Some(directory), &format!("{file}_recursive"));
        recursive.or_else(|| text(Some(directory), file))
    };
    let operations = counts("blkio.throttle.io_serviced");
    let bytes = counts("blkio.throttle.io_service_bytes");
    let total = |text: &Option<Vec<u8>>, operation: &[u8]| {
        // "254:0 Read 12", one for each device; a last line "Total 12" has no device.
        parse::lines(text.as_deref()?)
            .filter(|line| parse::fields(line).nth(1) == Some(operation))
            .try_fold(0i64, |sum, line| {
                sum.checked_add(parse::signed(parse::fields(line).nth(2)?)?)
            })
    };
    let cap = |file: &str| {
        let text = text(Some(directory), file)?;
        parse::lines(&text)
            .filter_map(|line| parse::signed(parse::fields(line).nth(1)?))
            .min()
    };
    vec![
        total(&operations, b"Read"),
        total(&bytes, b"Read"),
        total(&operations, b"Write"),
        total(&bytes, b"Write"),
        cap("blkio.throttle.read_iops_device"),
        cap("blkio.throttle.read_bps_device"),
        cap("blkio.throttle.write_iops_device"),
        cap("blkio.throttle.write_bps_device"),
    ]
}

fn traffic_v2(directory: Option<&Path>) -> Vec<Option<i64>> {
    let stat = text(directory, "io.stat");
    let limits = text(directory, "io.max").unwrap_or_default();
    let total = |key: &[u8]| {
        let values = parse::lines(stat.as_deref()?).filter_map(|line| keyed(line, key));
        values.into_iter().try_fold(0i64, i64::checked_add)
    };
    let cap = |key: &[u8]| parse::lines(&limits).filter_map(|line| keyed(line, key)).min();
    vec![
        total(b"rios="),
        total(b"rbytes="),
        total(b"wios="),
        total(b"wbytes="),
        cap(b"riops="),
        cap(b"rbps="),
        cap(b"wiops="),
        cap(b"wbps="),
    ]
}

fn keyed(line: &[u8], key: &[u8]) -> Option<i64> {
    parse::fields(line).find_map(|field| parse::signed(field.strip_prefix(key)?))
}

fn pressure(directory: Option<&Path>) -> Vec<Option<i64>> {
    let files = ["cpu", "memory", "io"].map(|name| text(directory, &format!("{name}.pressure")));
    let value = |file: usize, line| parse::pressure(files[file].as_deref()?, line);
    vec![
        value(0, "some"),
        value(1, "some"),
        value(1, "full"),
        value(2, "some"),
        value(2, "full"),
    ]
}

/// Names the columns that a group lacks and that are not named yet. A limit that is null is one that is not set.
pub fn missing(group: &str, values: &[Option<i64>], known: &[Missing]) -> Vec<Missing> {
    let lacking = COLUMNS
        .iter()
        .zip(values)
        .filter(|(column, value)| value.is_none() && !column.contains("_limit"));
    let name = |(column, _): (&&str, _)| {
        let (reason, need) = (
            format!("no mounted hierarchy gives it for the group {group}"),
            "the controller enabled for the group; pressure needs cgroup version 2 and CONFIG_PSI",
        );
        Missing::new(format!("cgroup.{column}"), reason, need)
    };
    lacking
        .map(name)
        .filter(|new| known.iter().all(|old| old.signal != new.signal))
        .collect()
}

#[cfg(test)]
#[path = "cgroup_tests.rs"]
mod tests;
