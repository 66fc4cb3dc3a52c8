//! Netlink: as much of its generic kind as taskstats needs, and the socket diagnosis of UNIX sockets.
//!
//! Messages: length (u32), type (u16), flags (u16), sequence (u32), port (u32); then command (u8), version (u8),
//! two bytes of nothing; then attributes, each length (u16), type (u16), body, padded to four bytes.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use satline_program::parse::half;

const HEADER: usize = 16;
const GENERIC_HEADER: usize = 4;
const ERROR: u16 = 2;
const REQUEST: u16 = 1;
const FAMILY_CONTROL: u16 = 16;
const COMMAND_GET_FAMILY: u8 = 3;
const ATTRIBUTE_FAMILY_ID: u16 = 1;
const ATTRIBUTE_FAMILY_NAME: u16 = 2;
const SO_MEMINFO: libc::c_int = 55;
const MEMINFO_DROPS: usize = 8;

/// A generic netlink socket.
#[derive(Debug)]
pub struct Socket {
    descriptor: OwnedFd,
}

impl Socket {
    /// Opens a socket with room for `receive_bytes` of messages, as far as the system allows.
    pub fn open(receive_bytes: i32) -> io::Result<Self> {
        Self::open_protocol(libc::NETLINK_GENERIC, receive_bytes)
    }

    /// Opens a socket for questions about sockets.
    pub fn open_diagnosis(receive_bytes: i32) -> io::Result<Self> {
        Self::open_protocol(libc::NETLINK_SOCK_DIAG, receive_bytes)
    }

    fn open_protocol(protocol: libc::c_int, receive_bytes: i32) -> io::Result<Self> {
        // SAFETY: plain system calls on a descriptor that is ours; the address and option are valid for their size.
        unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
            let descriptor = libc::socket(libc::AF_NETLINK, kind, protocol);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            let socket = Self {
                descriptor: OwnedFd::from_raw_fd(descriptor),
            };
            let mut address: libc::sockaddr_nl = std::mem::zeroed();
            address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
            let size = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
            if libc::bind(descriptor, (&raw const address).cast(), size) != 0 {
                return Err(io::Error::last_os_error());
            }
            for option in [libc::SO_RCVBUF, libc::SO_RCVBUFFORCE] {
                // Only root may go beyond net.core.rmem_max; then the first of the two stands.
                let size = size_of::<i32>() as libc::socklen_t;
                libc::setsockopt(
                    descriptor,
                    libc::SOL_SOCKET,
                    option,
                    (&raw const receive_bytes).cast(),
                    size,
                );
            }
            Ok(socket)
        }
    }

    /// Sends one request with one attribute.
    pub fn send(&self, family: u16, command: u8, attribute: u16, body: &[u8]) -> io::Result<()> {
        self.send_message(&request(family, command, attribute, body))
    }

    /// Asks for all sockets that fit a request of socket diagnosis, which begins with their family.
    pub fn ask_for_sockets(&self, body: &[u8]) -> io::Result<()> {
        self.send_message(&sockets_request(body))
    }

    fn send_message(&self, message: &[u8]) -> io::Result<()> {
        // SAFETY: the message is valid for its length.
        let sent = unsafe {
            libc::send(
                self.descriptor.as_raw_fd(),
                message.as_ptr().cast(),
                message.len(),
                0,
            )
        };
        if sent < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    /// Receives into `buffer`; `None` if nothing is there and `wait` is false.
    pub fn receive<'b>(&self, buffer: &'b mut [u8], wait: bool) -> io::Result<Option<&'b [u8]>> {
        let flags = if wait { 0 } else { libc::MSG_DONTWAIT };
        loop {
            // SAFETY: the buffer is valid for its length.
            let length = unsafe {
                libc::recv(
                    self.descriptor.as_raw_fd(),
                    buffer.as_mut_ptr().cast(),
                    buffer.len(),
                    flags,
                )
            };
            if let Ok(length) = usize::try_from(length) {
                return Ok(Some(&buffer[..length]));
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => return Ok(None),
                _ => return Err(error),
            }
        }
    }

    /// How many messages the kernel has dropped on this socket because it was full; `None` before kernel 4.12.
    pub fn drops(&self) -> Option<u64> {
        let mut memory = [0u32; 16];
        let mut size = size_of_val(&memory) as libc::socklen_t;
        // SAFETY: the kernel writes at most `size` bytes.
        let result = unsafe {
            libc::getsockopt(
                self.descriptor.as_raw_fd(),
                libc::SOL_SOCKET,
                SO_MEMINFO,
                memory.as_mut_ptr().cast(),
                &mut size,
            )
        };
        let given = result == 0 && size as usize > MEMINFO_DROPS * size_of::<u32>();
        given.then(|| u64::from(memory[MEMINFO_DROPS]))
    }

    /// The number of a family.
    pub fn family(&self, name: &str) -> io::Result<u16> {
        let mut body = name.as_bytes().to_vec();
        body.push(0);
        self.send(FAMILY_CONTROL, COMMAND_GET_FAMILY, ATTRIBUTE_FAMILY_NAME, &body)?;
        let mut buffer = [0u8; 8192];
        let answer = self.receive(&mut buffer, true)?.unwrap_or_default();
        let absent = || {
            io::Error::new(
                io::ErrorKind::NotFound,
                format!("the kernel has no {name} interface"),
            )
        };
        let payload = messages(answer).next().ok_or_else(absent)??;
        let id = attributes(payload)
            .find(|(kind, _)| *kind == ATTRIBUTE_FAMILY_ID)
            .ok_or_else(absent)?
            .1;
        id.try_into().map(u16::from_ne_bytes).map_err(|_| absent())
    }
}

fn request(family: u16, command: u8, attribute: u16, body: &[u8]) -> Vec<u8> {
    let attribute_length = 4 + body.len();
    let total = HEADER + GENERIC_HEADER + attribute_length.next_multiple_of(4);
    let mut message = Vec::with_capacity(total);
    message.extend((total as u32).to_ne_bytes());
    message.extend(family.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    message.extend([0; 8]);
    message.extend([command, 1, 0, 0]);
    message.extend((attribute_length as u16).to_ne_bytes());
    message.extend(attribute.to_ne_bytes());
    message.extend(body);
    message.resize(total, 0);
    message
}

fn sockets_request(body: &[u8]) -> Vec<u8> {
    const BY_FAMILY: u16 = 20;
    const DUMP: u16 = 0x300;
    let mut message = Vec::with_capacity(HEADER + body.len());
    message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
    message.extend(BY_FAMILY.to_ne_bytes());
    message.extend((REQUEST | DUMP).to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// A part of an answer in many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    Body(&'a [u8]),
    End,
    Error,
}

/// The messages in a datagram, with their headers, and what each is; the first that is cut, or shorter than `least`, ends them.
fn each(mut datagram: &[u8], least: usize) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = half(datagram, 0)? as usize;
        let kind = u16::from_ne_bytes(datagram.get(4..6)?.try_into().ok()?);
        let message = datagram.get(..length).filter(|m| m.len() >= least)?;
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, message))
    })
}

/// The parts in a datagram of an answer.
pub fn parts(datagram: &[u8]) -> impl Iterator<Item = Part<'_>> {
    const DONE: u16 = 3;
    each(datagram, HEADER).map(|(kind, message)| match kind {
        DONE => Part::End,
        ERROR => Part::Error,
        _ => Part::Body(&message[HEADER..]),
    })
}

/// The attribute parts of the messages in a datagram; an error message becomes an error.
pub fn messages(datagram: &[u8]) -> impl Iterator<Item = io::Result<&[u8]>> {
    each(datagram, HEADER + GENERIC_HEADER).map(|(kind, message)| match half(message, HEADER) {
        Some(code) if kind == ERROR => {
            let code = (code as i32).checked_neg().unwrap_or(0);
            Err(io::Error::from_raw_os_error(code))
        }
        _ => Ok(&message[HEADER + GENERIC_HEADER..]),
    })
}

/// The attributes in a payload: type and body.
pub fn attributes(mut payload: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(payload.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(payload.get(2..4)?.try_into().ok()?) & 0x3fff;
        let body = payload.get(4..length)?;
        payload = payload.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, body))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_is_read_back() {
        let message = request(31, 1, 2, b"TASKS\0");
        let payload = messages(&message).next().unwrap().unwrap();
        assert_eq!(attributes(payload).collect::<Vec<_>>(), [(2, &b"TASKS\0"[..])]);
    }

    #[test]
    fn an_answer_in_parts_has_an_end() {
        let mut datagram = sockets_request(&[7; 24]);
        datagram.extend(request(3, 0, 0, &[]));
        datagram.extend(request(ERROR, 0, 0, &[]));
        let found: Vec<_> = parts(&datagram).collect();
        assert_eq!(found, [Part::Body(&[7; 24]), Part::End, Part::Error]);
    }

    #[test]
    fn an_error_message_is_an_error() {
        let mut message = request(ERROR, 0, 0, &[0; 16]);
        message[HEADER..HEADER + 4].copy_from_slice(&(-libc::ESRCH).to_ne_bytes());
        let error = messages(&message).next().unwrap().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_loop(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            for payload in messages(&bytes).take(1000).flatten() {
                prop_assert!(attributes(payload).take(1000).count() < 1000);
            }
            prop_assert!(attributes(&bytes).take(1000).count() < 1000);
            prop_assert!(parts(&bytes).take(1000).count() < 1000);
        }
    }
}
