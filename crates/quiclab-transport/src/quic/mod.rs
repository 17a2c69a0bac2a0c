//! lab-quic: QUIC with every part exchangeable.
//!
//! ```text
//! endpoint ── an Endpoint of a connection and an application
//!   ├── connection   packets in and out, timers, paths
//!   │     ├── handshake   flights of TLS or QUIC Crypto: which keys there are, and when
//!   │     ├── space       a packet number space: what was sent, what arrived, what to acknowledge
//!   │     ├── path        RTT, congestion control, pacer of a path
//!   │     └── stream      streams, flow control, which stream sends next
//!   └── crate::workload, crate::http
//! profile ── values of published stacks; options ── with the overrides of a scenario
//! ```

mod config;
mod handshake;
mod options;
mod profile;
mod received;
mod sent;
mod stream;

pub use config::Config;
pub use profile::{DEFAULT_PROFILE, description, profiles, rows};

use crate::error::Error;
use quiclab_core::scenario::EndpointConfig;

pub(crate) fn validate(config: &EndpointConfig) -> Result<(), Error> {
    options::resolve(config).map(drop)
}
