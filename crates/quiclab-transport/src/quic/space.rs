//! Packet number space: packets sent and their state, packets received (RFC 9000 section 12.3).

use super::Config;
use super::received::Received;
use super::sent::Content;
use crate::acknowledgement::{self, Every};
use crate::recovery::persistent::PersistentCongestion;
use crate::recovery::threshold::{LossDetection, Thresholds};
use quiclab_core::quic::{EcnCounts, PacketFormat};
use quiclab_core::{Role, Time};

/// Packet number space of a connection, or of one of its paths.
pub(super) struct Space {
    pub(super) sent: LossDetection<Content>,
    pub(super) received: Received,
    pub(super) persistent: PersistentCongestion,
    /// Number of packets to send regardless of the window after a probe timeout.
    pub(super) probes: u32,
    /// Number of consecutive packets sent that were not ack-eliciting.
    pub(super) lone_acks: u32,
    /// Time at which a packet was last newly acknowledged; the start of the run before the first.
    pub(super) acked: Time,
    /// ECN counts reported by the peer.
    pub(super) ecn: EcnCounts,
    next_number: u64,
}

impl Space {
    /// Makes the space of Initial or Handshake packets: every packet is acknowledged at once (RFC 9000
    /// section 13.2.1).
    pub(super) fn of_handshake(config: &Config) -> Self {
        Self::new(config, Received::new(Box::new(Every::packet()), config.quic.ack_ranges))
    }

    /// Makes the space of a path for application data.
    pub(super) fn of_application(config: &Config) -> Self {
        let policy = acknowledgement::build(&config.quic.acknowledgement);
        Self::new(config, Received::new(policy, config.quic.ack_ranges))
    }

    fn new(config: &Config, received: Received) -> Self {
        let thresholds = Thresholds {
            packets: u64::from(config.packet_threshold),
            adaptive_packets: config.quic.adaptive_packet_threshold,
            time: config.time_threshold,
            adaptive_time: config.quic.adaptive_time_threshold,
        };
        Self {
            sent: LossDetection::new(thresholds),
            received,
            persistent: PersistentCongestion::default(),
            probes: 0,
            lone_acks: 0,
            acked: Time::ZERO,
            ecn: EcnCounts::default(),
            next_number: 0,
        }
    }

    /// Number of the next packet.
    pub(super) fn next_number(&self) -> u64 {
        self.next_number
    }

    /// Takes the number of the next packet.
    pub(super) fn take_number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number - 1
    }

    /// Length in bytes of the next packet number: the minimum from which the peer can decode it, with twice
    /// as many numbers as are in flight (RFC 9000 section 17.1), or as configured.
    pub(super) fn number_length(&self, config: &Config) -> u8 {
        use crate::options::QuicVersion::V1;
        if let Some(length) = config.quic.packet_number {
            return length.bytes() as u8;
        }
        let unacked = match self.sent.largest_acked() {
            Some(largest) => self.next_number - largest,
            None => self.next_number + 1,
        };
        match unacked {
            0..0x80 => 1,
            0x80..0x8000 => 2,
            // gQUIC has no number of 3 bytes
            0x8000..0x80_0000 if config.quic.version == V1 => 3,
            _ => 4,
        }
    }
}

/// Format of packets of an end, except the length of the packet number.
pub(super) fn format(config: &Config, role: Role, peer_id: u8, number_length: u8) -> PacketFormat {
    use crate::options::QuicVersion;
    use quiclab_core::quic::Wire;
    let (wire, source_id) = match config.quic.version {
        QuicVersion::V1 => (Wire::V1, config.connection_id(role).bytes() as u8),
        QuicVersion::Gquic37 => (Wire::Gquic37, 0),
    };
    PacketFormat { wire, destination_id: peer_id, source_id, number_length }
}
