//! Acknowledgement policies: when a receiver acknowledges what has arrived.

pub mod delayed;

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

/// Decides when to acknowledge. One for each packet number space.
pub trait AckPolicy: Send {
    /// Something arrived: afterwards [`AckPolicy::due`] says when to acknowledge.
    fn on_arrival(&mut self, arrival: &Arrival);

    /// When an acknowledgement must leave; not after now: at once; `None`: nothing to acknowledge.
    fn due(&self) -> Option<Time>;

    /// An acknowledgement of everything has left.
    fn on_ack_sent(&mut self, now: Time);
}
