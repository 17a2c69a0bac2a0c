//! lab-quic: QUIC with replaceable parts.
//!
//! ```text
//! endpoint ── an Endpoint of a connection and an application
//!   ├── connection   packets in and out, timers, paths
//!   │     ├── handshake   flights of TLS or QUIC Crypto: which keys there are, and when
//!   │     ├── space       a packet number space: what was sent, what arrived, what to acknowledge
//!   │     ├── path        RTT, congestion control, pacer of a path
//!   │     ├── managed     paths that are opened, ranked and closed (Multipath QUIC)
//!   │     ├── ecn         whether packets of a path are ECN-capable, and what is marked
//!   │     └── stream      streams, flow control, which stream sends next
//!   └── crate::workload, crate::http
//! carrier ── connections without an application, for the datagrams of a tunnel
//! stack ── the entry in the catalogue
//! profile ── values of published stacks; options ── with the overrides of a scenario
//! ```

mod carrier;
mod config;
mod connection;
mod crypto;
mod ecn;
mod endpoint;
mod handshake;
mod managed;
mod options;
mod path;
mod profile;
mod received;
mod sent;
mod space;
mod stack;
mod stream;

pub use carrier::LabCarrier;
pub(crate) use carrier::QUIC_CARRIER;
pub use config::Config;
pub(crate) use endpoint::QUIC;
pub use profile::{DEFAULT_PROFILE, description, profiles, rows};
pub use stack::LabQuic;

/// Name in scenarios.
pub(crate) const LAB_QUIC: &str = "lab-quic";
