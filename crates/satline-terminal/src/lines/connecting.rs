//! TCP connections that are made without waiting for them.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::poll::check;

/// Begins to connect; the stream never blocks.
pub fn begin(address: SocketAddr) -> io::Result<TcpStream> {
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
    Ok(stream)
}

/// True once it is connected; the error if it cannot be.
pub fn is_connected(stream: &TcpStream) -> io::Result<bool> {
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    match stream.peer_addr() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
        Err(error) => Err(error),
    }
}
