//! Acknowledgement policies: when a receiver acknowledges packets.

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

/// Arrival of an ack-eliciting packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Time of arrival.
    pub now: Time,
    /// Packet number (QUIC).
    pub number: u64,
    /// Largest packet number that arrived before; `None` for the first.
    pub largest: Option<u64>,
    /// Whether it left or filled a gap: it was not the packet expected next.
    pub out_of_order: bool,
    /// Whether it has a congestion-experienced mark.
    pub ce: bool,
    /// Smoothed RTT as measured by this endpoint.
    pub srtt: Option<Duration>,
}

/// Request of the peer: an ACK_FREQUENCY frame (draft-ietf-quic-ack-frequency-11 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRequest {
    /// Sequence number: an older request is obsolete.
    pub sequence: u64,
    /// Maximum number of ack-eliciting packets that may wait.
    pub ack_eliciting_threshold: u64,
    /// Maximum time that they may wait.
    pub max_ack_delay: Duration,
    /// Reordering that may go unreported; 0: any.
    pub reordering_threshold: u64,
}

/// Packets that wait for an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    /// Ack-eliciting packets not acknowledged.
    packets: u32,
    /// Time at which the acknowledgement is due; `None`: nothing to acknowledge.
    due: Option<Time>,
}

impl Pending {
    /// Adds a packet. The acknowledgement is due at once if `packets` wait, or if `at_once`; otherwise after
    /// `delay`.
    fn add(&mut self, now: Time, packets: u32, delay: Duration, at_once: bool) {
        self.packets = self.packets.saturating_add(1);
        let due = if at_once || self.packets >= packets { now } else { now + delay };
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
    }
}

/// Policy that decides when to acknowledge, one for each packet number space.
pub trait AckPolicy: Send {
    /// Handles the arrival of an ack-eliciting packet; [`AckPolicy::due`] then returns when to acknowledge.
    fn on_arrival(&mut self, arrival: &Arrival);

    /// Handles the arrival of packet `number`, which is not ack-eliciting: it is not missing.
    fn on_other(&mut self, _number: u64) {}

    /// Handles a request of the peer for another policy; ignored where the extension is not negotiated.
    fn on_request(&mut self, _now: Time, _request: &AckRequest) {}

    /// Handles a request of the peer for an immediate acknowledgement; ignored where the extension is not
    /// negotiated.
    fn on_immediate_ack(&mut self, _now: Time) {}

    /// Time at which an acknowledgement must be sent, at once if it is not in the future; `None`: nothing to
    /// acknowledge.
    fn due(&self) -> Option<Time>;

    /// Handles the departure of an acknowledgement of all packets.
    fn on_ack_sent(&mut self, now: Time);
}
