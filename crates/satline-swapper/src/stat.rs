//! `/proc/PID/stat`.

use std::fs;

use satline_program::parse;

use crate::roots::Roots;

/// What the swapper needs of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub parent: i32,
    pub terminal: i64,
    pub kernel_thread: bool,
    pub zombie: bool,
    /// It runs, waits for a processor, or waits for a device.
    pub busy: bool,
    pub major_faults: u64,
    pub threads: u32,
    pub start_ticks: u64,
    pub resident_pages: u64,
    /// Places in the address space that an exec changes; 0 where we may not see them.
    pub image: (u64, u64, u64),
}

impl Stat {
    /// Reads that of a process; none if it is gone.
    pub fn read(roots: &Roots, pid: i32) -> Option<(String, Stat)> {
        parse(&fs::read(roots.of_process(pid, "stat")).ok()?)
    }

    /// Whether a task of the process is busy now; false if it is gone.
    pub fn is_busy(roots: &Roots, pid: i32) -> bool {
        threads(roots, pid).into_iter().any(|tid| {
            fs::read(roots.of_process(pid, &format!("task/{tid}/stat")))
                .is_ok_and(|bytes| parse(&bytes).is_some_and(|(_, stat)| stat.busy))
        })
    }
}

/// More threads than this of one process are not looked at one by one.
pub const MAX_THREADS: usize = 16;

/// The threads of a process, the leader first, not more than [`MAX_THREADS`].
pub fn threads(roots: &Roots, pid: i32) -> Vec<i32> {
    let mut tids = all_threads(roots, pid);
    tids.truncate(MAX_THREADS);
    tids
}

/// The threads of a process, the leader first.
pub fn all_threads(roots: &Roots, pid: i32) -> Vec<i32> {
    let mut tids: Vec<i32> = fs::read_dir(roots.of_process(pid, "task"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    tids.sort_unstable();
    tids
}

/// The name and the rest.
pub fn parse(bytes: &[u8]) -> Option<(String, Stat)> {
    let told = parse::stat(bytes)?;
    let name = String::from_utf8_lossy(&bytes[told.name.0..told.name.1]).into_owned();
    let field = |number| parse::stat_field(bytes, &told, number);
    let place = |number| field(number).and_then(parse::unsigned).unwrap_or(0);
    let stat = Stat {
        parent: told.parent,
        terminal: parse::signed(field(7)?)?,
        kernel_thread: told.kernel_thread,
        zombie: matches!(told.state, b'Z' | b'X'),
        busy: matches!(told.state, b'R' | b'D'),
        major_faults: told.major_faults,
        threads: told.threads,
        start_ticks: told.start_ticks,
        resident_pages: told.resident_pages,
        image: (place(26), place(28), place(48)),
    };
    Some((name, stat))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_does_not_shift_the_fields() {
        let line = b"77 (a) R 1 (b\n) S 5 77 77 34816 77 4194304 900 0 12 0 30 4 0 0 20 0 3 0 5000 1000000 \
            250 18446744073709551615 111 222 333 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0 0 0 0 444 0 0 0 0";
        let (name, stat) = parse(line).unwrap();
        assert_eq!(name, "a) R 1 (b\n");
        assert_eq!(
            stat,
            Stat {
                parent: 5,
                terminal: 34816,
                kernel_thread: false,
                zombie: false,
                busy: false,
                major_faults: 12,
                threads: 3,
                start_ticks: 5000,
                resident_pages: 250,
                image: (111, 333, 444),
            }
        );
    }
}
