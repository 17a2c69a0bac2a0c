//! lab-quic: QUIC with replaceable parts.
//!
//! ```text
//! endpoint ── an Endpoint of a connection and an application
//!   ├── connection   packets in and out, timers, paths
//!   │     ├── handshake   flights of TLS or QUIC Crypto: keys, and when they are available
//!   │     ├── space       a packet number space: packets sent and received, acknowledgements
//!   │     ├── path        RTT, congestion control, pacer of a path
//!   │     ├── managed     paths that are opened, ranked and closed (Multipath QUIC)
//!   │     ├── ecn         ECN-capable packets of a path, and marks
//!   │     └── stream      streams, flow control, choice of the next stream
//!   └── crate::workload, crate::http
//! carrier ── connections without an application, for the datagrams of a tunnel
//! stack ── entry in the catalogue
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
