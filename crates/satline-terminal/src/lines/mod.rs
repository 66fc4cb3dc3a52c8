//! The lines over which users reach the system: one file each.
//!
//! A further kind of line is a variant of `Lines` (how one is opened) and of `Link` (one that is open); nothing outside
//! this directory asks which it is, but for what belongs to processes of this host (`Link::pid`).

mod connecting;
mod http;
mod loaded;
pub mod pty;
mod socket;
pub mod ssh;
pub mod ssh2;
mod telnet;
pub mod tls;

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};

pub use http::Answer;
use pty::{Launcher, Started};
use socket::Socket;
pub use socket::try_out;
use ssh::{Session, Ssh};
use ssh2::{Line, Ssh2};

use crate::poll::Watch;

/// What is spoken over TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Lines out, answers in, nothing added.
    Tcp,
    Telnet,
    /// Requests and their answers, on a connection that is kept.
    Http,
}

/// Where the users' lines lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A shell of this host for each user.
    Pty,
    Remote {
        protocol: Protocol,
        /// Under TLS.
        tls: bool,
        host: String,
        port: u16,
    },
    Ssh {
        /// None: as `ssh` is configured.
        user: Option<String>,
        host: String,
        port: u16,
    },
}

impl Target {
    /// From `pty`, `tcp:HOST:PORT`, `tls:HOST:PORT`, `telnet:HOST:PORT`, `ssh:USER@HOST:PORT`, `http://HOST:PORT` or
    /// `https://HOST[:PORT]`; an IPv6 address stands in brackets.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is no line: write pty, tcp:HOST:PORT, tls:HOST:PORT, telnet:HOST:PORT, ssh:USER@HOST:PORT, \
                 http://HOST:PORT or https://HOST[:PORT]"
            )
        };
        if text == "pty" {
            return Ok(Self::Pty);
        }
        let (protocol, place) = text.split_once(':').ok_or_else(wrong)?;
        let (protocol, tls) = match protocol {
            "tcp" => (Some(Protocol::Tcp), false),
            "tls" => (Some(Protocol::Tcp), true),
            "telnet" => (Some(Protocol::Telnet), false),
            "ssh" => (None, false),
            "http" => (Some(Protocol::Http), false),
            "https" => (Some(Protocol::Http), true),
            _ => return Err(wrong()),
        };
        let place = match protocol {
            Some(Protocol::Http) => {
                let place = place.strip_prefix("//").ok_or_else(wrong)?;
                place.strip_suffix('/').unwrap_or(place)
            }
            _ => place,
        };
        let (user, place) = match place.rsplit_once('@').filter(|_| protocol.is_none()) {
            Some((user, place)) => (Some(user), place),
            None => (None, place),
        };
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port),
            _ if tls && protocol == Some(Protocol::Http) => (place, "443"),
            _ => return Err(wrong()),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        if bare.is_none() && host.contains(':') {
            return Err(format!("{text:?}: write an IPv6 address in brackets"));
        }
        let port = port.parse().ok().filter(|&port| port > 0).ok_or_else(wrong)?;
        let host = bare.unwrap_or(host);
        let odd =
            |name: &str| name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control());
        if odd(host) || host.contains('/') || user.is_some_and(odd) {
            return Err(wrong());
        }
        let host = host.to_owned();
        Ok(match protocol {
            Some(protocol) => Self::Remote {
                protocol,
                tls,
                host,
                port,
            },
            None => Self::Ssh {
                user: user.map(str::to_owned),
                host,
                port,
            },
        })
    }

    pub fn is_http(&self) -> bool {
        let http = Protocol::Http;
        matches!(self, Self::Remote { protocol, .. } if *protocol == http)
    }

    pub fn is_tls(&self) -> bool {
        matches!(self, Self::Remote { tls: true, .. })
    }

    pub fn is_remote(&self) -> bool {
        *self != Self::Pty
    }

    /// Host and port as they are written.
    pub fn place(&self) -> String {
        match self {
            Self::Pty => String::new(),
            Self::Remote { host, port, .. } | Self::Ssh { host, port, .. } => {
                if host.contains(':') {
                    format!("[{host}]:{port}")
                } else {
                    format!("{host}:{port}")
                }
            }
        }
    }

    /// The address to which all users connect, looked up once.
    pub fn resolve(&self) -> io::Result<Option<SocketAddr>> {
        let Self::Remote { host, port, .. } = self else {
            return Ok(None);
        };
        first_address(host, *port)?
            .map(Some)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address"))
    }
}

/// Of this name's addresses the first of IPv4, else the first.
pub fn first_address(host: &str, port: u16) -> io::Result<Option<SocketAddr>> {
    let all: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
    Ok(all
        .iter()
        .find(|address| address.is_ipv4())
        .or(all.first())
        .copied())
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pty => return f.write_str("pty"),
            Self::Remote { protocol, tls, .. } => f.write_str(match (protocol, tls) {
                (Protocol::Tcp, false) => "tcp:",
                (Protocol::Tcp, true) => "tls:",
                (Protocol::Telnet, _) => "telnet:",
                (Protocol::Http, false) => "http://",
                (Protocol::Http, true) => "https://",
            })?,
            Self::Ssh { user, .. } => {
                f.write_str("ssh:")?;
                if let Some(user) = user {
                    write!(f, "{user}@")?;
                }
            }
        }
        f.write_str(&self.place())
    }
}

/// Opens lines.
#[derive(Debug)]
pub enum Lines {
    Pty(Launcher),
    Remote {
        address: SocketAddr,
        protocol: Protocol,
        echo: Option<bool>,
        tls: Option<tls::Client>,
    },
    Ssh(Ssh),
    Ssh2(Ssh2),
}

/// What a look at a line gave.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// So many bytes of text, possibly none.
    Data(usize),
    Later,
    /// The line is of no use any more; how that came, as the end of a sentence about the other side.
    Ended(String),
    /// The same, and not by the other side's will: what came last may lack its end.
    Lost(String),
    /// The same of a line that never came to be.
    Refused(String),
}

/// One user's open line.
#[derive(Debug)]
pub enum Link {
    Pty(Started),
    Socket(Socket),
    Ssh(Session),
    Ssh2(Line),
}

impl Link {
    /// Begins to connect.
    pub fn connect(
        address: SocketAddr,
        protocol: Protocol,
        echo: Option<bool>,
        tls: Option<&tls::Client>,
    ) -> io::Result<Self> {
        Socket::connect(address, protocol, echo, tls).map(Self::Socket)
    }

    pub fn fd(&self) -> RawFd {
        match self {
            Self::Pty(pty) => pty.master.as_raw_fd(),
            Self::Socket(socket) => socket.fd(),
            Self::Ssh(session) => session.fd(),
            Self::Ssh2(line) => line.fd(),
        }
    }

    /// The shell's process, where it runs on this host.
    pub fn pid(&self) -> Option<i32> {
        match self {
            Self::Pty(pty) => Some(pty.pid),
            Self::Socket(_) | Self::Ssh(_) | Self::Ssh2(_) => None,
        }
    }

    /// The process on this host that carries the line.
    pub fn client(&self) -> Option<i32> {
        match self {
            Self::Ssh(session) => session.client(),
            Self::Pty(_) | Self::Socket(_) | Self::Ssh2(_) => None,
        }
    }

    /// True once the line stands; the error if it cannot be had.
    pub fn establish(&mut self) -> io::Result<bool> {
        match self {
            Self::Pty(_) | Self::Ssh(_) => Ok(true),
            Self::Socket(socket) => socket.establish(),
            Self::Ssh2(line) => line.establish(),
        }
    }

    /// How the poll is to watch it.
    pub fn watch(&self) -> Watch {
        match self {
            Self::Pty(_) => Watch::Arrivals,
            Self::Ssh(_) => Watch::Input,
            Self::Ssh2(line) => line.watch(),
            Self::Socket(socket) if socket.wants_to_write() => Watch::InputAndOutput,
            Self::Socket(_) => Watch::Input,
        }
    }

    /// What comes may wait until the line is looked at anyway; a socket's other end may want answers.
    pub fn may_wait(&self) -> bool {
        match self {
            Self::Pty(_) | Self::Ssh(_) => true,
            Self::Socket(_) => false,
            Self::Ssh2(line) => !line.is_shared() && line.watch() == Watch::Input,
        }
    }

    /// Several users' lines are one connection, which is polled by its own number.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Ssh2(line) if line.is_shared())
    }

    /// A shared line has something to read or to say.
    pub fn has_news(&self) -> bool {
        matches!(self, Self::Ssh2(line) if line.has_news())
    }

    /// What is typed comes back before the response.
    pub fn echoes(&self) -> bool {
        match self {
            Self::Pty(_) | Self::Ssh(_) | Self::Ssh2(_) => true,
            Self::Socket(socket) => socket.echoes(),
        }
    }

    /// An interrupt key reaches the command.
    pub fn takes_interrupts(&self) -> bool {
        match self {
            Self::Pty(_) | Self::Ssh(_) | Self::Ssh2(_) => true,
            Self::Socket(socket) => socket.is_telnet(),
        }
    }

    /// Reads what has come.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Received {
        match self {
            Self::Pty(pty) => pty.receive(buffer),
            Self::Socket(socket) => socket.receive(buffer),
            Self::Ssh(session) => session.receive(buffer),
            Self::Ssh2(line) => line.receive(buffer),
        }
    }

    /// Sends text; gives how many bytes of it were taken, 0 where none can be now.
    pub fn send(&mut self, text: &[u8]) -> io::Result<usize> {
        match self {
            Self::Pty(pty) => pty.send(text),
            Self::Ssh(session) => session.send(text),
            Self::Ssh2(line) => line.send(text),
            Self::Socket(socket) => Ok(if socket.send(text)? { text.len() } else { 0 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_and_written_alike() {
        for text in [
            "pty",
            "tcp:127.0.0.1:7000",
            "telnet:localhost:23",
            "tcp:[::1]:9",
            "ssh:load@host:22",
            "ssh:[::1]:22",
            "http://localhost:80",
            "tls:localhost:853",
            "https://[::1]:8443",
        ] {
            assert_eq!(Target::parse(text).unwrap().to_string(), text);
        }
        for wrong in [
            "",
            "ssh:@host:22",
            "http:host:80",
            "https:host:443",
            "https://",
            "https://host:443/path",
            "https://host/path",
            "https://::1",
            "tls:host",
            "http://host",
            "http://host:80/path",
            "ssh:a b@host:22",
            "ssh:host",
            "tcp:a b:7",
            "tcp:host",
            "tcp:host:0",
            "tcp::1",
            "tcp:host:99999",
            "tcp:::1:9",
        ] {
            assert!(Target::parse(wrong).is_err(), "{wrong}");
        }
        for (short, long) in [
            ("https://host", "https://host:443"),
            ("https://[::1]/", "https://[::1]:443"),
        ] {
            assert_eq!(Target::parse(short).unwrap().to_string(), long);
        }
        let loopback = Target::parse("tcp:127.0.0.1:7000").unwrap().resolve().unwrap();
        assert!(loopback.unwrap().ip().is_loopback());
        assert_eq!(Target::Pty.resolve().unwrap(), None);
    }
}
