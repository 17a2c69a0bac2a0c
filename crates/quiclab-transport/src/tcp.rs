//! lab-tcp: TCP as in Linux, with replaceable parts.
//!
//! ```text
//! endpoint ── an Endpoint of a connection, TLS and an application
//!   ├── tls          messages of the application <-> bytes of the stream
//!   ├── records      contents of the payload of segments, if the application sets them
//!   ├── connection   states, acknowledgements, timestamps
//!   │     ├── handshake   options, SYN retransmission
//!   │     ├── ecn         ECN-capable packets, and echo of marks; accecn: counts of them
//!   │     ├── sender      data to send, data sent, acknowledgements and losses
//!   │     └── receiver    data received, and acknowledgements
//!   ├── memory       memory of segments in buffers
//!   ├── metrics      metrics of the peer that the kernel saves for the next connection
//!   └── crate::workload, crate::http
//! stack ── entry in the catalogue
//! profile ── values of Linux releases; options ── with the overrides of a scenario
//! ```

mod accecn;
mod config;
mod connection;
mod ecn;
mod endpoint;
mod handshake;
mod memory;
mod metrics;
mod options;
mod profile;
mod receiver;
mod records;
mod sender;
mod stack;
mod tls;

pub use config::Config;
pub(crate) use metrics::SAVED;
pub use profile::{DEFAULT_PROFILE, description, profiles, rows};
pub(crate) use sender::TCP;
pub use stack::LabTcp;

/// Name in scenarios.
pub(crate) const LAB_TCP: &str = "lab-tcp";
