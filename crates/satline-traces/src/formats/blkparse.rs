//! blkparse's default text: `  8,0    1       17     0.000123 697  Q   R 223490 + 8 [sort]`; its summary ends it.
//!
//! One request passes several actions; it counts once, when it is queued (`Q`).

use super::{Line, decimal};

const SECTOR_BYTES: u64 = 512;

pub fn read(line: &[u8]) -> Line<'_> {
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let Some(device) = words.next() else {
        return Line::Nothing;
    };
    if !is_device(device) {
        return if is_summary(line) {
            Line::Nothing
        } else {
            Line::Unknown
        };
    }
    // Processor, sequence, time, process; then action and kind.
    let (Some(time), Some(_), Some(action)) = (words.nth(2), words.next(), words.next()) else {
        return Line::Unknown;
    };
    if !time.contains(&b'.') {
        return Line::Unknown;
    }
    if action != b"Q" {
        return Line::Nothing;
    }
    let (sector, plus, sectors) = (words.nth(1), words.next(), words.next());
    match (sector.and_then(decimal), plus, sectors.and_then(decimal)) {
        (Some(sector), Some(b"+"), Some(sectors)) => match sector.checked_mul(SECTOR_BYTES) {
            Some(from) => Line::Bytes {
                device,
                from,
                len: sectors.saturating_mul(SECTOR_BYTES),
            },
            None => Line::Unknown,
        },
        // A flush has no place.
        (_, None | Some(b"["), _) | (None, _, _) => Line::Nothing,
        _ => Line::Unknown,
    }
}

fn is_device(word: &[u8]) -> bool {
    let mut parts = word.split(|&byte| byte == b',');
    let two = (parts.next().and_then(decimal), parts.next().and_then(decimal));
    matches!(two, (Some(_), Some(_))) && parts.next().is_none()
}

/// Of the totals after the events.
fn is_summary(line: &[u8]) -> bool {
    #[rustfmt::skip]
    const HEADS: [&[u8]; 11] = [
        b"CPU", b"Total", b" Reads", b" Read ", b" Writes", b" IO ", b" PC ", b"Throughput", b"Events",
        b"Skips", b"Input",
    ];
    HEADS.iter().any(|head| line.starts_with(head))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_counts_when_it_is_queued() {
        let line = b"  8,0    1       17     0.000123004   697  Q   R 223490 + 8 [sort]";
        let read_one = Line::Bytes {
            device: b"8,0",
            from: 223_490 * 512,
            len: 4096,
        };
        assert_eq!(read(line), read_one);
        for action in ["G", "I", "D", "C", "M", "P", "U"] {
            let other = String::from_utf8_lossy(line).replace('Q', action);
            assert_eq!(read(other.as_bytes()), Line::Nothing, "{other}");
        }
        assert_eq!(
            read(b"  8,0    1    18   0.000123004   697  Q  FN [fsync]"),
            Line::Nothing
        );
        assert_eq!(read(b"CPU0 (sda):"), Line::Nothing);
        assert_eq!(read(b" Reads Queued:           0,        0KiB"), Line::Nothing);
        assert_eq!(read(b"0,20941264,8192,W,0.551706"), Line::Unknown);
        assert_eq!(read(b"8,0 1 17"), Line::Unknown);
    }
}
