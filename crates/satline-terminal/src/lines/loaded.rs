//! Libraries of the host that are loaded when a line needs them: they add nothing to the build.

use std::ffi::{CStr, c_char, c_void};

/// A library, or one of its own structures.
pub type Opaque = *mut c_void;

/// Opens the first of these names that the host has; gives it and its name. It stays loaded: it may have registered
/// itself for the end of the program. The error says why there is none.
pub fn open<'a>(names: &[&'a CStr]) -> Result<(Opaque, &'a CStr), String> {
    let mut why = String::new();
    for name in names {
        // SAFETY: a name with its NUL. The library's own start is all that runs.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if !library.is_null() {
            return Ok((library, name));
        }
        if why.is_empty() {
            // SAFETY: valid until the next call of dlopen; copied here.
            why = word(unsafe { libc::dlerror() });
        }
    }
    Err(why)
}

/// A text of a library, copied.
pub fn word(text: *const c_char) -> String {
    if text.is_null() {
        return "no reason given".to_owned();
    }
    // SAFETY: not null, and a text with its NUL.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// `Functions`, the functions of a library with their types from its headers, and how they are found in it.
macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        #[allow(non_snake_case)]
        struct Functions { $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)* }

        #[allow(non_snake_case)]
        impl Functions {
            /// The error names the function that is missing.
            fn find(library: Opaque) -> Result<Self, String> {
                $(
                    let name = concat!(stringify!($name), "\0");
                    // SAFETY: the library is open, the name ends with a NUL.
                    let $name = unsafe { libc::dlsym(library, name.as_ptr().cast()) };
                    if $name.is_null() {
                        return Err(format!("it has no {}", stringify!($name)));
                    }
                    let $name: unsafe extern "C" fn($($argument),*) $(-> $result)? =
                        // SAFETY: this is the function's type in the library's headers.
                        unsafe { std::mem::transmute($name) };
                )*
                Ok(Self { $($name,)* })
            }
        }
    };
}

pub(super) use functions;
