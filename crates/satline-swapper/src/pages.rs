//! Which anonymous pages a process has in storage and which outside.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::calls;
use crate::runs::{Run, Runs};

/// How they are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `PAGEMAP_SCAN`, Linux 6.7: the kernel makes the runs.
    Scan,
    /// `/proc/PID/pagemap`, eight bytes for each page. The page of zeros counts as present.
    Read,
}

impl Method {
    /// The best that this kernel has, tried on this process.
    pub fn of_this_kernel(page_bytes: u64) -> Method {
        let tried = File::open("/proc/self/pagemap")
            .and_then(|file| calls::pagemap_scan(&file, 0x10000, 0x20000, page_bytes));
        if tried.is_ok() { Method::Scan } else { Method::Read }
    }

    /// Its name for people.
    pub fn word(self) -> &'static str {
        match self {
            Method::Scan => "PAGEMAP_SCAN",
            Method::Read => "pagemap",
        }
    }
}

/// The anonymous pages of a process at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Census {
    pub present: Runs,
    pub swapped: Runs,
}

/// A part of the address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Area {
    start: u64,
    end: u64,
}

/// The private areas of `/proc/PID/maps`: only these can hold anonymous pages that belong to this process alone. Areas of huge
/// pages have no swap.
fn areas(maps: &[u8]) -> Vec<Area> {
    String::from_utf8_lossy(maps)
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (start, end) = words.next()?.split_once('-')?;
            let private = words.next()?.ends_with('p');
            let name = words.nth(3).unwrap_or("");
            let special = name.starts_with("[v") || name.starts_with("/anon_hugepage");
            let hex = |text| u64::from_str_radix(text, 16).ok();
            (private && !special).then_some(Area {
                start: hex(start)?,
                end: hex(end)?,
            })
        })
        .collect()
}

impl Census {
    /// Counts them.
    ///
    /// # Errors
    /// The process is gone or not ours to look at.
    pub fn take(pagemap: &File, maps: &[u8], method: Method, page_bytes: u64) -> io::Result<Census> {
        let areas = areas(maps);
        let (Some(first), Some(last)) = (areas.first(), areas.last()) else {
            return Ok(Census::default());
        };
        match method {
            Method::Scan => {
                let private: Runs = areas
                    .iter()
                    .map(|area| Run {
                        start: area.start / page_bytes,
                        end: area.end / page_bytes,
                    })
                    .collect();
                let (present, swapped) = calls::pagemap_scan(pagemap, first.start, last.end, page_bytes)?;
                Ok(Census {
                    present: present.intersection(&private),
                    swapped: swapped.intersection(&private),
                })
            }
            Method::Read => read(pagemap, &areas, page_bytes),
        }
    }
}

/// Bits of a word of the page map.
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const FILE_OR_SHARED: u64 = 1 << 61;

/// The words of the page map from one page up to another, as far as there are any.
fn each_word(pagemap: &File, run: Run, mut with: impl FnMut(u64, u64)) -> io::Result<()> {
    let mut buffer = vec![0; ((run.pages() * 8) as usize).min(64 << 10)];
    let mut page = run.start;
    while page < run.end {
        let wanted = (((run.end - page) * 8) as usize).min(buffer.len());
        let length = pagemap.read_at(&mut buffer[..wanted], page * 8)?;
        let words = buffer[..length].chunks_exact(8);
        if words.len() == 0 {
            break;
        }
        for word in words {
            with(
                page,
                word.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)),
            );
            page += 1;
        }
    }
    Ok(())
}

fn read(pagemap: &File, areas: &[Area], page_bytes: u64) -> io::Result<Census> {
    let mut census = Census::default();
    for area in areas {
        let pages = Run {
            start: area.start / page_bytes,
            end: area.end / page_bytes,
        };
        each_word(pagemap, pages, |page, word| {
            let one = Run {
                start: page,
                end: page + 1,
            };
            if word & FILE_OR_SHARED == 0 {
                if word & PRESENT != 0 {
                    census.present.push(one);
                } else if word & SWAPPED != 0 {
                    census.swapped.push(one);
                }
            }
        })?;
    }
    Ok(census)
}

/// The pages of `wanted` that are outside, as runs of neighbours both in address and in swap, in order of their places in
/// swap. None where the places cannot be told (`CAP_SYS_ADMIN` is missing).
///
/// # Errors
/// The process is gone.
pub fn in_order_of_place(pagemap: &File, wanted: &Runs) -> io::Result<Option<Vec<Run>>> {
    const PLACE: u64 = (1 << 55) - 1;
    let mut pieces: Vec<(u64, Run)> = Vec::new();
    for run in wanted.iter() {
        each_word(pagemap, run, |page, word| {
            if word & SWAPPED == 0 {
                return;
            }
            // The number of the area in the low five bits, the place in it above them.
            let place = (word & PLACE).rotate_right(5);
            match pieces.last_mut() {
                Some((first, piece)) if piece.end == page && *first + piece.pages() == place => {
                    piece.end += 1;
                }
                _ => pieces.push((
                    place,
                    Run {
                        start: page,
                        end: page + 1,
                    },
                )),
            }
        })?;
    }
    // Without the right to see them the kernel gives 0 for all.
    if pieces.iter().all(|(place, _)| *place == 0) {
        return Ok(None);
    }
    pieces.sort_unstable_by_key(|(place, _)| *place);
    Ok(Some(pieces.into_iter().map(|(_, piece)| piece).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn areas_are_private_and_can_be_swapped() {
        let maps = b"00400000-00401000 r-xp 00000000 08:01 7  /bin/a b\n\
            00500000-00502000 rw-p 00000000 00:00 0  [heap]\n\
            00600000-00601000 rw-s 00000000 00:05 3  /memfd:x (deleted)\n\
            00700000-00900000 rw-p 00000000 00:0f 9  /anon_hugepage (deleted)\n\
            7ffc0000-7ffc1000 r--p 00000000 00:00 0  [vvar]\n\
            nonsense\n";
        let found: Vec<_> = areas(maps).iter().map(|area| (area.start, area.end)).collect();
        assert_eq!(found, [(0x40_0000, 0x40_1000), (0x50_0000, 0x50_2000)]);
    }

    #[test]
    fn a_page_map_is_read_word_by_word() {
        let mut file = tempfile::tempfile().unwrap();
        let words = [
            PRESENT | 5,
            PRESENT | FILE_OR_SHARED,
            SWAPPED | 9,
            SWAPPED,
            0,
            PRESENT,
        ];
        for word in words {
            file.write_all(&word.to_le_bytes()).unwrap();
        }
        let census = Census::take(
            &file,
            b"0-6000 rw-p 0 0 0\n8000-9000 rw-p 0 0 0\n",
            Method::Read,
            4096,
        )
        .unwrap();
        let of = |runs: &Runs| runs.iter().map(|run| (run.start, run.end)).collect::<Vec<_>>();
        assert_eq!(of(&census.present), [(0, 1), (5, 6)]);
        assert_eq!(of(&census.swapped), [(2, 4)]);
    }

    #[test]
    fn what_is_outside_is_listed_by_its_place_there() {
        let swapped = |area: u64, place: u64| SWAPPED | place << 5 | area;
        let mut file = tempfile::tempfile().unwrap();
        let words = [
            swapped(0, 70),
            swapped(0, 71),
            swapped(1, 3),
            PRESENT | 5,
            swapped(0, 20),
            swapped(0, 72),
            swapped(0, 73),
        ];
        for word in words {
            file.write_all(&word.to_le_bytes()).unwrap();
        }
        let whole: Runs = [Run { start: 0, end: 7 }].into_iter().collect();
        let found = in_order_of_place(&file, &whole).unwrap().unwrap();
        let of: Vec<_> = found.iter().map(|run| (run.start, run.end)).collect();
        assert_eq!(of, [(4, 5), (0, 2), (5, 7), (2, 3)]);
    }

    #[test]
    fn places_that_are_not_shown_give_no_order() {
        let mut file = tempfile::tempfile().unwrap();
        for _ in 0..3 {
            file.write_all(&SWAPPED.to_le_bytes()).unwrap();
        }
        let whole: Runs = [Run { start: 0, end: 3 }].into_iter().collect();
        assert_eq!(in_order_of_place(&file, &whole).unwrap(), None);
    }
}
