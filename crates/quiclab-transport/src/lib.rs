//! Transports whose parts can be exchanged: congestion control, loss recovery, pacing and
//! acknowledgement policies, and TCP made of them. Pure: everything takes `now`.
//!
//! ```text
//! tcp            lab-tcp: connection, sender, receiver, TLS flights, profiles
//! datagram       lab-udp: constant-rate and on-off datagrams, ping
//! congestion     windows and rates: NewReno, CUBIC, BBR, fixed; what ends slow start
//! recovery       RTT, RACK-TLP, QUIC's thresholds and PTO, PRR, delivery rate
//! pacing         when the next packet may leave
//! acknowledgement  when a receiver acknowledges
//! ```

pub mod acknowledgement;
mod catalogue;
pub mod congestion;
pub mod pacing;
pub mod recovery;
pub mod tcp;

pub use catalogue::{build, stacks, validate};
