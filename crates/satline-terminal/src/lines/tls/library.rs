//! The host's own OpenSSL, loaded when a line needs it: the few functions of it that a client calls, and safe hands on them.
//!
//! A session reads and writes memory, never the socket: what came is fed in, what is to go is taken out. Everything is
//! used by one thread; an error is taken off OpenSSL's list where it arises, so that the list is empty at every call.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_ulong, c_void};
use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::rc::Rc;

use crate::lines::loaded::{Opaque, functions, open, word};

/// The names it goes by, the newest first. Both have every function below.
pub const NAMES: [&CStr; 2] = [c"libssl.so.3", c"libssl.so.1.1"];

/// Longest text in a record, bytes [RFC 8446, 5.1].
pub const RECORD: usize = 16 * 1024;

// Constants of its headers, which never change within a name above.
const ERROR_SSL: c_int = 1;
const ERROR_WANT_READ: c_int = 2;
const ERROR_ZERO_RETURN: c_int = 6;
const VERIFY_PEER: c_int = 1;
const CTRL_MODE: c_int = 33;
const CTRL_SERVER_NAME: c_int = 55;
const CTRL_SET_LEAST_VERSION: c_int = 123;
const CTRL_GET_LEAST_VERSION: c_int = 130;
/// Part of a text may be taken, and the rest offered from another place.
const MODES: c_long = 1 | 2;
const TLS_1_2: c_long = 0x0303;

functions! {
    TLS_client_method() -> Opaque;
    SSL_CTX_new(Opaque) -> Opaque;
    SSL_CTX_free(Opaque);
    SSL_CTX_ctrl(Opaque, c_int, c_long, Opaque) -> c_long;
    SSL_CTX_set_verify(Opaque, c_int, Opaque);
    SSL_CTX_set_default_verify_paths(Opaque) -> c_int;
    SSL_CTX_load_verify_locations(Opaque, *const c_char, *const c_char) -> c_int;
    SSL_new(Opaque) -> Opaque;
    SSL_free(Opaque);
    SSL_set_bio(Opaque, Opaque, Opaque);
    SSL_ctrl(Opaque, c_int, c_long, Opaque) -> c_long;
    SSL_set1_host(Opaque, *const c_char) -> c_int;
    SSL_get0_param(Opaque) -> Opaque;
    X509_VERIFY_PARAM_set1_ip_asc(Opaque, *const c_char) -> c_int;
    SSL_connect(Opaque) -> c_int;
    SSL_read(Opaque, Opaque, c_int) -> c_int;
    SSL_write(Opaque, *const c_void, c_int) -> c_int;
    SSL_shutdown(Opaque) -> c_int;
    SSL_get_error(Opaque, c_int) -> c_int;
    SSL_get_verify_result(Opaque) -> c_long;
    X509_verify_cert_error_string(c_long) -> *const c_char;
    BIO_s_mem() -> Opaque;
    BIO_new(Opaque) -> Opaque;
    BIO_free(Opaque) -> c_int;
    BIO_read(Opaque, Opaque, c_int) -> c_int;
    BIO_write(Opaque, *const c_void, c_int) -> c_int;
    BIO_ctrl_pending(Opaque) -> usize;
    ERR_get_error() -> c_ulong;
    ERR_reason_error_string(c_ulong) -> *const c_char;
}

/// The library.
pub struct Library {
    functions: Functions,
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Library")
    }
}

impl Library {
    /// The first of these names that the host has; the error says why there is none.
    pub fn load(names: &[&CStr]) -> Result<Self, String> {
        let (library, name) = open(names)?;
        let functions = Functions::find(library);
        functions
            .map(|functions| Self { functions })
            .map_err(|what| format!("{}: {what}", name.to_string_lossy()))
    }

    /// Empties OpenSSL's list of errors; the latest of them in its words.
    fn error(&self) -> String {
        let mut last = 0;
        loop {
            // SAFETY: no arguments.
            match unsafe { (self.functions.ERR_get_error)() } {
                0 => break,
                code => last = code,
            }
        }
        // SAFETY: a plain number; 0 has no words.
        word(unsafe { (self.functions.ERR_reason_error_string)(last) })
    }
}

/// What all sessions share: the certificates that are believed, and the versions spoken.
#[derive(Debug)]
pub struct Context {
    library: Library,
    /// An SSL_CTX.
    context: NonNull<c_void>,
}

impl Context {
    /// Certificates are checked against those in the file, else against the host's; TLS 1.2 at least, or what the host's
    /// configuration asks for beyond it.
    pub fn new(library: Library, ca: Option<&Path>) -> Result<Self, String> {
        let f = &library.functions;
        // SAFETY: the method is a constant of the library; the result is checked.
        let made = NonNull::new(unsafe { (f.SSL_CTX_new)((f.TLS_client_method)()) });
        let Some(context) = made else {
            return Err(library.error());
        };
        // From here on freed by Drop.
        let this = Self { library, context };
        let (f, context) = (&this.library.functions, context.as_ptr());
        // SAFETY: the context is valid; these take no pointers and the check of certificates no callback.
        let least = unsafe {
            (f.SSL_CTX_set_verify)(context, VERIFY_PEER, ptr::null_mut());
            (f.SSL_CTX_ctrl)(context, CTRL_MODE, MODES, ptr::null_mut());
            let least = (f.SSL_CTX_ctrl)(context, CTRL_GET_LEAST_VERSION, 0, ptr::null_mut());
            least >= TLS_1_2
                || (f.SSL_CTX_ctrl)(context, CTRL_SET_LEAST_VERSION, TLS_1_2, ptr::null_mut()) == 1
        };
        let file = ca.map(|path| CString::new(path.as_os_str().as_encoded_bytes()));
        let file = file.transpose().map_err(|error| error.to_string())?;
        let believed = match &file {
            // SAFETY: the context is valid, the name ends with a NUL, and there is no directory.
            Some(file) => unsafe { (f.SSL_CTX_load_verify_locations)(context, file.as_ptr(), ptr::null()) },
            // SAFETY: the context is valid.
            None => unsafe { (f.SSL_CTX_set_default_verify_paths)(context) },
        };
        let said = this.library.error();
        if least && believed == 1 {
            Ok(this)
        } else {
            Err(said)
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: made by SSL_CTX_new and owned here; sessions hold a count of their own.
        unsafe { (self.library.functions.SSL_CTX_free)(self.context.as_ptr()) };
    }
}

/// What one call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Done; bytes, where there are any.
    Done(usize),
    /// More must come in first.
    Wants,
    /// The other side has said that it ends.
    Closed,
    /// OpenSSL's words.
    Failed(String),
}

/// One connection's TLS.
#[derive(Debug)]
pub struct Session {
    context: Rc<Context>,
    /// An SSL, which owns the two memories: what came, and what is to go.
    ssl: NonNull<c_void>,
    incoming: Opaque,
    outgoing: Opaque,
}

/// Most that one call may be given.
fn size(length: usize) -> c_int {
    c_int::try_from(length).unwrap_or(c_int::MAX)
}

impl Session {
    /// A client's, of a server that must prove that it is this host.
    pub fn new(context: &Rc<Context>, host: &str) -> Result<Self, String> {
        let library = &context.library;
        let f = &library.functions;
        let name = CString::new(host).map_err(|error| error.to_string())?;
        // SAFETY: the context is valid; each result is checked before it is used.
        let (made, incoming, outgoing) = unsafe {
            let memory = || (f.BIO_new)((f.BIO_s_mem)());
            (
                NonNull::new((f.SSL_new)(context.context.as_ptr())),
                memory(),
                memory(),
            )
        };
        let (Some(ssl), false) = (made, incoming.is_null() || outgoing.is_null()) else {
            // SAFETY: each is owned here alone, and null is allowed.
            unsafe {
                (f.SSL_free)(made.map_or(ptr::null_mut(), NonNull::as_ptr));
                (f.BIO_free)(incoming);
                (f.BIO_free)(outgoing);
            }
            return Err(library.error());
        };
        // SAFETY: all three are valid; the session owns the memories from here on.
        unsafe { (f.SSL_set_bio)(ssl.as_ptr(), incoming, outgoing) };
        let context = Rc::clone(context);
        // From here on freed by Drop.
        let session = Self {
            context,
            ssl,
            incoming,
            outgoing,
        };
        let ssl = ssl.as_ptr();
        // SAFETY: the session is valid, and what is pointed to is copied by each.
        let taken = unsafe {
            if host.parse::<IpAddr>().is_ok() {
                (f.X509_VERIFY_PARAM_set1_ip_asc)((f.SSL_get0_param)(ssl), name.as_ptr()) == 1
            } else {
                let text = name.as_ptr().cast_mut().cast();
                (f.SSL_set1_host)(ssl, name.as_ptr()) == 1
                    && (f.SSL_ctrl)(ssl, CTRL_SERVER_NAME, 0, text) == 1
            }
        };
        if taken {
            Ok(session)
        } else {
            Err(session.context.library.error())
        }
    }

    fn functions(&self) -> &Functions {
        &self.context.library.functions
    }

    fn step(&self, result: c_int) -> Step {
        if result > 0 {
            return Step::Done(result as usize);
        }
        // SAFETY: the session is valid, and this was the result of its latest call.
        match unsafe { (self.functions().SSL_get_error)(self.ssl.as_ptr(), result) } {
            ERROR_WANT_READ => Step::Wants,
            ERROR_ZERO_RETURN => Step::Closed,
            ERROR_SSL => Step::Failed(self.context.library.error()),
            other => {
                let said = self.context.library.error();
                Step::Failed(format!("{said} (error {other})"))
            }
        }
    }

    /// Goes on with the handshake.
    pub fn connect(&mut self) -> Step {
        // SAFETY: the session is valid.
        self.step(unsafe { (self.functions().SSL_connect)(self.ssl.as_ptr()) })
    }

    /// The text of what has come, as much as there is room for; never `Done(0)`.
    pub fn read(&mut self, buffer: &mut [u8]) -> Step {
        let (place, room) = (buffer.as_mut_ptr().cast(), size(buffer.len()));
        // SAFETY: the session is valid, the buffer as long as said.
        self.step(unsafe { (self.functions().SSL_read)(self.ssl.as_ptr(), place, room) })
    }

    /// Text that is to go, or the first part of it.
    pub fn write(&mut self, text: &[u8]) -> Step {
        if text.is_empty() {
            return Step::Done(0);
        }
        // SAFETY: the session is valid, the text as long as said.
        self.step(unsafe {
            (self.functions().SSL_write)(self.ssl.as_ptr(), text.as_ptr().cast(), size(text.len()))
        })
    }

    /// Says that this side ends; only after the handshake, and not after a failure.
    pub fn close(&mut self) {
        // SAFETY: the session is valid.
        let result = unsafe { (self.functions().SSL_shutdown)(self.ssl.as_ptr()) };
        if result < 0 {
            self.context.library.error();
        }
    }

    /// Takes in what has come.
    pub fn feed(&mut self, bytes: &[u8]) {
        // SAFETY: the memory is the session's and lives as long; it takes everything.
        unsafe { (self.functions().BIO_write)(self.incoming, bytes.as_ptr().cast(), size(bytes.len())) };
    }

    /// Appends what is to go.
    pub fn take(&mut self, out: &mut Vec<u8>) {
        // SAFETY: the memory is the session's and lives as long.
        let pending = unsafe { (self.functions().BIO_ctrl_pending)(self.outgoing) };
        if pending == 0 {
            return;
        }
        let before = out.len();
        out.resize(before + pending, 0);
        let place = out[before..].as_mut_ptr().cast();
        // SAFETY: as above; there is room for so many bytes.
        let got = unsafe { (self.functions().BIO_read)(self.outgoing, place, size(pending)) };
        out.truncate(before + usize::try_from(got).unwrap_or(0));
    }

    /// What is wrong with the server's certificate: OpenSSL's number and words; None: nothing.
    pub fn certificate(&self) -> Option<(c_long, String)> {
        // SAFETY: the session is valid.
        let code = unsafe { (self.functions().SSL_get_verify_result)(self.ssl.as_ptr()) };
        // SAFETY: a plain number.
        let words = || word(unsafe { (self.functions().X509_verify_cert_error_string)(code) });
        (code != 0).then(|| (code, words()))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: made by SSL_new and owned here, with both memories.
        unsafe { (self.functions().SSL_free)(self.ssl.as_ptr()) };
    }
}
