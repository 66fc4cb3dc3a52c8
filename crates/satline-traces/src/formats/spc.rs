//! SPC trace files, as in the UMass repository: `ASU,LBA,size,opcode,time`, blocks of 512 bytes, size in bytes.

use super::{Line, decimal};

const BLOCK_BYTES: u64 = 512;

pub fn read(line: &[u8]) -> Line<'_> {
    if line.is_empty() {
        return Line::Nothing;
    }
    let mut fields = line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
    let (Some(unit), Some(block), Some(len), Some(kind), Some(time)) = (
        fields.next(),
        fields.next(),
        fields.next(),
        fields.next(),
        fields.next(),
    ) else {
        return Line::Unknown;
    };
    let right = decimal(unit).is_some()
        && matches!(kind, b"r" | b"R" | b"w" | b"W")
        && time.first().is_some_and(u8::is_ascii_digit);
    let from = decimal(block).and_then(|block| block.checked_mul(BLOCK_BYTES));
    match (from, decimal(len)) {
        (Some(from), Some(len)) if right => Line::Bytes {
            device: unit,
            from,
            len,
        },
        _ => Line::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_of_512_bytes() {
        let read_one = Line::Bytes {
            device: b"0",
            from: 20_941_264 * 512,
            len: 8192,
        };
        assert_eq!(read(b"0,20941264,8192,W,0.551706"), read_one);
        assert_eq!(read(b"0,20941264,8192,r,0.551706,more"), read_one);
        for line in [
            &b"0,20941264,8192,X,0.5"[..],
            b"0,20941264,8192,W",
            b"x,1,2,R,3",
            b"7",
        ] {
            assert_eq!(read(line), Line::Unknown);
        }
    }
}
