//! QUIC in captures: recognised by its headers, decrypted if a key log has its secrets.
//!
//! After RFC 9000, RFC 9001 (versions 1 and drafts 27 to 34), RFC 9369 (version 2). Of other versions, only the
//! version-independent part of long headers is read (RFC 8999): connection IDs and version.
//!
//! | file | content |
//! | --- | --- |
//! | `header.rs` | versions; long headers |
//! | `keys.rs` | packet and header protection |
//! | `initial.rs` | the ClientHello's random, which identifies a connection in a key log |
//! | `ladder.rs` | keys of one direction across key updates |
//! | `connection.rs` | state of a connection, and its datagrams |
//! | `ids.rs`, `addresses.rs` | connection IDs, which identify the connection of a datagram; former addresses of a connection |
//! | `secrets.rs` | sources of secrets, and limits of attempts |
//! | `payload.rs`, `extension.rs` | frames |

mod addresses;
mod connection;
mod extension;
pub(crate) mod header;
mod ids;
mod initial;
pub(crate) mod keys;
mod ladder;
mod payload;
mod secrets;
#[cfg(test)]
mod tests;

pub(super) use connection::{Connection, Opened, Tools, Undecrypted, begins};
pub(super) use header::{Invariant, is_long, long, version_name};
pub(super) use ids::{ConnectionIds, Owner};
pub(super) use payload::Found;
pub(super) use secrets::SecretStore;
