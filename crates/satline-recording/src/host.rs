//! Facts of the host, for `[host]` of recording.toml.

use std::fs;
use std::path::Path;

use satline_program::parse::value_of;
use serde::{Deserialize, Serialize};

/// `[host]`: what the host is. What could not be read is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    pub name: Option<String>,
    pub kernel: Option<String>,
    pub machine: Option<String>,
    pub os: Option<String>,
    /// Processors that are online.
    pub processors: Option<i64>,
    pub memory_bytes: Option<i64>,
    pub page_bytes: Option<i64>,
    pub boot_id: Option<String>,
}

impl HostFacts {
    /// Reads them from `/proc` and `/etc/os-release` (or what stands for them) and asks the system for the page size.
    pub fn read(proc_root: &Path, os_release: &Path) -> Self {
        let line = |path: &str| {
            let text = fs::read_to_string(proc_root.join(path)).ok()?;
            Some(text.trim_end().to_owned()).filter(|t| !t.is_empty())
        };
        let stat = fs::read_to_string(proc_root.join("stat")).ok();
        let meminfo = fs::read(proc_root.join("meminfo")).unwrap_or_default();
        let release = fs::read_to_string(os_release).ok();
        // SAFETY: sysconf reads no memory of ours.
        let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        HostFacts {
            name: line("sys/kernel/hostname"),
            kernel: line("sys/kernel/osrelease"),
            // Kernels before 6.1 do not say; then the binary runs on what it was built for.
            machine: line("sys/kernel/arch").or_else(|| Some(std::env::consts::ARCH.to_owned())),
            os: release.as_deref().and_then(pretty_name),
            processors: stat.as_deref().map(processors).filter(|n| *n > 0),
            memory_bytes: value_of(&meminfo, "MemTotal").and_then(|kib| kib.checked_mul(1024)),
            page_bytes: Some(page_bytes as i64).filter(|n| *n > 0),
            boot_id: line("sys/kernel/random/boot_id"),
        }
    }
}

fn processors(stat: &str) -> i64 {
    let is_processor = |line: &&str| {
        line.strip_prefix("cpu")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    stat.lines().filter(is_processor).count() as i64
}

fn pretty_name(release: &str) -> Option<String> {
    let value = release.lines().find_map(|l| l.strip_prefix("PRETTY_NAME="))?;
    let value = value.trim();
    let quoted = |mark| value.strip_prefix(mark).and_then(|v: &str| v.strip_suffix(mark));
    Some(quoted('"').or_else(|| quoted('\'')).unwrap_or(value).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_is_read_from_the_roots_given() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("sys/kernel/hostname", "drum\n");
        put("sys/kernel/osrelease", "6.18.1\n");
        put("sys/kernel/arch", "aarch64\n");
        put("sys/kernel/random/boot_id", "c0ffee\n");
        put("stat", "cpu  1 2 3\ncpu0 1 1 1\ncpu3 0 1 2\nintr 5\n");
        put("meminfo", "MemTotal:        2048 kB\nMemFree: 1 kB\n");
        put("os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 13\"\n");
        let facts = HostFacts::read(root.path(), &root.path().join("os-release"));
        let page_bytes = facts.page_bytes;
        assert!(page_bytes.is_some_and(|n| n >= 4096 && n & (n - 1) == 0));
        let expected = HostFacts {
            name: Some("drum".into()),
            kernel: Some("6.18.1".into()),
            machine: Some("aarch64".into()),
            os: Some("Debian GNU/Linux 13".into()),
            processors: Some(2),
            memory_bytes: Some(2048 * 1024),
            page_bytes,
            boot_id: Some("c0ffee".into()),
        };
        assert_eq!(facts, expected);
    }

    #[test]
    fn what_cannot_be_read_is_absent() {
        let root = tempfile::tempdir().unwrap();
        let facts = HostFacts::read(root.path(), &root.path().join("none"));
        assert_eq!(
            (facts.name, facts.processors, facts.memory_bytes, facts.boot_id),
            (None, None, None, None)
        );
    }
}
