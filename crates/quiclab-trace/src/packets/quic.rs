//! QUIC in captures: recognised by its headers, decrypted where a key log has its secrets.
//!
//! After RFC 9000, RFC 9001 (versions 1 and drafts 27 to 34), RFC 9369 (version 2). Of other versions the part of long headers
//! is read that all share (RFC 8999): which connection they are of, and which version.
//!
//! | file | what |
//! | --- | --- |
//! | `header.rs` | versions; long headers |
//! | `keys.rs` | packet and header protection |
//! | `initial.rs` | the ClientHello's random, by which a key log names a connection |
//! | `ladder.rs` | keys of one direction through key updates |
//! | `connection.rs` | what is known of a connection, and its datagrams |
//! | `ids.rs`, `addresses.rs` | connection IDs, which say whose a datagram is; addresses that a connection has had |
//! | `secrets.rs` | where secrets come from, and how much may be tried |
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
