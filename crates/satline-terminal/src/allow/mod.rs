//! Leave to drive a host that is not this one.
//!
//! Two must agree: whoever runs the emulator names the host in a list (`--allow`), and whoever owns the host runs
//! `satline-terminal allow` on it, which answers at the very address that is driven. What was agreed on is bounded by
//! the owner, and over when the owner's program ends: the emulator keeps the connection and stops when it closes.
//! The token is sent in the clear: it keeps mistakes out, not somebody who listens on the network.

pub mod file;
mod list;
mod owner;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::Duration;

use satline_program::Error;

pub use list::{Allowed, find};
pub use owner::{Owner, serve};

const PATIENCE: Duration = Duration::from_secs(5);
/// Longest line of the conversation, bytes.
const LINE_LIMIT: u64 = 512;

/// What the emulator is about to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ask {
    /// The port to be driven.
    pub port: u16,
    pub users: usize,
    /// Lines a second, at most.
    pub rate: f64,
    pub seconds: f64,
}

impl Ask {
    fn line(&self, token: &str) -> String {
        let Self {
            port,
            users,
            rate,
            seconds,
        } = self;
        format!("satline-ask 1 {token} {port} {users} {rate} {seconds:.0}\n")
    }

    /// The token and what is asked; None: not one of our lines.
    fn parse(line: &str) -> Option<(&str, Self)> {
        let mut words = line.strip_prefix("satline-ask 1 ")?.split_whitespace();
        let token = words.next()?;
        let ask = Self {
            port: words.next()?.parse().ok()?,
            users: words.next()?.parse().ok()?,
            rate: words.next()?.parse().ok()?,
            seconds: words.next()?.parse().ok()?,
        };
        let sound = ask.rate.is_finite() && ask.seconds.is_finite() && words.next().is_none();
        sound.then_some((token, ask))
    }
}

/// The owner's leave, for as long as this connection stands.
#[derive(Debug)]
pub struct Consent {
    connection: File,
    /// The process on this host that carries it, if there is one.
    pub client: Option<i32>,
}

impl Consent {
    pub fn fd(&self) -> RawFd {
        self.connection.as_raw_fd()
    }

    /// The owner has closed the connection, or it is lost.
    pub fn is_withdrawn(&mut self) -> bool {
        let mut buffer = [0u8; 64];
        match self.connection.read(&mut buffer) {
            Ok(got) => got == 0,
            Err(error) => !matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ),
        }
    }
}

/// Looks the host up in the list and asks its owner.
///
/// Errors have exit code 2: no list, not in it, nobody answers at `address`, or the answer is no.
pub fn consent(list: Option<&Path>, host: &str, address: IpAddr, ask: &Ask) -> Result<Consent, Error> {
    let list = listed(
        list,
        host,
        "have its owner run `satline-terminal allow` there, and name the list with --allow",
    )?;
    let allowed = find(list, host, ask.port)?;
    let Some((confirm_port, token)) = allowed.program else {
        let what = format!("{}: {host}: confirm_port and token are missing", list.display());
        return Err(Error::input(
            what,
            "put in what the owner's `satline-terminal allow` prints",
        ));
    };
    let place = SocketAddr::new(address, confirm_port);
    let refused = |what: String| {
        let what = format!("{}: {host}: {what}", list.display());
        Error::input(
            what,
            "ask the owner of the host to run `satline-terminal allow` there",
        )
    };
    let answer = converse(place, &ask.line(&token));
    match answer.map_err(|error| refused(format!("nobody confirms at {place}: {error}")))? {
        (stream, answer) if answer == "satline-yes" => Ok(Consent {
            connection: File::from(OwnedFd::from(stream)),
            client: None,
        }),
        (_, answer) => match answer.strip_prefix("satline-no ") {
            Some(why) => Err(refused(format!("its owner says no: {why}"))),
            None => Err(refused(format!(
                "what answers at {place} is no `satline-terminal allow`"
            ))),
        },
    }
}

fn listed<'a>(list: Option<&'a Path>, host: &str, hint: &str) -> Result<&'a Path, Error> {
    list.ok_or_else(|| {
        Error::input(
            format!("the line leads to {host}, which is not this host, and there is no list (--allow)"),
            hint,
        )
    })
}

fn converse(place: SocketAddr, line: &str) -> io::Result<(TcpStream, String)> {
    let mut stream = TcpStream::connect_timeout(&place, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(line.as_bytes())?;
    let mut answer = String::new();
    BufReader::new((&stream).take(LINE_LIMIT)).read_line(&mut answer)?;
    stream.set_nonblocking(true)?;
    Ok((stream, answer.trim_end().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask() -> Ask {
        Ask {
            port: 23,
            users: 10,
            rate: 100.0,
            seconds: 60.0,
        }
    }

    /// An owner on loopback, and a list that holds its token.
    fn owner(place: &Path, until: Duration) -> std::path::PathBuf {
        let owner = Owner::new(
            "127.0.0.1:0".parse().unwrap(),
            "127.0.0.1".parse().unwrap(),
            ask(),
            until,
        )
        .unwrap();
        let list = place.join("allow.toml");
        std::fs::write(&list, owner.entry("target.example")).unwrap();
        std::thread::spawn(move || owner.run());
        list
    }

    fn to_owner(list: &Path, ask: &Ask) -> Result<Consent, Error> {
        consent(Some(list), "target.example", "127.0.0.1".parse().unwrap(), ask)
    }

    #[test]
    fn an_owner_agrees_within_bounds_and_may_withdraw() {
        let place = tempfile::tempdir().unwrap();
        let list = owner(place.path(), Duration::from_secs(8));
        for (wrong, word) in [
            (Ask { port: 24, ..ask() }, "port 24"),
            (Ask { users: 11, ..ask() }, "users"),
            (Ask { rate: 101.0, ..ask() }, "lines a second"),
            (
                Ask {
                    seconds: 61.0,
                    ..ask()
                },
                "seconds",
            ),
        ] {
            let text = to_owner(&list, &wrong).unwrap_err().message;
            assert!(text.contains(word), "{text}");
        }
        let mut consent = to_owner(&list, &ask()).unwrap();
        assert!(!consent.is_withdrawn());
        let began = std::time::Instant::now();
        while !consent.is_withdrawn() {
            assert!(began.elapsed() < Duration::from_secs(180), "its time is over");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn nobody_answers_or_somebody_else_does() {
        let place = tempfile::tempdir().unwrap();
        let list = owner(place.path(), Duration::from_secs(60));
        let text = std::fs::read_to_string(&list).unwrap();
        let token = text.split('"').nth(3).unwrap();
        std::fs::write(&list, text.replace(token, "0123456789abcdef")).unwrap();
        assert!(to_owner(&list, &ask()).unwrap_err().message.contains("token"));
        let stranger = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = stranger.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = stranger.accept().unwrap();
            stream.write_all(b"SSH-2.0\r\n").unwrap();
        });
        let entry = format!(
            "[[target]]\nhost = \"target.example\"\nport = 23\nconfirm_port = {port}\ntoken = \"0123456789abcdef\"\n"
        );
        std::fs::write(&list, &entry).unwrap();
        assert!(
            to_owner(&list, &ask())
                .unwrap_err()
                .message
                .contains("is no `satline")
        );
        assert!(
            to_owner(&list, &ask())
                .unwrap_err()
                .message
                .contains("nobody confirms")
        );
        let unlisted =
            consent(Some(&list), "other.example", "127.0.0.1".parse().unwrap(), &ask()).unwrap_err();
        assert!(unlisted.message.contains("other.example") && unlisted.exit_code() == 2);
        assert!(consent(None, "other.example", "127.0.0.1".parse().unwrap(), &ask()).is_err());
    }

    #[test]
    fn hostile_questions_are_none() {
        for wrong in [
            "",
            "satline-ask 1 ",
            "satline-ask 1 t 1 2 NaN 4",
            "satline-ask 1 t 1 2 3 4 5",
            "GET / HTTP/1.1",
        ] {
            assert!(Ask::parse(wrong).is_none(), "{wrong}");
        }
        let line = ask().line("token");
        assert_eq!(Ask::parse(line.trim_end()), Some(("token", ask())));
    }
}
