//! What all connections to one host share: where it is, who comes, which keys prove either side.

use std::ffi::{CStr, CString};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;

use super::library::{Known, KnownHosts, Library, NAMES, Session};

/// A key that may be offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// All that the account's agent holds.
    Agent,
    /// Without a passphrase.
    File(CString),
}

/// What is to be reached and how.
#[derive(Debug, Clone)]
pub struct Wish {
    pub address: SocketAddr,
    /// As known hosts name it; port None: by the name alone.
    pub name: CString,
    pub port: Option<u16>,
    pub user: CString,
    pub keys: Vec<Key>,
    /// Files of known hosts; those that are not there hold none.
    pub known: Vec<PathBuf>,
    /// What the terminal is called.
    pub terminal: CString,
}

/// Makes the sessions of every connection to one host.
#[derive(Debug)]
pub struct Client {
    pub wish: Wish,
    library: Rc<Library>,
    known: KnownHosts,
    /// Keys that nobody is to believe any more.
    revoked: KnownHosts,
    /// The kinds of key with which the host can prove itself.
    kinds: Option<CString>,
}

/// Under which revoked keys are kept: the words for their hosts may be patterns, so that they are taken for any host.
const ANY: &CStr = c"revoked";

/// What is wrong with the key with which a host proved itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disbelief {
    Unknown,
    Other,
    Revoked,
}

impl Client {
    /// The error says why there is no libssh2.
    pub fn new(wish: Wish) -> Result<Self, String> {
        Self::with(&NAMES, wish)
    }

    pub(super) fn with(names: &[&CStr], wish: Wish) -> Result<Self, String> {
        let library = Rc::new(Library::load(names)?);
        let (mut known, mut revoked) = (KnownHosts::new(&library)?, KnownHosts::new(&library)?);
        for file in &wish.known {
            let text = std::fs::read(file).unwrap_or_default();
            for line in String::from_utf8_lossy(&text).lines() {
                match line.trim().strip_prefix("@revoked") {
                    Some(rest) => {
                        let key = rest
                            .trim_start()
                            .split_once([' ', '\t'])
                            .map_or("", |(_, key)| key);
                        revoked.add(&format!("revoked {key}"));
                    }
                    // A certificate's authority: certificates are not known to libssh2. Other lines may be of no use.
                    None if line.trim_start().starts_with('@') => {}
                    None => drop(known.add(line.trim())),
                }
            }
        }
        let kinds = known.kinds(&wish.name, wish.port);
        Ok(Self {
            wish,
            library,
            known,
            revoked,
            kinds,
        })
    }

    pub fn version(&self) -> &str {
        &self.library.version
    }

    /// For a connection that is being made.
    pub fn session(&self) -> Result<Session, String> {
        Session::new(&self.library, self.kinds.as_deref())
    }

    /// Whether the key with which a host proved itself is this host's.
    pub fn believes(&self, session: &Session) -> Result<(), Disbelief> {
        let Some((key, kind)) = session.host_key() else {
            return Err(Disbelief::Unknown);
        };
        if self.revoked.look_up(ANY, None, &key, kind) == Known::Yes {
            return Err(Disbelief::Revoked);
        }
        match self.known.look_up(&self.wish.name, self.wish.port, &key, kind) {
            Known::Yes => Ok(()),
            // Also one of a kind of which nothing is known, where others are.
            Known::No if self.kinds.is_none() => Err(Disbelief::Unknown),
            Known::Other | Known::No => Err(Disbelief::Other),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use proptest::prelude::*;

    use super::super::library::Step;
    use super::*;

    fn wish() -> Wish {
        Wish {
            address: ([127, 0, 0, 1], 22).into(),
            name: c"localhost".to_owned(),
            port: Some(22),
            user: c"load".to_owned(),
            keys: Vec::new(),
            known: vec!["/nowhere".into()],
            terminal: c"dumb".to_owned(),
        }
    }

    #[test]
    fn a_host_without_libssh2_is_told() {
        let why = Client::with(&[c"libssh2.so.none"], wish()).unwrap_err();
        assert!(why.contains("libssh2.so.none"), "{why}");
        // A library, but not this one.
        let why = Client::with(&[c"libc.so.6"], wish()).unwrap_err();
        assert!(why.contains("libc.so.6: it has no libssh2_init"), "{why}");
    }

    #[test]
    fn a_session_that_never_shook_hands_proves_nothing() {
        let Ok(client) = Client::new(wish()) else { return };
        assert!(client.version().starts_with("1.") && client.kinds.is_none());
        let session = client.session().unwrap();
        assert_eq!(client.believes(&session), Err(Disbelief::Unknown));
    }

    #[test]
    fn hostile_bytes_end_the_handshake_or_leave_it_open() {
        let Ok(client) = Client::new(wish()) else { return };
        let (near, _far) = std::os::unix::net::UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        proptest!(|(bytes in prop::collection::vec(any::<u8>(), 0..400), spoken in any::<bool>(), kind in 0..100u8)| {
            let mut session = client.session().unwrap();
            let mut came = Vec::new();
            if spoken {
                // A first packet of the right form, of any kind.
                let length = (bytes.len() as u32 + 6).to_be_bytes();
                came.extend_from_slice(b"SSH-2.0-x\r\n");
                came.extend_from_slice(&length);
                came.extend_from_slice(&[4, kind]);
            }
            came.extend_from_slice(&bytes);
            came.extend_from_slice(&[0; 4]);
            session.fill(&came[..]).unwrap();
            prop_assert!(!matches!(session.handshake(near.as_raw_fd()), Step::Done(_)));
            prop_assert!(session.is_full(), "it has begun");
            prop_assert_eq!(client.believes(&session), Err(Disbelief::Unknown));
        });
    }
}
