//! The key that pseudonyms are made with, as `satline recording pseudonymise` has it.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use aes_siv::KeyInit;
use aes_siv::siv::Aes256Siv;
use data_encoding::{BASE32, BASE64, HEXLOWER};
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use satline_program::Error;
use sha2::Sha256;

const FORM: &str = "satline-key-1 ";
const INFO: &[u8] = b"satline pseudonyms 1";
const CHARACTERS: usize = 12;
/// What is encrypted of a name is a multiple of this long, so that its length does not show.
const PAD: usize = 32;
/// Of a longer text, the beginning is sealed.
const MOST_BYTES: usize = 8000;

/// A secret of 32 bytes, as the two keys derived from it: HKDF-SHA-256 (RFC 5869) without salt.
pub struct Key {
    mac: [u8; 32],
    cipher: [u8; 64],
}

impl Key {
    /// Reads the file of a key: one line, that its owner alone may read.
    ///
    /// # Errors
    /// It cannot be read, is no key, or others may read it.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let wrong = |reason: &str| {
            Error::input(
                format!("{}: {reason}", path.display()),
                "`satline record --pseudonymise FILE --make-key` makes a key; chmod 600 one that others may read",
            )
        };
        let unread = |e: std::io::Error| wrong(&format!("cannot read it: {e}"));
        let mut file = File::open(path).map_err(unread)?;
        let found = file.metadata().map_err(unread)?;
        if found.is_file() && found.mode() & 0o077 != 0 {
            return Err(wrong("others may read this key"));
        }
        let mut text = String::new();
        let read = file.by_ref().take(256).read_to_string(&mut text);
        read.map_err(|_| wrong("not a key"))?;
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let secret = line.strip_prefix(FORM).filter(|digits| digits.len() == 64);
        let secret = secret.and_then(|digits| HEXLOWER.decode(digits.as_bytes()).ok());
        Ok(Self::new(&secret.ok_or_else(|| wrong("not a key"))?))
    }

    /// The key of a secret.
    fn new(secret: &[u8]) -> Self {
        let mut made = [0; 96];
        Hkdf::<Sha256>::new(None, secret)
            .expand(INFO, &mut made)
            .expect("96 bytes are fewer than 255 hashes");
        let (mut mac, mut cipher) = ([0; 32], [0; 64]);
        mac.copy_from_slice(&made[..32]);
        cipher.copy_from_slice(&made[32..]);
        Self { mac, cipher }
    }

    /// Says which key it is, and nothing of what it is: 16 hexadecimal digits.
    pub fn id(&self) -> String {
        HEXLOWER.encode(&self.hash(b"id", b"")[..8])
    }

    /// The pseudonym of a name: the same for the same name and key.
    pub fn pseudonym(&self, name: &str) -> String {
        let hash = BASE32.encode(&self.hash(b"name", name.as_bytes()));
        format!("p-{}", hash[..CHARACTERS].to_ascii_lowercase())
    }

    /// The line of names.sealed for a name, without its end.
    pub fn sealed(&self, pseudonym: &str, name: &str) -> String {
        let name = &name.as_bytes()[..name.len().min(MOST_BYTES)];
        let mut plain = (name.len() as u32).to_be_bytes().to_vec();
        plain.extend_from_slice(name);
        plain.resize(plain.len().next_multiple_of(PAD), 0);
        let mut cipher = Aes256Siv::new(&self.cipher.into());
        let sealed = cipher
            .encrypt([pseudonym.as_bytes()], &plain)
            .expect("a short text can be encrypted");
        format!("{pseudonym} {}", BASE64.encode(&sealed))
    }

    fn hash(&self, what: &[u8], text: &[u8]) -> [u8; 32] {
        let mut mac = <Hmac<Sha256> as Mac>::new_from_slice(&self.mac).expect("a key may have any length");
        mac.update(what);
        mac.update(&[0]);
        mac.update(text);
        mac.finalize().into_bytes().into()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// The key of the bytes 0 to 31.
    pub(crate) fn key() -> Key {
        Key::new(&(0..32).collect::<Vec<u8>>())
    }

    #[test]
    fn pseudonyms_are_those_of_openssl_and_names_are_sealed_as_in_python() {
        // Both as tests/unit/recording/test_pseudonymise.py has them.
        assert_eq!(key().pseudonym("alice"), "p-vx63ninfvh4h");
        assert_eq!(key().id(), "fc9b807b06028d63");
        assert_eq!(
            key().sealed("p-vx63ninfvh4h", "alice"),
            "p-vx63ninfvh4h ITtO1ljoOM9rgEFxJhYDHGzEd4BzdN+hWsuHKRVbeJyqOOP1FEkWPPcI+jV5NYHQ"
        );
    }

    #[test]
    fn a_key_is_one_line_that_its_owner_alone_may_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let secret = HEXLOWER.encode(&(0..32).collect::<Vec<u8>>());
        for (text, mode, wrong) in [
            (format!("satline-key-1 {secret}\n"), 0o600, None),
            (
                format!("satline-key-1 {secret}\n"),
                0o640,
                Some("others may read"),
            ),
            (
                format!("satline-key-1 {}\n", &secret[2..]),
                0o600,
                Some("not a key"),
            ),
            (format!("satline-key-2 {secret}\n"), 0o600, Some("not a key")),
            ("\u{0}".to_owned(), 0o600, Some("not a key")),
        ] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            match (Key::read(&path), wrong) {
                (Ok(read), None) => assert_eq!(read.id(), key().id()),
                (Err(error), Some(wrong)) => assert!(error.to_string().contains(wrong), "{error}"),
                (read, wrong) => panic!("{:?} {wrong:?}", read.map(|key| key.id())),
            }
        }
    }
}
