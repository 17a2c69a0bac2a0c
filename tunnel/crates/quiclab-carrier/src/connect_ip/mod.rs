//! CONNECT-IP (RFC 9484): a tunnel in HTTP/3, which other implementations have, too, as a second protocol of
//! [`TunnelEndpoint`](super::TunnelEndpoint). It has one path; congestion control, MTU discovery, liveness and timers are those of
//! any connection of a tunnel.
//!
//! ```text
//! streams ── of noq: what stands before a packet in a datagram, what is left to be written; budget
//!   └── http3 ── one request, a state machine of bytes
//!         ├── uni ── control stream, settings     message ── request and response     capsule, ranges
//!         └── records ── frames and capsules      qpack, huffman, static_table        varint
//! ```
//!
//! `connect_ip_events` of the endpoint drives it, `certificates` has its TLS. All but `streams` is pure, and takes bytes from any
//! source: it is bounded and fails closed.

pub(super) mod budget;
pub mod capsule;
mod config;
pub(super) mod error;
mod frame;
pub mod http3;
pub mod huffman;
pub mod message;
pub mod qpack;
pub mod ranges;
pub mod records;
mod static_table;
pub(super) mod streams;
mod uni;
pub mod varint;

pub use config::{ConnectIpConfig, ServerTrust};
pub use error::Http3Error;
