//! TLS key logs (`SSLKEYLOGFILE`): RFC 9850, the format of NSS.
//!
//! Lines are `LABEL CLIENT_RANDOM SECRET`. Secrets that protect packets are stored: `CLIENT_TRAFFIC_SECRET_0`,
//! `SERVER_TRAFFIC_SECRET_0`, `CLIENT_EARLY_TRAFFIC_SECRET`, and the two for the handshake, with 32 or 48 bytes. Text after
//! the digits of a secret is ignored, as in Wireshark (`tls_keylog_process_lines`: its expressions do not reach to the end of
//! the line). So are lines with other labels, blank lines and comments; all remaining lines are counted.

use super::ReadError;
use std::collections::BTreeMap;
use std::io::Read;

/// Maximum length of a key log [bytes]: about 400 000 lines.
pub const KEY_LOG_BYTES_MAX: u64 = 1 << 26;
/// Maximum number of connections of a key log; further ones are counted.
pub const CONNECTIONS_MAX: usize = 100_000;

/// "The 32-byte value of the Random field from the ClientHello message".
pub(super) type ClientRandom = [u8; 32];

/// A traffic secret; its length determines the hash and the possible cipher suites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secret {
    /// Secret of a cipher suite with SHA-256.
    Short([u8; 32]),
    /// Secret of a cipher suite with SHA-384.
    Long([u8; 48]),
}

/// Secrets of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Secrets {
    pub(super) client: Option<Secret>,
    pub(super) server: Option<Secret>,
    pub(super) early: Option<Secret>,
    pub(super) client_handshake: Option<Secret>,
    pub(super) server_handshake: Option<Secret>,
}

/// Traffic secrets by connection.
#[derive(Clone, Debug, Default)]
pub struct KeyLog {
    connections: BTreeMap<ClientRandom, Secrets>,
    bytes: u64,
    unknown: u64,
    further: u64,
}

impl KeyLog {
    /// Reads a key log with the name `name` in messages.
    ///
    /// # Errors
    /// If `input` fails, or exceeds [`KEY_LOG_BYTES_MAX`].
    pub fn read(input: impl Read, name: &str) -> Result<Self, ReadError> {
        let mut text = Vec::new();
        let read = input.take(KEY_LOG_BYTES_MAX + 1).read_to_end(&mut text);
        read.map_err(|source| ReadError::Io { file: name.to_owned(), source })?;
        let mut log = Self::default();
        if log.add(&text) { Ok(log) } else { Err(ReadError::KeyLogTooLong { file: name.to_owned() }) }
    }

    /// Adds lines; `false` if the total would be too long, in which case nothing is added.
    pub(super) fn add(&mut self, text: &[u8]) -> bool {
        self.bytes = self.bytes.saturating_add(text.len() as u64);
        if self.bytes > KEY_LOG_BYTES_MAX {
            return false;
        }
        for line in text.split(|&byte| byte == b'\n') {
            let line = line.trim_ascii();
            let comment = line.first().is_none_or(|first| *first == b'#');
            if !comment && !self.line(line) {
                self.unknown += 1;
            }
        }
        true
    }

    /// Returns the secrets with all counts reset, because the lines will be read again.
    pub(super) fn without_counts(self) -> Self {
        Self { connections: self.connections, ..Self::default() }
    }

    /// Number of connections with secrets.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Number of malformed lines.
    #[must_use]
    pub fn unknown_lines(&self) -> u64 {
        self.unknown
    }

    /// Number of lines of connections beyond [`CONNECTIONS_MAX`].
    #[must_use]
    pub fn further_lines(&self) -> u64 {
        self.further
    }

    pub(super) fn get(&self, random: &ClientRandom) -> Option<&Secrets> {
        self.connections.get(random)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ClientRandom, &Secrets)> {
        self.connections.iter()
    }

    /// Adds a line; false if it is malformed.
    fn line(&mut self, line: &[u8]) -> bool {
        let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
        let (Some(label), Some(random), Some(secret)) = (words.next(), words.next(), words.next()) else {
            return false;
        };
        let name = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
        let digits = secret.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let secret = &secret[..digits];
        if digits == 0 || !label.iter().all(name) || !random.iter().all(u8::is_ascii_hexdigit) {
            return false;
        }
        // aioquic wrote the labels of drafts until version 1.0
        let label = label.strip_prefix(b"QUIC_").unwrap_or(label);
        let place: fn(&mut Secrets) -> &mut Option<Secret> = match label {
            b"CLIENT_TRAFFIC_SECRET_0" => |secrets| &mut secrets.client,
            b"SERVER_TRAFFIC_SECRET_0" => |secrets| &mut secrets.server,
            b"CLIENT_EARLY_TRAFFIC_SECRET" => |secrets| &mut secrets.early,
            b"CLIENT_HANDSHAKE_TRAFFIC_SECRET" => |secrets| &mut secrets.client_handshake,
            b"SERVER_HANDSHAKE_TRAFFIC_SECRET" => |secrets| &mut secrets.server_handshake,
            _ => return true,
        };
        let secret = hex(secret).map(Secret::Short).or_else(|| hex(secret).map(Secret::Long));
        let (Some(random), Some(secret)) = (hex(random), secret) else { return false };
        if self.connections.len() == CONNECTIONS_MAX && !self.connections.contains_key(&random) {
            self.further += 1;
        } else {
            *place(self.connections.entry(random).or_default()) = Some(secret);
        }
        true
    }
}

/// Parses `N` bytes from hexadecimal digits.
fn hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_key_log() {
        let (random, short, long) = ("0a".repeat(32), "Fb".repeat(32), "0c".repeat(48));
        let text = format!(
            "# a comment\r\n\r\nCLIENT_TRAFFIC_SECRET_0 {random} {short}\r\n\
             SERVER_TRAFFIC_SECRET_0  {random}\t{long}\nCLIENT_EARLY_TRAFFIC_SECRET {random} {short}\n\
             CLIENT_HANDSHAKE_TRAFFIC_SECRET {random} {long}\\ \n\
             CLIENT_RANDOM {random} {long}\nEXPORTER_SECRET {random} {short} and more\n\
             RSA 0011223344556677 {long}\n\
             CLIENT_TRAFFIC_SECRET_0 {random} 0c0c\nCLIENT_TRAFFIC_SECRET_0 0a {short}\n\
             CLIENT_TRAFFIC_SECRET_0 {random}\nclient {random} {short}\nX {random} {short} more\n\
             CLIENT_TRAFFIC_SECRET_0 zz {short}"
        );
        let log = KeyLog::read(text.as_bytes(), "keys").unwrap();
        assert_eq!(log.connections(), 1);
        assert_eq!(log.unknown_lines(), 5);
        let expected = Secrets {
            client: Some(Secret::Short([0xfb; 32])),
            server: Some(Secret::Long([0x0c; 48])),
            early: Some(Secret::Short([0xfb; 32])),
            client_handshake: Some(Secret::Long([0x0c; 48])),
            server_handshake: None,
        };
        assert_eq!(log.get(&[0x0a; 32]), Some(&expected));
        assert_eq!(log.get(&[0x0b; 32]), None);
    }

    #[test]
    fn bounds() {
        let error = KeyLog::read(std::io::repeat(b'\n'), "zeros").unwrap_err();
        assert_eq!(error.to_string(), "zeros: expected a TLS key log of at most 64 MiB, got a larger file");
        let mut log = KeyLog::default();
        let mut text = String::new();
        for index in 0..CONNECTIONS_MAX + 2 {
            text += &format!("CLIENT_TRAFFIC_SECRET_0 {index:064x} {index:064x}\n");
        }
        assert!(log.add(text.as_bytes()));
        assert_eq!((log.connections(), log.further_lines()), (CONNECTIONS_MAX, 2));
        // a known connection gets its other secrets
        assert!(log.add(format!("SERVER_TRAFFIC_SECRET_0 {:064x} {:064x}\n", 7, 8).as_bytes()));
        assert_eq!(log.further_lines(), 2);
    }
}
