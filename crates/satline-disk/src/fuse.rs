//! The part of the kernel's FUSE protocol that one file needs (include/uapi/linux/fuse.h, version 7.31).

use satline_program::parse::{half, word};

const HEADER_BYTES: usize = 40;
const READ_WRITE_BYTES: usize = 40;
/// Largest data of one request: 256 pages.
pub const MOST_BYTES: usize = 1 << 20;
/// Room for the largest request.
pub const BUFFER_BYTES: usize = HEADER_BYTES + READ_WRITE_BYTES + MOST_BYTES;

const ASYNC_READ: u32 = 1;
const BIG_WRITES: u32 = 1 << 5;
const ASYNC_DIRECT: u32 = 1 << 15;
const MAX_PAGES: u32 = 1 << 22;
const OPEN_DIRECT: u32 = 1;
/// Requests that the kernel may have here at once: as many as a loop device has.
const AT_ONCE: u16 = 128;
/// `FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE` of linux/falloc.h.
const KEEP_SIZE_PUNCH_HOLE: u32 = 3;
const MODE: u32 = libc::S_IFREG | 0o600;

/// What the kernel asks for.
#[derive(Debug, PartialEq)]
pub enum Call<'a> {
    Init {
        flags: u32,
    },
    Attributes,
    Open,
    Read {
        offset: u64,
        bytes: u32,
    },
    Write {
        offset: u64,
        data: &'a [u8],
    },
    /// Give back the space of a part: it reads as zeros from then on.
    Discard {
        offset: u64,
        bytes: u64,
    },
    FileSystem,
    /// Nothing needs to be done for it.
    Nothing,
    /// It wants no answer.
    Silent,
    Unknown,
}

/// The request's number and what it asks for; `None`: it is cut.
pub fn parse(bytes: &[u8]) -> Option<(u64, Call<'_>)> {
    let (opcode, unique) = (half(bytes, 4)?, word(bytes, 8)?);
    let body = bytes.get(HEADER_BYTES..)?;
    let call = match opcode {
        2 | 36 | 42 => Call::Silent, // forget, interrupt, batch forget
        3 | 4 => Call::Attributes,   // get, and set, which changes none
        14 => Call::Open,
        15 => Call::Read {
            offset: word(body, 8)?,
            bytes: half(body, 16)?,
        },
        16 => {
            let length = half(body, 16)? as usize;
            let data = body.get(READ_WRITE_BYTES..READ_WRITE_BYTES + length)?;
            Call::Write {
                offset: word(body, 8)?,
                data,
            }
        }
        17 => Call::FileSystem,
        43 => match half(body, 24)? {
            KEEP_SIZE_PUNCH_HOLE => Call::Discard {
                offset: word(body, 8)?,
                bytes: word(body, 16)?,
            },
            _ => Call::Unknown,
        },
        18 | 20 | 25 | 38 => Call::Nothing, // release, sync, flush, destroy
        26 => Call::Init {
            flags: half(body, 12)?,
        },
        _ => Call::Unknown,
    };
    Some((unique, call))
}

/// An answer under way: the header, filled in at the end, and what follows it.
pub fn answer(unique: u64) -> Vec<u8> {
    let mut bytes = vec![0; 8];
    bytes.extend_from_slice(&unique.to_ne_bytes());
    bytes
}

/// The answer with its length; `error` is one of libc's numbers, 0 for none.
pub fn ended(mut bytes: Vec<u8>, error: i32) -> Vec<u8> {
    let length = (bytes.len() as u32).to_ne_bytes();
    bytes[0..4].copy_from_slice(&length);
    bytes[4..8].copy_from_slice(&(-error).to_ne_bytes());
    bytes
}

fn put<const N: usize>(into: &mut Vec<u8>, values: [u32; N]) {
    for value in values {
        into.extend_from_slice(&value.to_ne_bytes());
    }
}

pub fn put_init(into: &mut Vec<u8>, offered: u32) {
    let wanted = ASYNC_READ | BIG_WRITES | ASYNC_DIRECT | MAX_PAGES;
    put(into, [7, 31, 0, offered & wanted]);
    into.extend_from_slice(&AT_ONCE.to_ne_bytes());
    into.extend_from_slice(&AT_ONCE.to_ne_bytes());
    put(into, [MOST_BYTES as u32, 1]);
    into.extend_from_slice(&((MOST_BYTES / 4096) as u16).to_ne_bytes());
    into.extend_from_slice(&0u16.to_ne_bytes());
    put(into, [0; 8]);
}

pub fn put_attributes(into: &mut Vec<u8>, bytes: u64) {
    put(into, [3600, 0, 0, 0]); // valid for an hour; nobody else changes them
    for value in [1, bytes, bytes / 512, 0, 0, 0] {
        into.extend_from_slice(&u64::to_ne_bytes(value));
    }
    put(into, [0, 0, 0, MODE, 1, 0, 0, 0, 4096, 0]);
}

/// The loop device takes its unit of discarding from the block size.
pub fn put_file_system(into: &mut Vec<u8>, bytes: u64) {
    for value in [bytes / 4096, 0, 0, 1, 0] {
        into.extend_from_slice(&u64::to_ne_bytes(value));
    }
    put(into, [4096, 255, 4096, 0, 0, 0, 0, 0, 0, 0]);
}

pub fn put_open(into: &mut Vec<u8>) {
    put(into, [0, 0, OPEN_DIRECT, 0]);
}

pub fn put_written(into: &mut Vec<u8>, bytes: u32) {
    put(into, [bytes, 0]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(opcode: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[4..8].copy_from_slice(&opcode.to_ne_bytes());
        bytes[8..16].copy_from_slice(&77u64.to_ne_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    #[test]
    fn a_write_is_read_whole_or_not_at_all() {
        let mut body = vec![0; READ_WRITE_BYTES];
        body[8..16].copy_from_slice(&8192u64.to_ne_bytes());
        body[16..20].copy_from_slice(&3u32.to_ne_bytes());
        body.extend_from_slice(b"abc");
        let whole = request(16, &body);
        let expected = Call::Write {
            offset: 8192,
            data: b"abc",
        };
        assert_eq!(parse(&whole), Some((77, expected)));
        assert_eq!(parse(&whole[..whole.len() - 1]), None);
    }

    #[test]
    fn answers_have_the_lengths_that_the_kernel_expects() {
        let (mut init, mut attributes, mut open, mut system) = (answer(1), answer(1), answer(1), answer(1));
        put_file_system(&mut system, 4096);
        put_init(&mut init, u32::MAX);
        put_attributes(&mut attributes, 4096);
        put_open(&mut open);
        assert_eq!(
            [init.len(), attributes.len(), open.len(), system.len()],
            [16 + 64, 16 + 104, 16 + 16, 16 + 80]
        );
        let ended = ended(open, libc::ENOSYS);
        assert_eq!(half(&ended, 0), Some(32));
        assert_eq!(half(&ended, 4).map(|value| value as i32), Some(-libc::ENOSYS));
        assert_eq!(word(&ended, 8), Some(1));
    }

    #[test]
    fn a_hole_is_a_discard_and_no_other_change_of_the_space_is() {
        let mut body = vec![0; 32];
        body[8..16].copy_from_slice(&4096u64.to_ne_bytes());
        body[16..24].copy_from_slice(&(1u64 << 33).to_ne_bytes());
        body[24..28].copy_from_slice(&3u32.to_ne_bytes());
        let discard = Call::Discard {
            offset: 4096,
            bytes: 1 << 33,
        };
        assert_eq!(parse(&request(43, &body)), Some((77, discard)));
        body[24] = 0;
        assert_eq!(parse(&request(43, &body)), Some((77, Call::Unknown)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
