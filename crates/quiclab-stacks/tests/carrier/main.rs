//! The noq carriers of the tunnel over a tiny network.

#![allow(missing_docs)]

mod control;
mod determinism;
mod faults;
mod identity;
mod network;
mod strangers;
mod throughput;

use quiclab_stacks::carrier::CarrierKind;

const KINDS: [CarrierKind; 2] = [CarrierKind::PerPath, CarrierKind::Multipath];
