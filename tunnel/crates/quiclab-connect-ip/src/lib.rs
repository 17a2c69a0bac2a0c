//! CONNECT-IP (RFC 9484): a tunnel in HTTP/3, limited to what one request needs. A state machine that takes
//! and returns the bytes of streams and datagrams, and has no QUIC, clock or I/O of its own.
//!
//! ```text
//! http3 ── one connection with one request       budget ── limits to what an end sends without a packet
//!   ├── uni ── control stream, settings          message ── request and response     capsule, ranges
//!   └── records ── frames and capsules           qpack, huffman, static_table        varint
//! ```
//!
//! Its input is untrusted: it is bounded and fails closed. The carrier of a tunnel includes it only with the feature
//! `connect-ip`.

pub mod budget;
pub mod capsule;
pub mod error;
mod frame;
pub mod http3;
pub mod huffman;
pub mod message;
pub mod qpack;
pub mod ranges;
pub mod records;
mod static_table;
mod uni;
pub mod varint;

pub use error::Http3Error;
