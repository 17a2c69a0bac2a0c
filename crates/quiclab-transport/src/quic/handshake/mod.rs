//! The handshake as flights of exact size: which keys there are, and when (RFC 9001 section 4; QUIC Crypto).
//!
//! Nothing is encrypted: a message is its length. What an end knows follows from how many bytes of each
//! level have arrived in order.

use super::Config;
use quiclab_core::quic::TransportParameters;
use quiclab_core::{PacketSpace, Role};

/// Encryption levels that carry CRYPTO frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Initial,
    Handshake,
    Application,
}

/// What became of 0-RTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EarlyState {
    /// It is not tried.
    None,
    /// The server has not answered yet.
    Pending,
    Accepted,
    Rejected,
}

/// One end of a handshake.
#[derive(Clone, Debug)]
pub(crate) struct Handshake {}

impl Handshake {
    /// Nothing has been sent; the client's first flight is queued at once. `parameters` are those of this
    /// end.
    pub(crate) fn new(_config: &Config, _role: Role, _parameters: TransportParameters) -> Self {
        todo!()
    }

    /// Bytes of the crypto stream of `level` that are to be sent, from its start; grows.
    pub(crate) fn queued(&self, _level: Level) -> u64 {
        todo!()
    }

    /// The parameters that CRYPTO frames of `level` carry for the peer; `None`: none.
    pub(crate) fn parameters(&self, _level: Level) -> Option<&TransportParameters> {
        todo!()
    }

    /// The crypto stream of `level` has arrived in order up to `bytes`; `peer`: the parameters that came
    /// with it, if any.
    pub(crate) fn on_received(&mut self, _level: Level, _bytes: u64, _peer: Option<&TransportParameters>) {
        todo!()
    }

    /// Whether this end can protect packets of `space` now: keys come with the handshake. (That keys are
    /// discarded, RFC 9001 section 4.9, is the connection's business.)
    pub(crate) fn can_send(&self, _space: PacketSpace) -> bool {
        todo!()
    }

    /// Whether this end can read packets of `space` now.
    pub(crate) fn can_receive(&self, _space: PacketSpace) -> bool {
        todo!()
    }

    /// The peer's parameters, once the message that holds them is complete; taken once.
    pub(crate) fn take_peer_parameters(&mut self) -> Option<TransportParameters> {
        todo!()
    }

    /// Complete at this end (RFC 9001 section 4.1.1).
    pub(crate) fn is_complete(&self) -> bool {
        todo!()
    }

    /// What became of 0-RTT, as far as this end knows.
    pub(crate) fn early_data(&self) -> EarlyState {
        todo!()
    }
}
