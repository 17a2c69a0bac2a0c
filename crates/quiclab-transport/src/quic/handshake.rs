//! Handshake as flights of exact size: keys, and when they are available (RFC 9001 section 4; QUIC Crypto).
//!
//! Nothing is encrypted: a message is its length. The state of an end follows from the number of bytes of
//! each level that have arrived in order. The sender states the end of a message beside the bytes
//! ([`TransportParameters::message_end`]), as the profiles of the two ends may differ. Their `tls` must not.
//!
//! Round trips until the first byte of the response, including that of the request:
//!
//! | | full | resumed | 0-RTT | 0-RTT rejected |
//! | --- | --- | --- | --- | --- |
//! | [`tls`] | 2 | 2 | 1 | 2 |
//! | [`gquic`] | 2; 3 if the certificate is too long for a REJ | 2 | 1 | 2 |
//!
//! Results of [`Handshake::can_send`] and [`Handshake::can_receive`]:
//!
//! | space | TLS | gQUIC: all in one packet number space |
//! | --- | --- | --- |
//! | `Initial` | Initial keys: always | crypto stream of a client before the first packet of the server: always |
//! | `Handshake` | Handshake keys | every other part of the crypto stream: always |
//! | `ZeroRtt` | 0-RTT keys | data after a hello made of a cached server config |
//! | `OneRtt` | 1-RTT keys | data after a hello made of a fresh REJ, and all after the server hello |

mod gquic;
#[cfg(test)]
mod tests;
mod tls;

use super::Config;
use crate::options::QuicVersion;
use quiclab_core::quic::TransportParameters;
use quiclab_core::{PacketSpace, Role};

/// Encryption levels that carry CRYPTO frames; gQUIC has only `Initial`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Initial,
    Handshake,
    Application,
}

/// State of 0-RTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EarlyState {
    /// Not tried.
    None,
    /// The server has not responded yet.
    Pending,
    Accepted,
    Rejected,
}

/// Crypto streams of both directions, by [`Level`].
#[derive(Clone, Debug)]
struct Streams {
    /// Parameters of this end; `message_end` is the number of bytes queued.
    own: [TransportParameters; 3],
    /// Number of bytes received in order.
    arrived: [u64; 3],
    /// Parameters of the newest message, part of which has arrived; `None`: none has.
    peer: [Option<TransportParameters>; 3],
}

impl Streams {
    fn queued(&self, level: Level) -> u64 {
        self.own[level as usize].message_end
    }

    fn queue(&mut self, level: Level, bytes: u64) {
        self.own[level as usize].message_end += bytes;
    }

    fn arrived(&self, level: Level) -> u64 {
        self.arrived[level as usize]
    }

    /// Parameters of the newest message, complete or not.
    fn peer(&self, level: Level) -> Option<&TransportParameters> {
        self.peer[level as usize].as_ref()
    }

    /// End of the newest message, if it is complete.
    fn complete(&self, level: Level) -> Option<u64> {
        self.peer(level).map(|peer| peer.message_end).filter(|&end| end > 0 && self.arrived(level) >= end)
    }
}

#[derive(Clone, Debug)]
enum Script {
    Tls(tls::Tls),
    Gquic(gquic::Gquic),
}

/// Calls a method of the script of either kind.
macro_rules! script {
    ($self:ident, $script:ident => $call:expr) => {
        match &$self.script {
            Script::Tls($script) => $call,
            Script::Gquic($script) => $call,
        }
    };
}

/// Endpoint of a handshake.
#[derive(Clone, Debug)]
pub(crate) struct Handshake {
    streams: Streams,
    script: Script,
    /// Whether the peer's parameters have been taken.
    taken: bool,
}

impl Handshake {
    /// Makes the state before anything is sent; the client's first flight is queued at once. `parameters` are
    /// those of this end.
    pub(crate) fn new(config: &Config, role: Role, parameters: TransportParameters) -> Self {
        let own = TransportParameters { message_end: 0, ..parameters };
        let mut streams =
            Streams { own: [own.clone(), own.clone(), own], arrived: [0; 3], peer: [const { None }; 3] };
        let script = match config.quic.version {
            QuicVersion::V1 => Script::Tls(tls::Tls::new(config, role, &mut streams)),
            QuicVersion::Gquic37 => Script::Gquic(gquic::Gquic::new(config, role, &mut streams)),
        };
        Self { streams, script, taken: false }
    }

    /// Total bytes of the crypto stream of `level` to be sent, from its start; it only grows.
    pub(crate) fn queued(&self, level: Level) -> u64 {
        self.streams.queued(level)
    }

    /// Packet number space of packets that carry CRYPTO frames of `level` now.
    pub(crate) fn space(&self, level: Level) -> PacketSpace {
        match (&self.script, level) {
            (Script::Gquic(gquic), _) => gquic.space(),
            (_, Level::Initial) => PacketSpace::Initial,
            (_, Level::Handshake) => PacketSpace::Handshake,
            (_, Level::Application) => PacketSpace::OneRtt,
        }
    }

    /// Parameters for the peer in every CRYPTO frame of `level`; `None`: nothing is queued.
    pub(crate) fn parameters(&self, level: Level) -> Option<&TransportParameters> {
        Some(&self.streams.own[level as usize]).filter(|own| own.message_end > 0)
    }

    /// Handles the crypto stream of `level`, received in order up to `bytes`; `peer`: parameters of the frame
    /// just received.
    pub(crate) fn on_received(&mut self, level: Level, bytes: u64, peer: Option<&TransportParameters>) {
        let index = level as usize;
        self.streams.arrived[index] = self.streams.arrived[index].max(bytes);
        if let Some(peer) = peer {
            let known = self.streams.peer[index].as_ref().map_or(0, |known| known.message_end);
            if peer.message_end > known {
                self.streams.peer[index] = Some(peer.clone());
            }
        }
        match &mut self.script {
            Script::Tls(tls) => tls.advance(&mut self.streams),
            Script::Gquic(gquic) => gquic.advance(&mut self.streams),
        }
    }

    /// Whether this end can protect packets of `space` now: keys become available with the handshake. (The
    /// connection handles the discard of keys, RFC 9001 section 4.9.)
    pub(crate) fn can_send(&self, space: PacketSpace) -> bool {
        script!(self, script => script.can_send(space, &self.streams))
    }

    /// Whether this end can read packets of `space` now.
    pub(crate) fn can_receive(&self, space: PacketSpace) -> bool {
        script!(self, script => script.can_receive(space, &self.streams))
    }

    /// Takes the peer's parameters once their message is complete; only once.
    pub(crate) fn take_peer_parameters(&mut self) -> Option<TransportParameters> {
        if self.taken {
            return None;
        }
        let parameters = script!(self, script => script.peer_parameters(&self.streams)).cloned();
        self.taken = parameters.is_some();
        parameters
    }

    /// Whether the handshake is complete at this end (RFC 9001 section 4.1.1).
    pub(crate) fn is_complete(&self) -> bool {
        script!(self, script => script.is_complete(&self.streams))
    }

    /// State of 0-RTT, as far as this end knows.
    pub(crate) fn early_data(&self) -> EarlyState {
        script!(self, script => script.early_data(&self.streams))
    }
}
