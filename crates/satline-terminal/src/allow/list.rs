//! The list of hosts that may be driven, as their owners gave it.

use std::path::Path;

use serde::Deserialize;

use crate::error::TerminalError;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    target: Vec<Allowed>,
}

/// One entry, as the owner's `satline-terminal allow` prints it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allowed {
    /// As the line names it.
    pub host: String,
    pub port: u16,
    /// Where the owner answers.
    pub confirm_port: u16,
    pub token: String,
}

/// The entry of a host and port; errors have exit code 2.
pub fn find(path: &Path, host: &str, port: u16) -> Result<Allowed, TerminalError> {
    let shown = path.display();
    let hint = "put in what the owner's `satline-terminal allow` prints";
    let text = std::fs::read_to_string(path)
        .map_err(|error| TerminalError::input(format!("{shown}: cannot read the list: {error}"), hint))?;
    let list: List = toml::from_str(&text)
        .map_err(|error| TerminalError::input(format!("{shown}: {}", error.to_string().trim_end()), hint))?;
    let found = list
        .target
        .into_iter()
        .find(|entry| entry.host == host && entry.port == port);
    let found = found
        .ok_or_else(|| TerminalError::input(format!("{shown}: {host}, port {port}, is not in it"), hint))?;
    if found.token.len() < 16 || !found.token.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(TerminalError::input(
            format!("{shown}: {host}: key token: is none"),
            hint,
        ));
    }
    Ok(found)
}
