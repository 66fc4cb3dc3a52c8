//! What is behind it when there is no session: the setting, and what is to be done.

pub const CHANGED: &str = "the host's key is not the one in known_hosts: somebody may stand between; ask its owner, and only then replace the key";
pub const UNKNOWN: &str =
    "the host's key is not in known_hosts: get it from its owner (ssh-keyscan shows it, and proves nothing)";
pub const REVOKED: &str = "the host's key is marked @revoked in known_hosts: ask its owner";
pub const NO_KEY: &str = "the account takes none of the keys offered: see identity, the agent (a key with a passphrase needs one) and authorized_keys";
pub const MAX_SESSIONS: &str = "sshd's MaxSessions (10 unless set) is less than sessions_per_connection";
pub const MAX_STARTUPS: &str = "sshd drops connections when more than MaxStartups (10:30:100 unless set) are under way: lower log_ons_at_once, or raise it";
pub const NO_TERMINAL: &str = "the host has no terminal to give: see kernel.pty.max there";
