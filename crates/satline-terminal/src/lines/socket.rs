//! A line over TCP: plain, for line protocols, or with telnet on it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::telnet::{self, Telnet};
use super::{Protocol, Received};
use crate::poll::{check, later};

/// What may wait to be sent, bytes: more is only reached by a server that asks without end and never reads.
const OUT_LIMIT: usize = 64 * 1024;

/// One connection; it never blocks.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
    connecting: bool,
    /// What is sent before the connection stands goes with it.
    eager: bool,
    telnet: Option<Telnet>,
    /// The server repeats what is typed; None: as telnet agrees, and else not.
    echo: Option<bool>,
    out: Vec<u8>,
}

impl Socket {
    /// Begins to connect; `establish` tells when it stands.
    pub fn connect(address: SocketAddr, protocol: Protocol, echo: Option<bool>) -> io::Result<Self> {
        let family = if address.is_ipv4() {
            libc::AF_INET
        } else {
            libc::AF_INET6
        };
        let flags = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: plain numbers; the descriptor is checked and owned once.
        let fd = unsafe { OwnedFd::from_raw_fd(check(libc::socket(family, flags, 0))?) };
        let connected = match address {
            SocketAddr::V4(to) => {
                // SAFETY: all-zero is a valid sockaddr_in.
                let mut place: libc::sockaddr_in = unsafe { std::mem::zeroed() };
                place.sin_family = libc::AF_INET as libc::sa_family_t;
                place.sin_port = to.port().to_be();
                place.sin_addr.s_addr = u32::from_ne_bytes(to.ip().octets());
                let size = size_of_val(&place) as libc::socklen_t;
                // SAFETY: `place` is a valid address of that size.
                check(unsafe { libc::connect(fd.as_raw_fd(), (&raw const place).cast(), size) })
            }
            SocketAddr::V6(to) => {
                // SAFETY: all-zero is a valid sockaddr_in6.
                let mut place: libc::sockaddr_in6 = unsafe { std::mem::zeroed() };
                place.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                place.sin6_port = to.port().to_be();
                place.sin6_addr.s6_addr = to.ip().octets();
                place.sin6_scope_id = to.scope_id();
                let size = size_of_val(&place) as libc::socklen_t;
                // SAFETY: `place` is a valid address of that size.
                check(unsafe { libc::connect(fd.as_raw_fd(), (&raw const place).cast(), size) })
            }
        };
        if let Err(error) = connected {
            if error.raw_os_error() != Some(libc::EINPROGRESS) {
                return Err(error);
            }
        }
        let stream = TcpStream::from(fd);
        // Keys go out one by one.
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            connecting: true,
            eager: protocol == Protocol::Http,
            telnet: (protocol == Protocol::Telnet).then(Telnet::default),
            echo,
            out: Vec::new(),
        })
    }

    pub fn fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// True once connected; the error if it cannot be.
    pub fn establish(&mut self) -> io::Result<bool> {
        if self.connecting {
            if let Some(error) = self.stream.take_error()? {
                return Err(error);
            }
            match self.stream.peer_addr() {
                Ok(_) => self.connecting = false,
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
                Err(error) => return Err(error),
            }
        }
        Ok(!self.connecting)
    }

    pub fn is_telnet(&self) -> bool {
        self.telnet.is_some()
    }

    /// Something waits for the other end to take it.
    pub fn wants_to_write(&self) -> bool {
        self.connecting || !self.out.is_empty()
    }

    pub fn echoes(&self) -> bool {
        self.echo
            .unwrap_or_else(|| self.telnet.as_ref().is_some_and(Telnet::echoes))
    }

    pub fn receive(&mut self, buffer: &mut [u8]) -> Received {
        let got = match self.stream.read(buffer) {
            Ok(0) => return Received::Ended("closed the line".into()),
            Ok(got) => got,
            Err(error) if later(&error) => return self.flush().map_or_else(ended, |()| Received::Later),
            Err(error) => return ended(error),
        };
        let Some(telnet) = &mut self.telnet else {
            return Received::Data(got);
        };
        let length = telnet.receive(&mut buffer[..got], &mut self.out);
        if self.out.len() > OUT_LIMIT {
            return Received::Ended("negotiates without end".into());
        }
        self.flush().map_or_else(ended, |()| Received::Data(length))
    }

    /// Sends text; false: not now, and nothing of it was taken.
    pub fn send(&mut self, text: &[u8]) -> io::Result<bool> {
        self.flush()?;
        if self.wants_to_write() && !self.eager {
            return Ok(false);
        }
        if self.telnet.is_some() {
            telnet::encode(text, &mut self.out);
        } else {
            self.out.extend_from_slice(text);
        }
        // What does not go now goes as soon as it can.
        self.flush()?;
        Ok(true)
    }

    pub fn flush(&mut self) -> io::Result<()> {
        while !self.connecting && !self.out.is_empty() {
            match self.stream.write(&self.out) {
                Ok(written) => drop(self.out.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if later(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn ended(error: io::Error) -> Received {
    Received::Ended(format!("lost the line: {error}"))
}
