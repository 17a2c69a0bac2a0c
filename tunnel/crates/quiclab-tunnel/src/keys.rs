//! Ed25519 keys in files and texts: private ones as PKCS #8 in PEM (RFC 5958, RFC 8410, RFC 7468), as `openssl genpkey
//! -algorithm ed25519` writes them; public ones as 64 hexadecimal digits.

use crate::files;
use crate::privileges::user_name;
use quiclab_carrier::{PublicKey, SecretKey};
use quiclab_core::problem::system_reason;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde::{Deserialize, Deserializer};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use thiserror::Error;

/// `PrivateKeyInfo` up to the 32 bytes of the key (RFC 8410 section 7), of version 1 and of version 2, which has the
/// public key after it.
const PKCS8: [u8; 16] = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";
const PKCS8_2: [u8; 16] = *b"\x30\x51\x02\x01\x01\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";
/// Maximum length of a key file.
const MAX_FILE: u64 = 4096;

/// Error for which a key file is rejected. The file is the subject: its name precedes the message.
#[derive(Debug, Error)]
pub enum KeyError {
    /// The file cannot be read.
    #[error("{}", system_reason(.0))]
    Io(#[from] io::Error),
    /// Users other than its owner may read or write it.
    #[error("accessible to other users (mode {0:03o})")]
    Readable(u32),
    /// Another user owns it.
    #[error("belongs to the user `{}`, not to root or the user of the tunnel", user_name(*.0))]
    Owner(u32),
    /// It contains no key.
    #[error("not a PEM file with a private key")]
    NoKey,
    /// It contains no Ed25519 key.
    #[error("not a PEM file with an Ed25519 `PRIVATE KEY`")]
    Content,
}

impl KeyError {
    /// Remedy, as an imperative; empty if the message contains it.
    #[must_use]
    pub fn remedy(&self, file: &Path) -> String {
        let file = file.display();
        match self {
            Self::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                format!("create it with `quiclab-tunnel keygen {file}`")
            }
            Self::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let user = user_name(rustix::process::geteuid().as_raw());
                format!("the tunnel runs as `{user}`: run `chown {user} {file}` as root")
            }
            Self::Io(_) | Self::NoKey => String::new(),
            Self::Readable(_) => format!("run `chmod 600 {file}`"),
            Self::Owner(user) => {
                let user = user_name(*user);
                format!(
                    "start the tunnel as that user, as the systemd unit does, set `user = \"{user}\"`, or run `chown root {file}`"
                )
            }
            Self::Content => {
                "use one that `quiclab-tunnel keygen` or `openssl genpkey -algorithm ed25519` wrote"
                    .to_owned()
            }
        }
    }
}

/// Permitted owners of the file of a private key.
#[derive(Clone, Copy, Debug)]
pub enum Owners {
    /// Any user that alone may read it: the key is only inspected.
    Any,
    /// Root, the user of this process, and the user with this number, which the process becomes: a tunnel must not use a key that
    /// another user knows.
    Trusted(Option<u32>),
}

/// Reads a private key from a file that only its owner may read.
///
/// # Errors
/// If it cannot be read, is readable by others, belongs to another user or contains no key.
pub fn read(file: &Path, owners: Owners) -> Result<SecretKey, KeyError> {
    from_pem(&read_text(file, owners)?).ok_or(KeyError::Content)
}

/// Reads a private key of any kind from a file that only its owner may read.
///
/// # Errors
/// As [`read`].
pub fn read_any(file: &Path, owners: Owners) -> Result<PrivateKeyDer<'static>, KeyError> {
    PrivateKeyDer::from_pem_slice(&read_text(file, owners)?).map_err(|_| KeyError::NoKey)
}

/// A private key as PKCS #8.
#[must_use]
pub fn pkcs8(key: &SecretKey) -> PrivateKeyDer<'static> {
    PrivatePkcs8KeyDer::from([&PKCS8[..], key.as_bytes()].concat()).into()
}

/// Reads the text of a file that only its owner may read.
fn read_text(file: &Path, owners: Owners) -> Result<Vec<u8>, KeyError> {
    let mut open = files::open_regular(file)?;
    // of the open file, so that the checked file is the one that is read
    let metadata = open.metadata()?;
    if metadata.mode() & 0o077 != 0 {
        return Err(KeyError::Readable(metadata.mode() & 0o777));
    }
    if let Owners::Trusted(later) = owners {
        let trusted = [Some(0), Some(rustix::process::geteuid().as_raw()), later];
        if !trusted.contains(&Some(metadata.uid())) {
            return Err(KeyError::Owner(metadata.uid()));
        }
    }
    Ok(files::read_open(&mut open, MAX_FILE)?)
}

fn from_pem(text: &[u8]) -> Option<SecretKey> {
    let der = PrivatePkcs8KeyDer::from_pem_slice(text).ok()?;
    let der = der.secret_pkcs8_der();
    let key = match der.len() {
        48 => der.strip_prefix(&PKCS8)?,
        83 => der.strip_prefix(&PKCS8_2)?,
        _ => return None,
    };
    Some(SecretKey::from_bytes(key[..32].try_into().ok()?))
}

fn to_pem(key: &SecretKey) -> String {
    let der = [&PKCS8[..], key.as_bytes()].concat();
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", base64(&der))
}

/// Base64 of bytes whose number is a multiple of three (RFC 4648 section 4); the line is within the limit of PEM.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    debug_assert!(bytes.len().is_multiple_of(3) && bytes.len() <= 48);
    let digits = bytes.chunks_exact(3).flat_map(|group| {
        let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        [18, 12, 6, 0].map(|shift| char::from(DIGITS[(bits >> shift & 63) as usize]))
    });
    digits.collect()
}

/// Generates a key and writes it to a new file.
///
/// # Errors
/// If the file already exists, or cannot be written.
pub fn generate(file: &Path) -> io::Result<PublicKey> {
    let mut bytes = [0; 32];
    ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes)
        .map_err(|_| io::Error::other("the system has no random numbers"))?;
    let key = SecretKey::from_bytes(bytes);
    let mut open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    open.write_all(to_pem(&key).as_bytes())?;
    open.sync_all()?;
    Ok(key.public())
}

/// Parses a key of 64 hexadecimal digits.
#[must_use]
pub fn public_from_text(text: &str) -> Option<PublicKey> {
    let digits = text.as_bytes();
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(PublicKey::from_bytes(bytes))
}

/// Deserializes an optional field of a configuration.
pub(crate) fn deserialize_some<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PublicKey>, D::Error> {
    deserialize(from).map(Some)
}

/// Deserializes a field of a configuration.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PublicKey, D::Error> {
    let text = String::deserialize(from)?;
    public_from_text(&text).ok_or_else(|| serde::de::Error::custom("expected 64 hexadecimal digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_key_of_rfc_8410() {
        // RFC 8410 section 10.3, and the public key of its section 10.1
        let pem = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";
        let key = from_pem(pem.as_bytes()).unwrap();
        assert_eq!(to_pem(&key), pem);
        assert_eq!(
            key.public().to_string(),
            "19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1"
        );
        // the same with its public key after it (section 10.3, the second example)
        let second = "-----BEGIN PRIVATE KEY-----\nMHICAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhCoB8wHQYKKoZIhvcNAQkJFDEPDA1DdXJkbGUgQ2hhaXJzgSEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PRIVATE KEY-----\n";
        assert!(from_pem(second.as_bytes()).is_none(), "attributes are not read");
        assert!(
            from_pem(b"").is_none()
                && from_pem(b"-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n").is_none()
        );
    }

    #[test]
    fn a_public_key_is_read_as_it_is_printed() {
        let key = SecretKey::from_bytes([7; 32]).public();
        assert_eq!(public_from_text(&key.to_string()), Some(key));
        assert_eq!(public_from_text(&key.to_string()[1..]), None);
        assert_eq!(public_from_text(&format!("+{}", &key.to_string()[1..])), None);
        assert_eq!(public_from_text(&"ü".repeat(32)), None);
    }
}
