//! Between a socket and libssh2: what has come, and what is to go.

use std::io::{self, Read, Write};

/// Most that is read from a socket at one time, bytes.
const SHARE: usize = 16 * 1024;

#[derive(Debug, Default)]
pub struct Memory {
    incoming: Vec<u8>,
    /// Of it, what has come and was not given yet.
    from: usize,
    to: usize,
    outgoing: Vec<u8>,
    /// The socket in whose place it stands.
    socket: Option<libc::c_int>,
    /// Nothing comes or goes any more.
    over: bool,
}

impl Memory {
    /// Reads once; gives the bytes. The error `WouldBlock` also where there is no room until some were given.
    pub fn fill(&mut self, mut from: impl Read) -> io::Result<usize> {
        if self.incoming.is_empty() {
            self.incoming = vec![0; SHARE];
        }
        if self.from > 0 {
            self.incoming.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        }
        let room = &mut self.incoming[self.to..];
        if room.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let got = from.read(room)?;
        self.to += got;
        Ok(got)
    }

    /// Writes what is to go; what does not go now stays.
    pub fn drain(&mut self, mut to: impl Write) -> io::Result<()> {
        let mut done = 0;
        let result = loop {
            if done == self.outgoing.len() {
                break Ok(());
            }
            match to.write(&self.outgoing[done..]) {
                Ok(written) => done += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.outgoing.drain(..done);
        result
    }

    /// From here on it stands in the place of this socket.
    pub fn serve(&mut self, socket: libc::c_int) {
        self.socket = Some(socket);
    }

    pub fn is_for(&self, socket: libc::c_int) -> bool {
        self.socket == Some(socket)
    }

    pub fn is_full(&self) -> bool {
        !self.outgoing.is_empty()
    }

    pub fn end(&mut self) {
        self.over = true;
    }

    /// As recv(2), with a negative error.
    pub fn give(&mut self, buffer: &mut [u8]) -> isize {
        if self.over {
            return -libc::ECONNRESET as isize;
        }
        let length = buffer.len().min(self.to - self.from);
        if length == 0 {
            return -libc::EAGAIN as isize;
        }
        buffer[..length].copy_from_slice(&self.incoming[self.from..self.from + length]);
        self.from += length;
        length as isize
    }

    /// As send(2), with a negative error; takes all.
    pub fn take(&mut self, bytes: &[u8]) -> isize {
        if self.over {
            return -libc::EPIPE as isize;
        }
        self.outgoing.extend_from_slice(bytes);
        bytes.len() as isize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_comes_is_given_whole_and_in_order(
            parts in prop::collection::vec((0..40_000usize, 1..20_000usize), 1..20)
        ) {
            let text: Vec<u8> = (0..200_000u32).map(|at| (at % 251) as u8).collect();
            let (mut memory, mut rest, mut given) = (Memory::default(), &text[..], Vec::new());
            for (come, ask) in parts {
                let there = come.min(rest.len());
                match memory.fill(&rest[..there]) {
                    Ok(got) => rest = &rest[got..],
                    Err(error) => prop_assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
                }
                let mut buffer = vec![0; ask];
                let got = memory.give(&mut buffer);
                if got > 0 {
                    given.extend_from_slice(&buffer[..got as usize]);
                } else {
                    prop_assert_eq!(got, -libc::EAGAIN as isize);
                }
            }
            prop_assert_eq!(&text[..given.len()], &given[..]);
        }
    }

    #[test]
    fn what_goes_waits_for_room_and_nothing_goes_after_the_end() {
        struct Narrow(Vec<u8>, usize);
        impl Write for Narrow {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let room = self.1.saturating_sub(self.0.len()).min(bytes.len());
                if room == 0 {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                self.0.extend_from_slice(&bytes[..room]);
                Ok(room)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (mut memory, mut line) = (Memory::default(), Narrow(Vec::new(), 3));
        assert_eq!(memory.take(b"abcde"), 5);
        memory.drain(&mut line).unwrap();
        assert!(memory.is_full() && line.0 == b"abc");
        line.1 = 10;
        memory.drain(&mut line).unwrap();
        assert!(!memory.is_full() && line.0 == b"abcde");
        memory.end();
        assert!(memory.take(b"f") < 0 && memory.give(&mut [0; 4]) < 0 && !memory.is_full());
    }
}
