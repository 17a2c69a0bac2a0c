//! Progress of the handshake: 0-RTT, completion, confirmation (RFC 9001 section 4.1), and packets that wait for keys.

use crate::quic::handshake::EarlyState;
use quiclab_core::quic::QuicPacket;
use quiclab_core::{Ecn, PacketSpace, Time};

/// State of the handshake.
#[derive(Debug)]
pub(super) struct HandshakeProgress {
    /// State of 0-RTT.
    early_data: EarlyState,
    complete_at: Option<Time>,
    is_confirmed: bool,
    /// Whether crypto data were declared lost because of an arrival (aioquic, once).
    is_restarted: bool,
    /// Packets whose keys are not available yet (section 5.7).
    early_packets: Vec<(QuicPacket, Ecn)>,
}

impl HandshakeProgress {
    /// Makes the initial state.
    pub(super) const fn new() -> Self {
        Self {
            early_data: EarlyState::None,
            complete_at: None,
            is_confirmed: false,
            is_restarted: false,
            early_packets: Vec::new(),
        }
    }

    /// State of 0-RTT.
    pub(super) const fn early_data(&self) -> EarlyState {
        self.early_data
    }

    /// Sets the state of 0-RTT.
    pub(super) fn set_early_data(&mut self, state: EarlyState) {
        self.early_data = state;
    }

    /// Time of completion; `None`: the handshake is in progress.
    pub(super) const fn complete_at(&self) -> Option<Time> {
        self.complete_at
    }

    /// Completes the handshake.
    pub(super) fn complete(&mut self, now: Time) {
        self.complete_at = Some(now);
    }

    /// Whether the handshake is confirmed (section 4.1.2).
    pub(super) const fn is_confirmed(&self) -> bool {
        self.is_confirmed
    }

    /// Confirms the handshake. Returns whether it was not confirmed before.
    pub(super) fn confirm(&mut self) -> bool {
        !std::mem::replace(&mut self.is_confirmed, true)
    }

    /// Records that crypto data are declared lost. Returns whether they were not before.
    pub(super) fn restart(&mut self) -> bool {
        !std::mem::replace(&mut self.is_restarted, true)
    }

    /// Keeps a packet until its keys are available, if fewer than `most` wait.
    pub(super) fn keep(&mut self, packet: QuicPacket, field: Ecn, most: usize) {
        if self.early_packets.len() < most {
            self.early_packets.push((packet, field));
        }
    }

    /// Whether only confirmation is missing.
    pub(super) fn is_settled(&self) -> bool {
        self.complete_at.is_some() && self.early_data != EarlyState::Pending && self.early_packets.is_empty()
    }

    /// Takes packets whose keys are now available.
    pub(super) fn take_readable(
        &mut self,
        can_receive: impl Fn(PacketSpace) -> bool,
    ) -> Vec<(QuicPacket, Ecn)> {
        self.early_packets.extract_if(.., |(packet, _)| can_receive(packet.space)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_core::quic::{PacketFormat, Wire};

    fn packet(space: PacketSpace) -> QuicPacket {
        let format = PacketFormat { wire: Wire::V1, destination_id: 8, source_id: 8, number_length: 1 };
        QuicPacket { space, path: 0, number: 0, format, frames: Default::default() }
    }

    #[test]
    fn packets_wait_for_their_keys() {
        let mut progress = HandshakeProgress::new();
        for space in [PacketSpace::OneRtt, PacketSpace::Handshake, PacketSpace::OneRtt] {
            progress.keep(packet(space), Ecn::NotEct, 2);
        }
        progress.complete(Time::ZERO);
        assert!(!progress.is_settled());
        let spaces =
            |packets: Vec<(QuicPacket, Ecn)>| packets.into_iter().map(|(packet, _)| packet.space).collect();
        let readable: Vec<_> = spaces(progress.take_readable(|space| space == PacketSpace::Handshake));
        assert_eq!(readable, [PacketSpace::Handshake]);
        let readable: Vec<_> = spaces(progress.take_readable(|_| true));
        assert_eq!(readable, [PacketSpace::OneRtt], "no more than two are kept");
        assert!(progress.is_settled());
    }

    #[test]
    fn steps_happen_once() {
        let mut progress = HandshakeProgress::new();
        assert!(progress.confirm() && !progress.confirm() && progress.is_confirmed());
        assert!(progress.restart() && !progress.restart());
        progress.complete(Time::ZERO);
        progress.set_early_data(EarlyState::Pending);
        assert!(!progress.is_settled(), "the fate of 0-RTT is open");
        progress.set_early_data(EarlyState::Rejected);
        assert!(progress.is_settled());
    }
}
