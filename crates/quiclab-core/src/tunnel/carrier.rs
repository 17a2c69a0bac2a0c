//! The carrier: transport of the datagrams of a tunnel over its paths.
//!
//! The tunnel decides which datagram leaves next and on which path; a carrier reports which paths could send one *now*,
//! and sends it there or returns it. A carrier has no queue: packets wait only in the queue discipline of the tunnel.
//! It is a pure state machine, as an [`Element`](crate::Element).

use crate::ip::Ecn;
use crate::metric::Metrics;
use crate::packet::Packet;
use crate::scheduler::PathState;
use crate::time::Time;
use bytes::Bytes;

/// Content of a datagram of the tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TunnelPayload {
    /// The bytes of an IP packet.
    Bytes(Bytes),
    /// Reference to a packet that is stored outside, between two ends in one process.
    Reference {
        /// Number of the packet, assigned by the tunnel.
        number: u64,
        /// Length of the packet in bytes; a carrier pads the datagram to it.
        length: u16,
    },
}

impl TunnelPayload {
    /// Bytes of the IP packet.
    #[must_use]
    pub fn length(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Reference { length, .. } => usize::from(*length),
        }
    }
}

/// Transports datagrams over several paths. Paths are numbered from 0; a number is never reused for another path.
pub trait Carrier: Send {
    /// Number of path slots, failed ones included.
    fn paths(&self) -> usize;

    /// State of `path` as known to a scheduler: `usable`, and with `has_room` a full datagram leaves immediately.
    fn state(&self, now: Time, path: usize) -> PathState;

    /// Whether an acknowledgement leaves on `path` now in any case. Used only by the published pipeline.
    fn acknowledges(&self, now: Time, path: usize) -> bool {
        let _ = (now, path);
        false
    }

    /// Maximum length in bytes of a payload that [`Carrier::send`] accepts on `path` at present, in one datagram or in
    /// fragments; `None` while it accepts none.
    fn largest_datagram(&self, path: usize) -> Option<u16>;

    /// Sends `cargo`: it leaves on `path` with the next [`Carrier::transmit`]s.
    ///
    /// # Errors
    /// Returns the payload if the path has no room, is not usable, or cannot take that length.
    fn send(&mut self, now: Time, path: usize, cargo: TunnelPayload) -> Result<(), TunnelPayload>;

    /// Sends `cargo` without congestion control, regardless of window and pacer. Used only by the published pipeline.
    ///
    /// # Errors
    /// Returns the payload if the path is not usable or cannot take that length, or the carrier has no such datagrams.
    fn send_uncontrolled(
        &mut self,
        now: Time,
        path: usize,
        cargo: TunnelPayload,
    ) -> Result<(), TunnelPayload> {
        let _ = (now, path);
        Err(cargo)
    }

    /// Sets whether packets with payloads sent from now on may be ECN-capable. Called only if marks are passed on.
    fn set_capable(&mut self, capable: bool) {
        let _ = capable;
    }

    /// ECN field of the outer packet whose payload [`Carrier::delivered`] returned last. Called only if marks are
    /// passed on.
    fn delivered_field(&self) -> Ecn {
        Ecn::NotEct
    }

    /// Sets whether more packets wait to be sent: congestion control distinguishes whether it limits the sender, or the
    /// sender has no data.
    fn set_backlogged(&mut self, backlogged: bool);

    /// Handles the arrival of an outer packet on `path`.
    fn receive(&mut self, now: Time, path: usize, packet: Box<Packet>);

    /// The next payload that arrived, with its path.
    fn delivered(&mut self) -> Option<(usize, TunnelPayload)>;

    /// The next outer packet to send now, with its path; to be called until `None`.
    fn transmit(&mut self, now: Time) -> Option<(usize, Box<Packet>)>;

    /// Handles the timers that are due.
    fn wake(&mut self, now: Time);

    /// Time at which [`Carrier::wake`] must be called.
    fn next_wake(&self) -> Option<Time>;

    /// Reason why it transports no more packets; `None` while it does, or tries to.
    fn failure(&self) -> Option<&str>;

    /// Values over the whole run for the result.
    fn statistics(&self, out: &mut Metrics);
}
