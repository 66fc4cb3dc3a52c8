//! The list of hosts that may be driven, as their owners gave it.

use std::path::Path;

use satline_program::Error;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    target: Vec<Entry>,
}

/// One entry as it is written, or as the owner's `satline-terminal allow` prints it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// As the line names it.
    host: String,
    port: u16,
    confirm_port: Option<u16>,
    token: Option<String>,
}

/// A host that may be driven, if its owner agrees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// Where the owner's program answers, and what it is told; None: the owner agrees by a file (SSH).
    pub program: Option<(u16, String)>,
}

/// The entry of a host and port; errors have exit code 2.
pub fn find(path: &Path, host: &str, port: u16) -> Result<Allowed, Error> {
    let shown = path.display();
    let hint = "put in what the owner's `satline-terminal allow` prints";
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::input(format!("{shown}: cannot read the list: {error}"), hint))?;
    let list: List = toml::from_str(&text)
        .map_err(|error| Error::input(format!("{shown}: {}", error.to_string().trim_end()), hint))?;
    let found = list
        .target
        .into_iter()
        .find(|entry| entry.host == host && entry.port == port);
    let found =
        found.ok_or_else(|| Error::input(format!("{shown}: {host}, port {port}, is not in it"), hint))?;
    let program = match (found.confirm_port, found.token) {
        (None, None) => None,
        (Some(port), Some(token))
            if token.len() >= 16 && token.bytes().all(|b| b.is_ascii_alphanumeric()) =>
        {
            Some((port, token))
        }
        _ => {
            return Err(Error::input(format!("{shown}: {host}: key token: is none"), hint));
        }
    };
    Ok(Allowed { program })
}
