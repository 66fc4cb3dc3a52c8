//! The host's own libssh2, loaded when a line needs it: the few functions of it that a client calls, and safe hands on them.
//!
//! A session reads and writes memory, never the socket, so that no call of it is ever left half-sent: what came is
//! filled in, what is to go is drained. Everything is used by one thread.

mod channels;
mod known;
mod memory;
mod proof;

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt;
use std::io::{self, Read, Write};
use std::ptr::{self, NonNull};
use std::rc::Rc;

pub use channels::Channel;
pub use known::{Known, KnownHosts};
use memory::Memory;

use crate::lines::loaded::{Opaque, functions, open, word};

/// The name it goes by.
pub const NAMES: [&CStr; 1] = [c"libssh2.so.1"];

// Constants of its headers, which never change within the name above.
/// 1.9: the first that knows Ed25519 in known_hosts.
const LEAST_VERSION: c_int = 0x01_09_00;
const CALLBACK_SEND: c_int = 5;
const CALLBACK_RECEIVE: c_int = 6;
const METHOD_HOST_KEY: c_int = 1;
const ERROR_EAGAIN: c_int = -37;
/// The connection itself is of no use any more: sending, time, disconnected, protocol, receiving.
const FATAL: [c_int; 5] = [-7, -9, -13, -14, -43];
const BY_APPLICATION: c_int = 11;

functions! {
    libssh2_init(c_int) -> c_int;
    libssh2_version(c_int) -> *const c_char;
    libssh2_session_init_ex(Opaque, Opaque, Opaque, Opaque) -> Opaque;
    libssh2_session_free(Opaque) -> c_int;
    libssh2_session_set_blocking(Opaque, c_int);
    libssh2_session_callback_set(Opaque, c_int, Opaque) -> Opaque;
    libssh2_session_method_pref(Opaque, c_int, *const c_char) -> c_int;
    libssh2_session_handshake(Opaque, c_int) -> c_int;
    libssh2_session_hostkey(Opaque, *mut usize, *mut c_int) -> *const c_char;
    libssh2_session_last_error(Opaque, *mut *mut c_char, *mut c_int, c_int) -> c_int;
    libssh2_session_disconnect_ex(Opaque, c_int, *const c_char, *const c_char) -> c_int;
    libssh2_userauth_publickey_fromfile_ex(
        Opaque, *const c_char, c_uint, *const c_char, *const c_char, *const c_char
    ) -> c_int;
    libssh2_agent_init(Opaque) -> Opaque;
    libssh2_agent_connect(Opaque) -> c_int;
    libssh2_agent_list_identities(Opaque) -> c_int;
    libssh2_agent_get_identity(Opaque, *mut Opaque, Opaque) -> c_int;
    libssh2_agent_userauth(Opaque, *const c_char, Opaque) -> c_int;
    libssh2_agent_disconnect(Opaque) -> c_int;
    libssh2_agent_free(Opaque);
    libssh2_channel_open_ex(Opaque, *const c_char, c_uint, c_uint, c_uint, *const c_char, c_uint) -> Opaque;
    libssh2_channel_request_pty_ex(
        Opaque, *const c_char, c_uint, *const c_char, c_uint, c_int, c_int, c_int, c_int
    ) -> c_int;
    libssh2_channel_process_startup(Opaque, *const c_char, c_uint, *const c_char, c_uint) -> c_int;
    libssh2_channel_read_ex(Opaque, c_int, *mut c_char, usize) -> isize;
    libssh2_channel_write_ex(Opaque, c_int, *const c_char, usize) -> isize;
    libssh2_channel_eof(Opaque) -> c_int;
    libssh2_poll_channel_read(Opaque, c_int) -> c_int;
    libssh2_channel_free(Opaque) -> c_int;
    libssh2_knownhost_init(Opaque) -> Opaque;
    libssh2_knownhost_readline(Opaque, *const c_char, usize, c_int) -> c_int;
    libssh2_knownhost_checkp(
        Opaque, *const c_char, c_int, *const c_char, usize, c_int, *mut Opaque
    ) -> c_int;
    libssh2_knownhost_free(Opaque);
}

/// The library.
pub struct Library {
    functions: Functions,
    pub version: String,
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "libssh2 {}", self.version)
    }
}

impl Library {
    /// The first of these names that the host has; the error says why there is none.
    pub fn load(names: &[&CStr]) -> Result<Self, String> {
        let (library, name) = open(names)?;
        let name = name.to_string_lossy();
        let functions = Functions::find(library).map_err(|what| format!("{name}: {what}"))?;
        // SAFETY: plain numbers; this thread alone begins to use it.
        let (begun, version) = unsafe {
            let version = (functions.libssh2_version)(LEAST_VERSION);
            ((functions.libssh2_init)(0) == 0, version)
        };
        if version.is_null() || !begun {
            return Err(format!("{name}: it is older than 1.9, or cannot begin"));
        }
        let version = word(version);
        Ok(Self { functions, version })
    }
}

/// What one call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<T> {
    Done(T),
    /// More must come in first.
    Wants,
    Failed(Fault),
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Nothing more comes of this connection.
    pub fatal: bool,
    /// libssh2's words.
    pub words: String,
}

impl Fault {
    /// One that leaves the connection as it was.
    fn of(words: &str) -> Self {
        Self {
            fatal: false,
            words: words.to_owned(),
        }
    }
}

/// One connection.
pub struct Session {
    library: Rc<Library>,
    /// A LIBSSH2_SESSION.
    session: NonNull<c_void>,
    memory: Rc<RefCell<Memory>>,
    /// LIBSSH2_CHANNELs; none: freed.
    channels: Vec<Option<NonNull<c_void>>>,
    /// A LIBSSH2_AGENT and its keys.
    agent: Option<(NonNull<c_void>, Vec<Opaque>)>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session, {} channels", self.channels.len())
    }
}

/// Gives libssh2 what came; as recv(2), but for the error, which is negative.
unsafe extern "C" fn receive(
    socket: c_int,
    buffer: *mut c_void,
    length: usize,
    flags: c_int,
    place: *mut Opaque,
) -> isize {
    // SAFETY: the session was made with this memory, which lives as long as it.
    let memory = unsafe { &*(*place).cast::<RefCell<Memory>>() };
    match memory.try_borrow_mut() {
        Ok(mut memory) if memory.is_for(socket) => {
            // SAFETY: the buffer is as long as said.
            memory.give(unsafe { std::slice::from_raw_parts_mut(buffer.cast(), length) })
        }
        // SAFETY: likewise. The agent's socket, which libssh2 has opened itself.
        Ok(_) => negative(unsafe { libc::recv(socket, buffer, length, flags) }),
        Err(_) => -libc::EIO as isize,
    }
}

/// Takes from libssh2 what is to go; as send(2), but for the error, which is negative.
unsafe extern "C" fn send(
    socket: c_int,
    buffer: *const c_void,
    length: usize,
    flags: c_int,
    place: *mut Opaque,
) -> isize {
    // SAFETY: as above.
    let memory = unsafe { &*(*place).cast::<RefCell<Memory>>() };
    match memory.try_borrow_mut() {
        Ok(mut memory) if memory.is_for(socket) => {
            // SAFETY: the buffer is as long as said.
            memory.take(unsafe { std::slice::from_raw_parts(buffer.cast(), length) })
        }
        // SAFETY: likewise, and as above.
        Ok(_) => negative(unsafe { libc::send(socket, buffer, length, flags | libc::MSG_NOSIGNAL) }),
        Err(_) => -libc::EIO as isize,
    }
}

/// A system call's result, or its error as libssh2 wants it.
fn negative(result: isize) -> isize {
    if result >= 0 {
        return result;
    }
    let error = io::Error::last_os_error().raw_os_error();
    -(error.unwrap_or(libc::EIO) as isize)
}

fn size(length: usize) -> c_uint {
    c_uint::try_from(length).unwrap_or(c_uint::MAX)
}

impl Session {
    /// `host_keys`: the kinds of key that the host is to prove itself with, the best first; None: any.
    pub fn new(library: &Rc<Library>, host_keys: Option<&CStr>) -> Result<Self, String> {
        let f = &library.functions;
        let memory = Rc::new(RefCell::new(Memory::default()));
        let (none, place) = (ptr::null_mut(), Rc::as_ptr(&memory).cast_mut().cast());
        // SAFETY: no functions for memory means malloc's; the place is given back to the callbacks alone.
        let made = NonNull::new(unsafe { (f.libssh2_session_init_ex)(none, none, none, place) });
        let session = made.ok_or("it makes no session")?;
        // SAFETY: the session is valid, the callbacks have the types of its headers, the text ends with a NUL and is copied.
        unsafe {
            let session = session.as_ptr();
            (f.libssh2_session_set_blocking)(session, 0);
            (f.libssh2_session_callback_set)(session, CALLBACK_RECEIVE, receive as *mut c_void);
            (f.libssh2_session_callback_set)(session, CALLBACK_SEND, send as *mut c_void);
            if let Some(kinds) = host_keys {
                // If it knows none of them any key may come, and is looked up all the same.
                (f.libssh2_session_method_pref)(session, METHOD_HOST_KEY, kinds.as_ptr());
            }
        }
        Ok(Self {
            library: Rc::clone(library),
            session,
            memory,
            channels: Vec::new(),
            agent: None,
        })
    }

    /// Reads once what has come; gives the bytes.
    pub fn fill(&mut self, from: impl Read) -> io::Result<usize> {
        self.memory.borrow_mut().fill(from)
    }

    /// Writes what is to go, as far as it goes now.
    pub fn drain(&mut self, to: impl Write) -> io::Result<()> {
        self.memory.borrow_mut().drain(to)
    }

    /// Something is to go.
    pub fn is_full(&self) -> bool {
        self.memory.borrow().is_full()
    }

    fn functions(&self) -> &Functions {
        &self.library.functions
    }

    /// The code of the latest failure, and what it was.
    fn fault(&self) -> (c_int, Fault) {
        let mut text = ptr::null_mut();
        // SAFETY: the session is valid and keeps the text, of which no copy is asked for.
        let code = unsafe {
            let call = self.functions().libssh2_session_last_error;
            call(self.session.as_ptr(), &mut text, ptr::null_mut(), 0)
        };
        let fatal = FATAL.contains(&code);
        (
            code,
            Fault {
                fatal,
                words: word(text),
            },
        )
    }

    fn step(&self, code: isize) -> Step<usize> {
        match usize::try_from(code) {
            Ok(done) => Step::Done(done),
            Err(_) if code == ERROR_EAGAIN as isize => Step::Wants,
            Err(_) => Step::Failed(Fault {
                fatal: FATAL.contains(&(code as c_int)),
                ..self.fault().1
            }),
        }
    }

    /// Goes on with the handshake.
    pub fn handshake(&mut self, socket: c_int) -> Step<usize> {
        self.memory.borrow_mut().serve(socket);
        // SAFETY: the session is valid; of the socket it only asks whether it blocks.
        let code = unsafe { (self.functions().libssh2_session_handshake)(self.session.as_ptr(), socket) };
        self.step(code as isize)
    }

    /// Says to the host that the connection ends.
    pub fn disconnect(&mut self) {
        // SAFETY: the session is valid, the texts end with a NUL and are copied.
        unsafe {
            let call = self.functions().libssh2_session_disconnect_ex;
            call(
                self.session.as_ptr(),
                BY_APPLICATION,
                c"logged off".as_ptr(),
                c"".as_ptr(),
            );
        }
    }

    /// The key with which the host has proved itself, and its kind (LIBSSH2_HOSTKEY_TYPE_…).
    pub fn host_key(&self) -> Option<(Vec<u8>, c_int)> {
        let (mut length, mut kind) = (0, 0);
        // SAFETY: the session is valid and keeps the key, which is copied here.
        unsafe {
            let (session, f) = (self.session.as_ptr(), self.functions());
            let key = (f.libssh2_session_hostkey)(session, &mut length, &mut kind);
            let bytes = |key: *const c_char| std::slice::from_raw_parts(key.cast(), length).to_vec();
            (!key.is_null()).then(|| (bytes(key), kind))
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.leave_agent();
        // Else it would wait for what the host says to the end of its channels.
        self.memory.borrow_mut().end();
        // SAFETY: made by libssh2_session_init_ex and owned here, with its channels.
        unsafe { (self.functions().libssh2_session_free)(self.session.as_ptr()) };
    }
}
