//! Keys of hosts that are known.

use std::ffi::{CStr, CString, c_int, c_void};
use std::fmt;
use std::ptr::{self, NonNull};
use std::rc::Rc;

use super::{Library, Session};

// Constants of its headers.
const OPENSSH: c_int = 1;
/// A plain name, and a key that is not in base64.
const PLAIN_AND_RAW: c_int = 1 | 1 << 16;
const KIND_SHIFT: c_int = 18;
const MATCH: c_int = 0;
const MISMATCH: c_int = 1;

/// Kinds of key: what they are called in a handshake, LIBSSH2_HOSTKEY_TYPE_…, LIBSSH2_KNOWNHOST_KEY_….
const KINDS: [(&str, c_int, c_int); 5] = [
    ("ssh-ed25519", 6, 7),
    ("ecdsa-sha2-nistp256", 3, 4),
    ("ecdsa-sha2-nistp384", 4, 5),
    ("ecdsa-sha2-nistp521", 5, 6),
    ("rsa-sha2-512,rsa-sha2-256,ssh-rsa", 1, 2),
];

/// What is known of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// It is this host's.
    Yes,
    /// The host has another one.
    Other,
    /// Nothing.
    No,
}

/// A collection of hosts' keys.
pub struct KnownHosts {
    /// A LIBSSH2_KNOWNHOSTS.
    hosts: NonNull<c_void>,
    /// Whose memory it uses; it is never connected.
    session: Session,
}

impl fmt::Debug for KnownHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KnownHosts")
    }
}

impl KnownHosts {
    pub fn new(library: &Rc<Library>) -> Result<Self, String> {
        let session = Session::new(library, None)?;
        // SAFETY: the session is valid and lives as long.
        let made = unsafe { (session.functions().libssh2_knownhost_init)(session.session.as_ptr()) };
        let hosts = NonNull::new(made).ok_or("it keeps no known hosts")?;
        Ok(Self { hosts, session })
    }

    /// Takes in a line of a file of known hosts; false: it is none.
    pub fn add(&mut self, line: &str) -> bool {
        let Ok(text) = CString::new(line) else {
            return false;
        };
        // SAFETY: the collection is valid, the line as long as said, with a NUL behind it.
        let code = unsafe {
            let call = self.session.functions().libssh2_knownhost_readline;
            call(self.hosts.as_ptr(), text.as_ptr(), text.count_bytes(), OPENSSH)
        };
        code == 0
    }

    fn ask(&self, (host, port): (&CStr, c_int), key: &[u8], kind: c_int) -> c_int {
        // SAFETY: the collection is valid, the key as long as said; what is found is not asked for.
        unsafe {
            let call = self.session.functions().libssh2_knownhost_checkp;
            let kind = PLAIN_AND_RAW | kind << KIND_SHIFT;
            call(
                self.hosts.as_ptr(),
                host.as_ptr(),
                port,
                key.as_ptr().cast(),
                key.len(),
                kind,
                ptr::null_mut(),
            )
        }
    }

    /// Looks for a host's key of a kind (LIBSSH2_HOSTKEY_TYPE_…); port None: by the name alone.
    pub fn look_up(&self, host: &CStr, port: Option<u16>, key: &[u8], kind: c_int) -> Known {
        let Some((_, _, kind)) = KINDS.iter().find(|(_, found, _)| *found == kind) else {
            return Known::No;
        };
        match self.ask((host, port.map_or(-1, c_int::from)), key, *kind) {
            MATCH => Known::Yes,
            MISMATCH => Known::Other,
            _ => Known::No,
        }
    }

    /// The kinds of key that a handshake may use, those that are known of the host first; None: none is.
    pub fn kinds(&self, host: &CStr, port: Option<u16>) -> Option<CString> {
        // Of a kind that is known this is another key.
        let known = |kind| self.look_up(host, port, b"none", kind) == Known::Other;
        let (first, then): (Vec<_>, Vec<_>) = KINDS.into_iter().partition(|kind| known(kind.1));
        let names: Vec<&str> = first.iter().chain(&then).map(|kind| kind.0).collect();
        CString::new(names.join(",")).ok().filter(|_| !first.is_empty())
    }
}

impl Drop for KnownHosts {
    fn drop(&mut self) {
        // SAFETY: made by libssh2_knownhost_init and owned here; the session is freed after it.
        unsafe { (self.session.functions().libssh2_knownhost_free)(self.hosts.as_ptr()) };
    }
}
