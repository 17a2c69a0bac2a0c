//! lab-tcp: TCP as in Linux, with replaceable parts.
//!
//! ```text
//! endpoint ── an Endpoint of a connection, TLS and an application
//!   ├── tls          messages of the application <-> bytes of the stream
//!   ├── records      what the payload of segments says, where the application tells
//!   ├── connection   states, acknowledgements, timestamps
//!   │     ├── handshake   options, SYN retransmission
//!   │     ├── ecn         which packets are ECN-capable, and how marks travel back; accecn: counts of them
//!   │     ├── sender      what may be sent, what was, and what became of it
//!   │     └── receiver    what has arrived, and what to acknowledge
//!   ├── memory       what segments take of the buffers
//!   ├── metrics      what the kernel keeps of the other end for the next connection
//!   └── crate::workload, crate::http
//! stack ── the entry in the catalogue
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
pub(crate) use endpoint::TCP;
pub(crate) use metrics::SAVED;
pub use profile::{DEFAULT_PROFILE, description, profiles, rows};
pub use stack::LabTcp;

/// Name in scenarios.
pub(crate) const LAB_TCP: &str = "lab-tcp";
