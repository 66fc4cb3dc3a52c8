//! Valgrind's lackey: `I  04016b80,3`, ` S 1ffeffe7e,8`, ` L …`, ` M …`; its own words begin with `==`.

use super::{Line, decimal, hexadecimal};

pub fn read(line: &[u8]) -> Line<'_> {
    // `I  ` and ` L `: the kind is one of the first two bytes.
    let rest = match line {
        [b'I', b' ', b' ', rest @ ..] => rest,
        [b' ', b'L' | b'S' | b'M', b' ', rest @ ..] => rest,
        [] | [b'=' | b'-' | b'*', ..] => return Line::Nothing,
        _ => return Line::Unknown,
    };
    let Some(comma) = rest.iter().position(|&byte| byte == b',') else {
        return Line::Unknown;
    };
    let (from, len) = (hexadecimal(&rest[..comma]), decimal(&rest[comma + 1..]));
    match (from, len) {
        (Some(from), Some(len)) => Line::Bytes {
            device: b"",
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
    fn each_kind_of_reference_is_read() {
        let bytes = |from, len| Line::Bytes {
            device: b"",
            from,
            len,
        };
        assert_eq!(read(b"I  04016b80,3"), bytes(0x0401_6b80, 3));
        for line in [&b" S 1ffeffe7e,8"[..], b" L 1ffeffe7e,8", b" M 1ffeffe7e,8"] {
            assert_eq!(read(line), bytes(0x1_ffef_fe7e, 8));
        }
        assert_eq!(read(b"==12== Lackey, an example Valgrind tool"), Line::Nothing);
        for line in [&b"I  04016b80"[..], b" X 10,8", b"I  10,", b"I  zz,3", b"12"] {
            assert_eq!(read(line), Line::Unknown);
        }
    }
}
