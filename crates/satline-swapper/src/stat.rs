//! `/proc/PID/stat`.

use std::fs;

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
    pub cpu_ticks: u64,
    pub threads: u64,
    pub start_ticks: u64,
    pub resident_pages: u64,
    /// Places in the address space that an exec changes; 0 where we may not see them.
    pub image: (u64, u64, u64),
}

/// `PF_KTHREAD` of linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

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

/// The name, which may hold anything, and the rest.
pub fn parse(bytes: &[u8]) -> Option<(String, Stat)> {
    let text = String::from_utf8_lossy(bytes);
    // The name may hold parentheses: it ends at the last one.
    let (open, close) = (text.find('(')?, text.rfind(')')?);
    let name = text.get(open + 1..close)?.to_owned();
    let fields: Vec<&str> = text.get(close + 1..)?.split_whitespace().collect();
    // Fields are numbered from 1 in proc(5); the state is the third.
    let field = |number: usize| fields.get(number - 3).copied();
    let number = |place: usize| field(place).and_then(|text| text.parse::<u64>().ok());
    Some((
        name,
        Stat {
            parent: field(4)?.parse().ok()?,
            terminal: field(7)?.parse().ok()?,
            kernel_thread: number(9)? & KERNEL_THREAD != 0,
            zombie: matches!(field(3)?, "Z" | "X"),
            busy: matches!(field(3)?, "R" | "D"),
            major_faults: number(12)?,
            cpu_ticks: number(14)? + number(15)?,
            threads: number(20)?,
            start_ticks: number(22)?,
            resident_pages: number(24)?,
            image: (
                number(26).unwrap_or(0),
                number(28).unwrap_or(0),
                number(48).unwrap_or(0),
            ),
        },
    ))
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
                cpu_ticks: 34,
                threads: 3,
                start_ticks: 5000,
                resident_pages: 250,
                image: (111, 333, 444),
            }
        );
    }

    #[test]
    fn what_is_cut_short_is_none() {
        for text in ["", "1 (x", "1 (x) S 5", "nothing"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
