//! Amounts of storage as a policy states them.

use serde::{Deserialize, Serialize};

/// An amount of storage: bytes, or a share (up to 1) of what there is.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Amount {
    Bytes(u64),
    Share(f64),
    Text(SizeText),
}

/// Text such as `256 MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "u64")]
pub struct SizeText(pub u64);

impl TryFrom<String> for SizeText {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is not an amount; write bytes, a share up to 1.0, or text like \"256 MiB\"");
        let digits = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let number: f64 = text[..digits].parse().map_err(|_| wrong())?;
        let unit = match text[digits..].trim() {
            "" | "B" => 1.0,
            "KiB" | "K" => 1024.0,
            "MiB" | "M" => 1024.0 * 1024.0,
            "GiB" | "G" => 1024.0 * 1024.0 * 1024.0,
            "kB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            _ => return Err(wrong()),
        };
        Ok(SizeText((number * unit) as u64))
    }
}

impl From<SizeText> for u64 {
    fn from(size: SizeText) -> u64 {
        size.0
    }
}

impl Amount {
    /// In bytes, where `total_bytes` is the whole.
    pub fn bytes(self, total_bytes: u64) -> u64 {
        match self {
            Amount::Bytes(bytes) | Amount::Text(SizeText(bytes)) => bytes,
            Amount::Share(share) => (share * total_bytes as f64) as u64,
        }
    }
}
