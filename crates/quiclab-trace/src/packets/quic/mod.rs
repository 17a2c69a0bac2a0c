//! QUIC in captures: recognised by its headers, decrypted where a key log has its secrets.
//!
//! After RFC 9000, RFC 9001 (versions 1 and drafts 27 to 34), RFC 9369 (version 2). Other versions are not recognised.
//!
//! | file | what |
//! | --- | --- |
//! | `header.rs` | versions; long headers |
//! | `keys.rs` | packet and header protection |
//! | `initial.rs` | the ClientHello's random, by which a key log names a connection |
//! | `ladder.rs` | keys of one direction through key updates |
//! | `connection.rs` | what is known of a connection, and its datagrams |
//! | `secrets.rs` | where secrets come from, and how much may be tried |
//! | `payload.rs` | frames |

mod connection;
pub(crate) mod header;
mod initial;
pub(crate) mod keys;
mod ladder;
mod payload;
mod secrets;
#[cfg(test)]
mod tests;

pub(super) use connection::{Connection, Opened, Tools, Undecrypted};
pub(super) use header::begins_connection;
pub(super) use payload::Found;
pub(super) use secrets::SecretStore;
