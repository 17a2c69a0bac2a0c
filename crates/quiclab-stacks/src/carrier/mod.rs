//! noq as the carrier of a tunnel: `noq-proto` 1.4, unchanged, under a path scheduler of our own.
//!
//! Datagrams (RFC 9221) over one connection per path, bound into one session, or over one connection with several
//! paths (draft-ietf-quic-multipath-21); congestion control is quiclab's. [`Hub`] is the QUIC endpoint of a process
//! with all its sessions, [`NoqCarrier`] a hub with one session between fixed addresses. Both are pure: they take
//! `now`, and open no sockets.

mod config;
mod control;
mod endpoint;
mod event;
mod gate;
mod hub;
mod keys;
mod line;
mod liveness;
mod multipath;
mod noq_carrier;
mod pacer;
mod per_path;
mod service;
mod session;
mod tls;
mod view;
pub mod wire;

pub use config::{HubConfig, PathConfig, Randomness};
pub use event::{CloseReason, HubError, HubEvent, Outgoing, SessionId};
pub use hub::Hub;
pub use keys::{PublicKey, SecretKey};
pub use noq_carrier::{CarrierSetup, NoqCarrier};
pub use view::HubCarrier;
