//! Kernel text and records → numbers, by hand and without allocation.
//!
//! Every function takes bytes that came from outside and returns `None` for what is not there; none panics,
//! whatever the bytes are. Numbers beyond the range of their type are `None` too: a wrong number would look
//! like a counter that leapt.

/// Parses a whole field as an unsigned decimal number.
#[inline]
pub fn unsigned(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let mut value: u64 = 0;
    for &byte in text {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
    }
    Some(value)
}

/// Parses a whole field as a decimal number with an optional minus sign.
#[inline]
pub fn signed(text: &[u8]) -> Option<i64> {
    match text.strip_prefix(b"-") {
        Some(digits) => 0i64.checked_sub_unsigned(unsigned(digits)?),
        None => i64::try_from(unsigned(text)?).ok(),
    }
}

/// A number of 8 bytes in a record of the kernel; `None`: the record ends before it.
#[inline]
pub fn word(record: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(record.get(at..at + 8)?.try_into().ok()?))
}

/// One of 4 bytes.
#[inline]
pub fn half(record: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(record.get(at..at + 4)?.try_into().ok()?))
}

/// The fields of a line, separated by any number of blanks, tabs or newlines.
#[inline]
pub fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|b| matches!(b, b' ' | b'\t' | b'\n'))
        .filter(|f| !f.is_empty())
}

/// The lines of a text, without their ends.
#[inline]
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&b| b == b'\n').filter(|l| !l.is_empty())
}

/// The number after `key` in a text of `key value …` lines (`/proc/vmstat`, `memory.stat`, `cpu.stat`; a colon
/// after the key is allowed for, as in `/proc/meminfo`).
pub fn value_of(text: &[u8], key: &str) -> Option<i64> {
    lines(text).find_map(|line| {
        let rest = line.strip_prefix(key.as_bytes())?;
        let rest = match rest.first()? {
            b':' => &rest[1..],
            b' ' | b'\t' => rest,
            _ => return None,
        };
        signed(fields(rest).next()?)
    })
}

/// The stall time, µs, of the `some` or `full` line of a pressure file.
pub fn pressure(text: &[u8], line: &str) -> Option<i64> {
    let line = lines(text).find(|l| fields(l).next() == Some(line.as_bytes()))?;
    fields(line).find_map(|f| signed(f.strip_prefix(b"total=")?))
}

/// What is taken from `/proc/PID/stat` or `/proc/PID/task/TID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stat {
    /// Where the command name lies in the text that was parsed.
    pub name: (usize, usize),
    pub state: u8,
    pub parent: i32,
    pub session: i32,
    pub kernel_thread: bool,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub user_ticks: u64,
    pub system_ticks: u64,
    /// Faults and processor time of children that were waited for, and of theirs.
    pub children_minor_faults: u64,
    pub children_major_faults: u64,
    pub children_user_ticks: u64,
    pub children_system_ticks: u64,
    pub threads: u32,
    pub start_ticks: u64,
    pub resident_pages: u64,
}

const KERNEL_THREAD_FLAG: u64 = 0x0020_0000;

/// Parses a stat line. The name stands in parentheses and may hold anything, parentheses and newlines
/// included, so that the *last* `)` ends it.
pub fn stat(text: &[u8]) -> Option<Stat> {
    let open = text.iter().position(|&b| b == b'(')?;
    let close = text.iter().rposition(|&b| b == b')')?;
    if close <= open {
        return None;
    }
    let mut rest = Scanner {
        text: &text[close + 1..],
        at: 0,
    };
    let mut stat = Stat {
        name: (open + 1, close),
        ..Stat::default()
    };
    stat.state = *rest.field()?.first()?;
    stat.parent = i32::try_from(rest.signed()?).ok()?;
    rest.skip(1)?; // process group
    stat.session = i32::try_from(rest.signed()?).ok()?;
    rest.skip(2)?; // terminal, its foreground group
    stat.kernel_thread = rest.unsigned()? & KERNEL_THREAD_FLAG != 0;
    stat.minor_faults = rest.unsigned()?;
    stat.children_minor_faults = rest.unsigned()?;
    stat.major_faults = rest.unsigned()?;
    stat.children_major_faults = rest.unsigned()?;
    stat.user_ticks = rest.unsigned()?;
    stat.system_ticks = rest.unsigned()?;
    // The kernel prints these two as signed.
    stat.children_user_ticks = u64::try_from(rest.signed()?).ok()?;
    stat.children_system_ticks = u64::try_from(rest.signed()?).ok()?;
    rest.skip(2)?; // priority, nice
    stat.threads = u32::try_from(rest.unsigned()?).ok()?;
    rest.skip(1)?; // an interval timer that no longer exists
    stat.start_ticks = rest.unsigned()?;
    rest.skip(1)?; // virtual size
    stat.resident_pages = u64::try_from(rest.signed()?).unwrap_or(0);
    Some(stat)
}

/// A further field of the stat line that was parsed, by its number in proc(5).
pub fn stat_field<'a>(text: &'a [u8], stat: &Stat, number: usize) -> Option<&'a [u8]> {
    fields(&text[stat.name.1 + 1..]).nth(number.checked_sub(3)?)
}

/// Parses `/proc/PID/schedstat`: time on a processor and time runnable but waiting, both ns, and the number of stays.
pub fn schedstat(text: &[u8]) -> Option<(u64, u64, u64)> {
    let mut rest = Scanner { text, at: 0 };
    Some((rest.unsigned()?, rest.unsigned()?, rest.unsigned()?))
}

/// Reads fields one after another, each byte once.
struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    fn field(&mut self) -> Option<&'a [u8]> {
        while matches!(self.text.get(self.at), Some(b' ')) {
            self.at += 1;
        }
        let start = self.at;
        while self.text.get(self.at).is_some_and(|b| !matches!(b, b' ' | b'\n')) {
            self.at += 1;
        }
        (self.at > start).then(|| &self.text[start..self.at])
    }

    fn unsigned(&mut self) -> Option<u64> {
        unsigned(self.field()?)
    }

    fn signed(&mut self) -> Option<i64> {
        signed(self.field()?)
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        for _ in 0..count {
            self.field()?;
        }
        Some(())
    }
}

/// A path or name in which the kernel wrote blanks and the like as `\ooo` (`/proc/mounts`, `/proc/swaps`).
pub fn unescape_octal(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let digits = text
            .get(at + 1..at + 4)
            .filter(|d| d.iter().all(|b| (b'0'..=b'7').contains(b)));
        match digits {
            Some(d) if text[at] == b'\\' => {
                out.push(
                    d.iter()
                        .fold(0u8, |sum, b| sum.wrapping_mul(8).wrapping_add(b - b'0')),
                );
                at += 4;
            }
            _ => {
                out.push(text[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINE: &[u8] =
        b"4242 (a) b (c\n) R 17 4242 99 34816 4242 4194304 11 12 13 14 15 16 17 18 20 0 3 0 5555 \
        123456 77 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n";

    #[test]
    fn every_field_of_a_stat_line_with_a_hostile_name() {
        let stat = stat(LINE).unwrap();
        assert_eq!(&LINE[stat.name.0..stat.name.1], b"a) b (c\n");
        let expected = Stat {
            name: stat.name,
            state: b'R',
            parent: 17,
            session: 99,
            kernel_thread: false,
            minor_faults: 11,
            major_faults: 13,
            user_ticks: 15,
            system_ticks: 16,
            children_minor_faults: 12,
            children_major_faults: 14,
            children_user_ticks: 17,
            children_system_ticks: 18,
            threads: 3,
            start_ticks: 5555,
            resident_pages: 77,
        };
        assert_eq!(stat, expected);
        let field = |number| stat_field(LINE, &stat, number);
        assert_eq!((field(3), field(7)), (Some(&b"R"[..]), Some(&b"34816"[..])));
        assert_eq!((field(2), field(99)), (None, None));
    }

    #[test]
    fn a_kernel_thread_is_known_by_its_flag() {
        let line = b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0 1";
        assert!(stat(line).unwrap().kernel_thread);
    }

    #[test]
    fn cut_lines_and_overflow_are_none() {
        assert_eq!(stat(&LINE[..60]), None);
        assert_eq!(stat(b")("), None);
        assert_eq!(unsigned(b"18446744073709551616"), None);
        assert_eq!(unsigned(b""), None);
        assert_eq!(signed(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(signed(b"9223372036854775808"), None);
        assert_eq!(schedstat(b"1 2"), None);
        assert_eq!(schedstat(b"1 2 3\n"), Some((1, 2, 3)));
    }

    #[test]
    fn a_key_is_matched_whole() {
        let text = b"pgfault_extra 9\nMemTotal:   24684096 kB\npgfault 6498794\nneg -1\n";
        assert_eq!(value_of(text, "pgfault"), Some(6_498_794));
        assert_eq!(value_of(text, "MemTotal"), Some(24_684_096));
        assert_eq!(value_of(text, "neg"), Some(-1));
        assert_eq!(value_of(text, "absent"), None);
    }

    #[test]
    fn pressure_lines() {
        let text = b"some avg10=0.00 avg60=0.00 avg300=0.00 total=123\nfull avg10=0.00 total=45\n";
        assert_eq!(pressure(text, "some"), Some(123));
        assert_eq!(pressure(text, "full"), Some(45));
        assert_eq!(pressure(b"some avg10=0.00\n", "some"), None);
    }

    #[test]
    fn octal_escapes() {
        assert_eq!(unescape_octal(br"/my\040swap\011\x\04"), "/my swap\t\\x\\04");
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_parser_panic(text in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = (stat(&text), schedstat(&text), pressure(&text, "some"), value_of(&text, "a"));
            let _ = (unsigned(&text), signed(&text), unescape_octal(&text));
        }

        #[test]
        fn no_damage_to_a_real_line_makes_it_panic(at in 0usize..160, byte in any::<u8>(), end in 0usize..160) {
            let mut line = LINE.to_vec();
            if at < line.len() { line[at] = byte; }
            line.truncate(end);
            let _ = stat(&line);
        }

        #[test]
        fn numbers_survive_the_way_there_and_back(value in any::<i64>()) {
            prop_assert_eq!(signed(value.to_string().as_bytes()), Some(value));
        }
    }
}
