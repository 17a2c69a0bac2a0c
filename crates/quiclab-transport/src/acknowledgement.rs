//! Acknowledgement policies: when a receiver acknowledges what has arrived.

mod build;
mod config;
pub mod delayed;
mod every;
mod frequency;
mod rtt_fraction;
#[cfg(test)]
pub(crate) mod testing;
mod timer;

pub use build::build;
pub use config::Acknowledgement;
pub use delayed::TcpAckRule;
pub use every::Every;
pub use frequency::Frequency;
pub use rtt_fraction::RttFraction;
pub use timer::Timer;

use quiclab_core::{Duration, Time};

/// A packet that asks for an acknowledgement has arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// When.
    pub now: Time,
    /// Packet number (QUIC).
    pub number: u64,
    /// Largest packet number that arrived before; `None` for the first.
    pub largest: Option<u64>,
    /// It left or filled a gap: it was not the one expected next.
    pub out_of_order: bool,
    /// It carries a congestion-experienced mark.
    pub ce: bool,
    /// Smoothed RTT as this end knows it.
    pub srtt: Option<Duration>,
}

/// What the peer asks for: an ACK_FREQUENCY frame (draft-ietf-quic-ack-frequency-11 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRequest {
    /// Sequence number: an older request is obsolete.
    pub sequence: u64,
    /// Ack-eliciting packets that may wait.
    pub ack_eliciting_threshold: u64,
    /// How long they may wait.
    pub max_ack_delay: Duration,
    /// Reordering that may go unreported; 0: any.
    pub reordering_threshold: u64,
}

/// Packets that wait for an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    /// Ack-eliciting packets not acknowledged.
    packets: u32,
    /// `None`: nothing to acknowledge.
    due: Option<Time>,
}

impl Pending {
    /// One more arrives. It is due at once if `packets` wait, or `at_once`; else after `delay`.
    fn add(&mut self, now: Time, packets: u32, delay: Duration, at_once: bool) {
        self.packets = self.packets.saturating_add(1);
        let due = if at_once || self.packets >= packets { now } else { now + delay };
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
    }
}

/// Decides when to acknowledge. One for each packet number space.
pub trait AckPolicy: Send {
    /// Something arrived: afterwards [`AckPolicy::due`] says when to acknowledge.
    fn on_arrival(&mut self, arrival: &Arrival);

    /// Packet `number` arrived that asks for no acknowledgement: it is not missing.
    fn on_other(&mut self, _number: u64) {}

    /// The peer asks for another policy; ignored where the extension is not negotiated.
    fn on_request(&mut self, _now: Time, _request: &AckRequest) {}

    /// The peer asks for an acknowledgement at once; ignored where the extension is not negotiated.
    fn on_immediate_ack(&mut self, _now: Time) {}

    /// When an acknowledgement must leave; not after now: at once; `None`: nothing to acknowledge.
    fn due(&self) -> Option<Time>;

    /// An acknowledgement of everything has left.
    fn on_ack_sent(&mut self, now: Time);
}
