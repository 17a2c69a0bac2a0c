//! noq as the carrier of a tunnel: `noq-proto` 1.4, unchanged, under quiclab's path scheduler.
//!
//! Datagrams (RFC 9221) over one connection per path, bound into one session, or over one connection with
//! several paths (draft-ietf-quic-multipath-21), or, for endpoints of other implementations, CONNECT-IP over
//! one connection ([`connect_ip`]); congestion control is quiclab's. [`TunnelEndpoint`] is the QUIC endpoint
//! of a process with all its sessions, [`NoqCarrier`] an endpoint with one session between fixed addresses.
//! Both are pure: they take `now`, and open no sockets.

mod address_validation;
mod config;
#[cfg(feature = "connect-ip")]
pub mod connect_ip;
#[cfg(not(feature = "connect-ip"))]
#[path = "connect_ip_absent.rs"]
pub mod connect_ip;
#[cfg(feature = "connect-ip")]
mod connect_ip_events;
mod connection;
mod connection_events;
mod connection_paths;
mod control;
mod control_stream;
mod endpoint;
mod endpoint_packets;
mod endpoint_timers;
mod event;
pub mod format;
mod fragments;
mod gated_controller;
mod half_open;
mod ids;
mod keys;
mod liveness;
mod moved_clients;
mod multipath;
mod noq_carrier;
mod pacer;
mod path_mtu;
mod path_rate;
mod peers;
mod per_path;
mod randomness;
mod send_pass;
mod session;
mod session_carrier;
mod session_events;
#[cfg(test)]
mod testing;
mod tls;
mod tunnel_endpoint;
mod verifier;
pub mod wire;

pub use config::{PathConfig, TunnelEndpointConfig};
pub use event::{
    CloseReason, Outgoing, RefusalReason, SessionId, Strangers, TunnelEndpointError, TunnelEvent,
};
pub use keys::{KnownPeers, PublicKey, SecretKey};
pub use noq_carrier::{CONTROLS, CarrierSetup, NoqCarrier};
pub use path_mtu::PathMtu;
pub use randomness::Randomness;
pub use session_carrier::SessionCarrier;
pub use tunnel_endpoint::TunnelEndpoint;

use quiclab_core::MetricGroup;
use quiclab_transport::CarrierStack;

/// Stacks of this crate that are carriers of tunnels.
pub static CARRIERS: &[&dyn CarrierStack] = &[&noq_carrier::NoqTunnels];

/// The metrics of sessions, for documents and schemas.
#[must_use]
pub fn metric_groups() -> Vec<MetricGroup> {
    vec![session_carrier::SESSION.group()]
}
