//! The carrier: what takes the datagrams of a tunnel over its paths.
//!
//! The tunnel decides which datagram leaves next and on which path; a carrier says which paths could take one
//! *now*, and sends it there or gives it back. Nothing waits inside: what waits, waits in the tunnel's queue
//! discipline. A carrier is a pure state machine, as an [`Element`](crate::Element) is.

use crate::ip::Ecn;
use crate::metric::Metrics;
use crate::packet::Packet;
use crate::scheduler::PathState;
use crate::time::Time;
use bytes::Bytes;

/// What a datagram of the tunnel carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TunnelPayload {
    /// The bytes of an IP packet.
    Bytes(Bytes),
    /// Between two ends in one process: a packet that is kept outside.
    Reference {
        /// Its number, the tunnel's own.
        number: u64,
        /// Its length in bytes; a carrier pads the datagram to it.
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

/// Carries datagrams over several paths. Paths are numbered from 0; a number is never given to another path.
pub trait Carrier: Send {
    /// Path slots, dead ones included.
    fn paths(&self) -> usize;

    /// What a scheduler may know of `path`: `usable`, and with `has_room` a full datagram leaves at once.
    fn state(&self, now: Time, path: usize) -> PathState;

    /// Whether an acknowledgement leaves on `path` now, whatever else does. Only the published pipeline asks.
    fn acknowledges(&self, now: Time, path: usize) -> bool {
        let _ = (now, path);
        false
    }

    /// Bytes of cargo that [`Carrier::send`] takes on `path` now, in one datagram or in fragments; `None` while it takes none.
    fn largest_datagram(&self, path: usize) -> Option<u16>;

    /// Sends `cargo`: it leaves on `path` with the next [`Carrier::transmit`]s.
    ///
    /// # Errors
    /// Gives the cargo back if the path has no room, is not usable, or cannot take that much.
    fn send(&mut self, now: Time, path: usize, cargo: TunnelPayload) -> Result<(), TunnelPayload>;

    /// The same without congestion control: `cargo` leaves whatever window and pacer say. Only the published pipeline asks.
    ///
    /// # Errors
    /// Gives the cargo back if the path is not usable or cannot take that much, or the carrier has no such datagrams.
    fn send_uncontrolled(
        &mut self,
        now: Time,
        path: usize,
        cargo: TunnelPayload,
    ) -> Result<(), TunnelPayload> {
        let _ = (now, path);
        Err(cargo)
    }

    /// Whether packets with the cargo that is sent from now on may be ECN-capable. Only asked where marks are passed on.
    fn set_capable(&mut self, capable: bool) {
        let _ = capable;
    }

    /// ECN field of the outer packet that has brought what [`Carrier::delivered`] gave last. Only asked where marks are passed on.
    fn delivered_field(&self) -> Ecn {
        Ecn::NotEct
    }

    /// Whether more waits to be sent: congestion control asks whether it limits the sender, or the sender
    /// has nothing to send.
    fn set_backlogged(&mut self, backlogged: bool);

    /// An outer packet arrives on `path`.
    fn receive(&mut self, now: Time, path: usize, packet: Box<Packet>);

    /// The next cargo that arrived, with its path.
    fn delivered(&mut self) -> Option<(usize, TunnelPayload)>;

    /// The next outer packet to send now, with its path; ask until `None`.
    fn transmit(&mut self, now: Time) -> Option<(usize, Box<Packet>)>;

    /// Handles the timers that are due.
    fn wake(&mut self, now: Time);

    /// When [`Carrier::wake`] wants to be called.
    fn next_wake(&self) -> Option<Time>;

    /// Why it carries nothing any more; `None` while it does, or tries to.
    fn failure(&self) -> Option<&str>;

    /// Values over the whole run for the result.
    fn statistics(&self, out: &mut Metrics);
}
