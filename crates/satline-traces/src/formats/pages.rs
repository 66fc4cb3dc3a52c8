//! A page number on each line, decimal or `0x…`; `#` begins a remark.

use super::{Line, decimal, hexadecimal};

pub fn read(line: &[u8]) -> Line<'_> {
    let end = line.iter().position(|&byte| byte == b'#').unwrap_or(line.len());
    let number = line[..end].trim_ascii();
    if number.is_empty() {
        return Line::Nothing;
    }
    let page = match number.strip_prefix(b"0x") {
        Some(digits) => hexadecimal(digits),
        None => decimal(number),
    };
    page.map_or(Line::Unknown, Line::Page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_have_no_reference() {
        assert_eq!(read(b" 17 # first"), Line::Page(17));
        assert_eq!(read(b"0xff"), Line::Page(255));
        assert_eq!(read(b"# 17"), Line::Nothing);
        assert_eq!(read(b"-1"), Line::Unknown);
        assert_eq!(read(b"1,2"), Line::Unknown);
    }
}
