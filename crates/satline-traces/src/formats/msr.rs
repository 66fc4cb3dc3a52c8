//! MSR Cambridge block traces: `time,host,disk,Read|Write,offset,size,response time`, bytes.

use super::{Line, decimal};

pub fn read(line: &[u8]) -> Line<'_> {
    if line.is_empty() || line.starts_with(b"Timestamp,Hostname") {
        return Line::Nothing;
    }
    let mut ends = [0; 6];
    let mut found = 0;
    for (at, _) in line.iter().enumerate().filter(|(_, byte)| **byte == b',') {
        match ends.get_mut(found) {
            Some(end) => *end = at,
            None => return Line::Unknown,
        }
        found += 1;
    }
    if found != ends.len() {
        return Line::Unknown;
    }
    let field = |at: usize| &line[ends[at - 1] + 1..ends[at]];
    let right = decimal(&line[..ends[0]]).is_some() && matches!(field(3), b"Read" | b"Write");
    match (decimal(field(4)), decimal(field(5))) {
        // Disks have numbers within a host.
        (Some(from), Some(len)) if right => Line::Bytes {
            device: &line[ends[0] + 1..ends[2]],
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
    fn a_device_is_a_disk_of_a_host() {
        let line = b"128166372003061629,hm,1,Read,2096128,4096,61415";
        assert_eq!(
            read(line),
            Line::Bytes {
                device: b"hm,1",
                from: 2_096_128,
                len: 4096
            }
        );
        assert_eq!(
            read(b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime"),
            Line::Nothing
        );
        for line in [
            &b"1,hm,1,Read,2,3"[..],
            b"1,hm,1,Seek,2,3,4",
            b"1,hm,1,Read,2,3,4,5",
            b"a,hm,1,Read,2,3,4",
        ] {
            assert_eq!(read(line), Line::Unknown);
        }
    }
}
