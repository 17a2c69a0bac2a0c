//! The noq carriers of the tunnel over a tiny network.

#![allow(missing_docs)]

#[cfg(feature = "connect-ip")]
mod connect_ip;
mod control;
mod determinism;
mod faults;
mod identity;
mod mtu;
mod negotiation;
mod network;
mod state;
mod strangers;
mod throughput;

use quiclab_core::tunnel::CarrierKind;

const KINDS: [CarrierKind; 2] = [CarrierKind::Connections, CarrierKind::Multipath];
