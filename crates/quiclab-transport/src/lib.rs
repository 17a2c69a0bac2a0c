//! Transports with replaceable parts: congestion control, loss recovery, pacing and acknowledgement policies,
//! and QUIC and TCP made of them. Pure: everything takes `now`.
//!
//! ```text
//! quic           lab-quic: profiles of QUIC stacks, options, the parts of a connection
//! tcp            lab-tcp: connection, sender, receiver, TLS flights, profiles
//! datagram       lab-udp: constant-rate and on-off datagrams, ping
//! live           live video on streams, in datagrams, or on a byte stream
//! media          video over RTP, its rate controlled by SCReAM
//! application    one side of any workload on the streams of QUIC
//! workload       applications on a byte stream, or on the streams of QUIC
//! http           a web page: browser and server, HTTP/2 and HTTP/3
//! congestion     windows and rates: NewReno, CUBIC, BBR, fixed; exit from slow start
//! recovery       RTT, RACK-TLP, QUIC's thresholds and PTO, PRR, delivery rate
//! pacing         departure of the next packet
//! acknowledgement  acknowledgement policies of a receiver
//! operations     computations that a plugin can replace
//! ticks          clock of a kernel's timers
//! stack          interface of a stack of this crate, or of another
//! ```

pub mod acknowledgement;
mod application;
pub mod carrier;
pub mod congestion;
mod datagram;
mod error;
pub mod http;
pub mod live;
mod media;
mod metric_groups;
pub mod operations;
pub mod options;
pub mod pacing;
mod profile;
pub mod quic;
mod range_set;
pub mod recovery;
pub mod stack;
pub mod tcp;
#[cfg(test)]
mod testing;
mod ticks;
mod tls_messages;
pub mod workload;

pub use application::{build_on_streams, page_random};
pub use carrier::{CarrierRequest, CarrierStack, EndOf};
pub use error::Error;
pub use metric_groups::metric_groups;
pub use profile::OptionRow;
pub use stack::{EndpointRequest, NativeStack};
pub use workload::Samples;

/// The stacks of this crate.
pub static STACKS: &[&dyn NativeStack] = &[&quic::LabQuic, &tcp::LabTcp, &datagram::LabUdp];

/// Stacks that carry tunnels.
pub static CARRIERS: &[&dyn CarrierStack] = &[&quic::LabQuic];
