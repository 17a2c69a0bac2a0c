//! CONNECT-IP (RFC 9484) as a second protocol of [`TunnelEndpoint`](super::TunnelEndpoint), which other
//! implementations support as well. It has one path; congestion control, MTU discovery, liveness and timers
//! are those of any connection of a tunnel.
//!
//! `quiclab-connect-ip` reads and writes its bytes; this module has its certificates and its streams of noq, and
//! `connect_ip_events` their effect on sessions. Without the feature `connect-ip`, `connect_ip_absent` replaces this module.

mod certificates;
mod config;
pub(super) mod streams;

pub use config::{ConnectIpConfig, ServerTrust};
pub(crate) use streams::Http3Streams;
