//! CONNECT-IP (RFC 9484) as a second protocol of [`TunnelEndpoint`](super::TunnelEndpoint), which other implementations have, too. It has
//! one path; congestion control, MTU discovery, liveness and timers are those of any connection of a tunnel.
//!
//! `quiclab-connect-ip` reads and writes its bytes; here are its certificates and the streams of noq that it runs on, and in
//! `connect_ip_events` what they mean for sessions. Without the feature `connect-ip`, `connect_ip_absent` stands for this module.

mod certificates;
mod config;
pub(super) mod streams;

pub use config::{ConnectIpConfig, ServerTrust};
pub(crate) use streams::Http3Streams;
