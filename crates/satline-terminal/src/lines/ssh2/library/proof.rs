//! Who the user is: keys in files, and those that an agent holds.

use std::ffi::CStr;
use std::ptr::{self, NonNull};

use super::{Fault, Session, Step, size};

impl Session {
    /// Goes on with proving who the user is by a key without a passphrase in a file.
    pub fn prove_by_file(&mut self, user: &CStr, file: &CStr) -> Step<usize> {
        let length = size(user.count_bytes());
        // SAFETY: the session is valid; the public key is in the file too; texts end with a NUL.
        let code = unsafe {
            (self.functions().libssh2_userauth_publickey_fromfile_ex)(
                self.session.as_ptr(),
                user.as_ptr(),
                length,
                ptr::null(),
                file.as_ptr(),
                c"".as_ptr(),
            )
        };
        self.step(code as isize)
    }

    /// How many keys the account's agent holds; 0 without one. It is asked at once, and waited for.
    pub fn agent_keys(&mut self) -> usize {
        if self.agent.is_none() {
            let f = self.functions();
            let mut keys = Vec::new();
            // SAFETY: the session is valid, the agent is checked; its keys live until it is freed.
            let agent = unsafe {
                let Some(agent) = NonNull::new((f.libssh2_agent_init)(self.session.as_ptr())) else {
                    return 0;
                };
                let a = agent.as_ptr();
                if (f.libssh2_agent_connect)(a) == 0 && (f.libssh2_agent_list_identities)(a) == 0 {
                    let mut key = ptr::null_mut();
                    while (f.libssh2_agent_get_identity)(
                        a,
                        &mut key,
                        keys.last().copied().unwrap_or(ptr::null_mut()),
                    ) == 0
                    {
                        keys.push(key);
                    }
                }
                agent
            };
            self.agent = Some((agent, keys));
        }
        self.agent.as_ref().map_or(0, |(_, keys)| keys.len())
    }

    /// Goes on with proving who the user is by the agent's key of this number.
    pub fn prove_by_agent(&mut self, user: &CStr, key: usize) -> Step<usize> {
        let found = self
            .agent
            .as_ref()
            .and_then(|(agent, keys)| Some((agent, *keys.get(key)?)));
        let Some((agent, key)) = found else {
            return Step::Failed(Fault::of("no such key"));
        };
        // SAFETY: agent and key are valid, the text ends with a NUL.
        let code = unsafe { (self.functions().libssh2_agent_userauth)(agent.as_ptr(), user.as_ptr(), key) };
        self.step(code as isize)
    }

    /// The agent is not needed any more.
    pub fn leave_agent(&mut self) {
        if let Some((agent, _)) = self.agent.take() {
            // SAFETY: valid until here, and freed once.
            unsafe {
                (self.functions().libssh2_agent_disconnect)(agent.as_ptr());
                (self.functions().libssh2_agent_free)(agent.as_ptr());
            }
        }
    }
}
