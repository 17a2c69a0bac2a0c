//! Split bearer: numbers packets, spreads them over several links and puts them in order again.
//!
//! Stands for the packet layer of Dual Connectivity, after 3GPP TS 38.323 (PDCP) and the testbed of
//! Hasselquist et al., "QUIC over Dual Connectivity", Computer Networks 219 (2022). Only what moves
//! packets is there: no header compression, ciphering, integrity protection, discard timer, status
//! report or control PDU. [`BearerSender`] and [`BearerReceiver`] are the two ends; whatever links
//! lie between them is wired by the topology.
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
mod known_link;
mod receiver;
#[cfg(test)]
mod reference;
mod sender;
mod skew;
mod splitter;
#[cfg(test)]
mod together_tests;

pub use config::{BearerConfig, BearerMode, Reordering, ReorderingTimer, Splitter, TimerRule};
pub use receiver::BearerReceiver;
pub use sender::BearerSender;

use thiserror::Error;

/// Most links of a bearer: twice the four RLC entities that a bearer may have in NR with
/// duplication (TS 38.323 section 5.11).
pub const MAX_LINKS: usize = 8;

/// Why a bearer cannot be built. The message names the field of the scenario and what is allowed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BearerError {
    /// There is no link, or too many.
    #[error("`links` has {given} entries; allowed are 1 to {MAX_LINKS}")]
    Links {
        /// Number of links.
        given: usize,
    },
    /// There are shares, but not one for each link.
    #[error("`shares` has {given} entries for {links} links; give one for each link, or none")]
    Shares {
        /// Number of shares.
        given: usize,
        /// Number of links.
        links: usize,
    },
    /// No link may take a packet.
    #[error("`shares` are all 0; at least one must be positive")]
    NoShare,
    /// A batch without packets.
    #[error("`batch_packets` is 0; allowed is 1 or more")]
    EmptyBatch,
    /// A length that no sequence number has.
    #[error("`reordering.sequence_bits` is {given}; allowed are 12, 16 and 18")]
    SequenceBits {
        /// What was given.
        given: u8,
    },
}

/// The weight of each link, checked.
fn weights(bearer: &BearerConfig) -> Result<Vec<u32>, BearerError> {
    let links = bearer.links.len();
    if !(1..=MAX_LINKS).contains(&links) {
        return Err(BearerError::Links { given: links });
    }
    if bearer.shares.is_empty() {
        return Ok(vec![1; links]);
    }
    if bearer.shares.len() != links {
        return Err(BearerError::Shares { given: bearer.shares.len(), links });
    }
    if bearer.shares.iter().all(|&share| share == 0) {
        return Err(BearerError::NoShare);
    }
    Ok(bearer.shares.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bearer::{BearerMode, Reordering, Splitter};
    use crate::units::Probability;

    #[test]
    fn a_wrong_bearer_is_refused_with_field_and_allowed_values() {
        let right = BearerConfig {
            links: vec!["a".into(), "b".into()],
            batch_packets: 100,
            shares: vec![1, 1],
            mode: BearerMode::Split,
            splitter: Splitter::Batches,
            duplication: Probability::ZERO,
            reordering: Reordering::default(),
        };
        let refused = |change: &dyn Fn(&mut BearerConfig), message: &str| {
            let mut wrong = right.clone();
            change(&mut wrong);
            let (sender, receiver) = (BearerSender::new(&wrong), BearerReceiver::new(&wrong));
            assert_eq!(sender.err().map(|error| error.to_string()), Some(message.to_owned()));
            assert_eq!(receiver.err().map(|error| error.to_string()), Some(message.to_owned()));
        };
        assert!(BearerSender::new(&right).is_ok() && BearerReceiver::new(&right).is_ok());
        refused(&|b| b.links.clear(), "`links` has 0 entries; allowed are 1 to 8");
        refused(&|b| b.links = vec!["x".into(); 9], "`links` has 9 entries; allowed are 1 to 8");
        let few = "`shares` has 1 entries for 2 links; give one for each link, or none";
        refused(&|b| b.shares = vec![1], few);
        refused(&|b| b.shares = vec![0, 0], "`shares` are all 0; at least one must be positive");
        refused(&|b| b.batch_packets = 0, "`batch_packets` is 0; allowed is 1 or more");
        let bits = "`reordering.sequence_bits` is 13; allowed are 12, 16 and 18";
        refused(&|b| b.reordering.sequence_bits = 13, bits);
    }
}
