//! Split bearer: numbers packets, distributes them over several links and restores their order.
//!
//! Models the packet layer of Dual Connectivity, after 3GPP TS 38.323 (PDCP) and the testbed of Hasselquist
//! et al., "QUIC over Dual Connectivity", Computer Networks 219 (2022). Only packet forwarding is modelled:
//! no header compression, ciphering, integrity protection, discard timer, status report or control PDU.
//! [`BearerSender`] and [`BearerReceiver`] are the two ends; the topology wires the links between them.
//!
//! | | TS 38.323 | testbed | here |
//! | --- | --- | --- | --- |
//! | length of the sequence number | 12 or 18 bits | 16 bits | 12, 16 or 18 bits |
//! | where it is | header of 2 or 3 bytes | trailer of 2 bytes | 2, 2 or 3 bytes of encapsulation |
//! | COUNT | 32 bits, does not wrap | 32 bits | 64 bits (see `count`) |
//! | choice of the link | by data volume (5.2.1), or left open | batches by share | one of four ways (see `splitter`) |
//! | duplication (5.11) | all packets while it is activated | none | all packets, or a share of them |
//! | t-Reordering | fixed | fixed | fixed, or after the skew of the links (see `skew`) |
//! | order of delivery | 5.2.2 | 5.2.2 with departures (see `receiver`) | 5.2.2 |

mod buffer;
mod config;
mod count;
mod duplication;
mod link_estimate;
#[cfg(test)]
mod outage_tests;
mod receiver;
#[cfg(test)]
mod reference;
mod sender;
mod skew;
mod splitter;
mod timer;
#[cfg(test)]
mod together_tests;

pub use config::{BearerConfig, BearerMode, Reordering, ReorderingTimer, Splitter, TimerRule};
pub(crate) use receiver::BEARER_RECEIVER;
pub use receiver::BearerReceiver;
pub(crate) use sender::BEARER_SENDER;
pub use sender::BearerSender;
pub use splitter::{ChooseLink, LinkView, SplitPacket};

/// Maximum number of links of a bearer: twice the four RLC entities that a bearer may have in NR with
/// duplication (TS 38.323 section 5.11).
pub const MAX_LINKS: usize = 8;

/// The weight of each link.
fn weights(bearer: &BearerConfig) -> Vec<u32> {
    let links = bearer.links.len();
    assert!((1..=MAX_LINKS).contains(&links), "a valid bearer has 1 to {MAX_LINKS} links, got {links}");
    if bearer.shares.is_empty() { vec![1; links] } else { bearer.shares.clone() }
}
