//! CONNECT-IP (RFC 9484): a tunnel in HTTP/3, which other implementations have, too, as a second protocol of
//! [`TunnelEndpoint`](super::TunnelEndpoint). It has one path; congestion control, MTU discovery, liveness and timers are those of
//! any [`TunnelConnection`](super::connection::TunnelConnection).
//!
//! ```text
//! driver ── streams of noq, events        tls ── certificates, keys that are known
//!   └── http3 ── one request, a state machine of bytes
//!         ├── uni ── control stream, settings     message ── request and response     capsule, ranges
//!         └── records ── frames and capsules      qpack, huffman, static_table        varint
//! ```
//!
//! All but `driver` and `tls` are pure, and take bytes from anybody: they are bounded and fail closed.

pub mod capsule;
mod config;
mod driver;
mod error;
pub mod http3;
pub mod huffman;
pub mod message;
pub mod qpack;
pub mod ranges;
pub mod records;
mod static_table;
mod tls;
mod uni;
pub mod varint;

pub use config::{ConnectIpConfig, ServerTrust};
pub(super) use driver::{Http3Streams, close_code};
pub use error::Http3Error;
pub(super) use tls::{client, server};
