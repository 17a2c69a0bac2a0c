//! Endpoints: a transport together with its workload, at the end of a flow.

use crate::element::Element;
use crate::ip::FiveTuple;
use crate::packet::{Direction, FlowId, Packet};
use crate::page::PageClient;
use crate::quic::PacketSpace;
use crate::recovery::RecoveryState;
use crate::time::Time;
use crate::warm_start::WarmStart;

/// A transport with its workload. It has one input and one output, both port 0.
pub trait Endpoint: Element {
    /// Progress of the workload.
    fn progress(&self) -> Progress;

    /// Reason for the failure of the connection, as a sentence; `None` unless [`Progress::failed`].
    fn failure(&self) -> Option<&str> {
        None
    }

    /// A limit of the endpoint that was reached during the run and is no property of the network, as a
    /// sentence.
    fn warning(&self) -> Option<String> {
        None
    }

    /// State of loss recovery and congestion control; `None` before there is a connection, and where the endpoint has no
    /// single one.
    fn recovery(&mut self) -> Option<RecoveryState> {
        None
    }

    /// The endpoint as the client of a web page, if it is one.
    fn page_client(&self) -> Option<&dyn PageClient> {
        None
    }

    /// The endpoint as one that supports a warm start, if this is configured.
    fn warm_start(&mut self) -> Option<&mut dyn WarmStart> {
        None
    }
}

/// Progress of the workload of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Time at which the application requested the transfer; `None` before that.
    pub started: Option<Time>,
    /// Time at which the last byte was delivered to the application; `None` while the transfer runs.
    pub finished: Option<Time>,
    /// Bytes delivered to the application in order.
    pub delivered_bytes: u64,
    /// The connection ended with an error or timed out: no more data will be delivered.
    pub failed: bool,
}

impl Progress {
    /// Records that the application of a server has read `bytes`: for it, the transfer starts with the first
    /// call.
    pub fn read(&mut self, now: Time, bytes: u64) {
        self.started.get_or_insert(now);
        self.delivered_bytes += bytes;
    }
}

/// Side of a flow on which an endpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Initiates the connection and requests data: the flow's receiver.
    Client,
    /// Accepts the connection and answers: the flow's sender.
    Server,
}

impl Role {
    /// Direction of the packets that it sends.
    #[must_use]
    pub const fn direction(self) -> Direction {
        match self {
            Self::Client => Direction::Up,
            Self::Server => Direction::Down,
        }
    }
}

/// Identity of an endpoint, independent of its stack.
#[derive(Clone, Debug)]
pub struct EndpointIdentity {
    /// Name of the element and of its random stream: `flow.sender` or `flow.receiver`.
    pub name: String,
    /// The flow.
    pub flow: FlowId,
    /// Side of the flow.
    pub role: Role,
    /// Source and destination of the packets it sends.
    pub tuple: FiveTuple,
    /// Number of its paths, each with its own output; 1 without Multipath QUIC.
    pub paths: usize,
}

impl EndpointIdentity {
    /// [`Packet::id`] of the first packet that this endpoint sends; later ids count up from it.
    ///
    /// From the highest bits down: flow (23 bits), role (1 bit), counter (40 bits). Thus packets have unique
    /// ids in runs of up to 2^23 flows whose endpoints send up to 2^40 packets each.
    #[must_use]
    pub const fn first_packet_id(&self) -> u64 {
        let role = match self.role {
            Role::Client => 0,
            Role::Server => 1,
        };
        ((self.flow.0 as u64) << 1 | role) << 40
    }
}

/// An event inside a transport; observers turn it into qlog and key logs.
#[derive(Debug)]
pub enum TransportEvent<'a> {
    /// A QUIC packet is sent. `payload` is the plaintext: frames.
    PacketSent {
        /// Packet number space or key phase.
        space: PacketSpace,
        /// Path ID in Multipath QUIC, where each path has its own packet numbers; otherwise 0.
        path: u32,
        /// Full packet number.
        number: u64,
        /// Header, packet number included (not protected), in bytes.
        header: &'a [u8],
        /// Frames in plaintext.
        payload: &'a [u8],
    },
    /// A QUIC packet was received and decrypted.
    PacketReceived {
        /// Packet number space or key phase.
        space: PacketSpace,
        /// Path ID in Multipath QUIC, where each path has its own packet numbers; otherwise 0.
        path: u32,
        /// Full packet number.
        number: u64,
        /// Header after removal of header protection.
        header: &'a [u8],
        /// Frames in plaintext.
        payload: &'a [u8],
    },
    /// The sender declared the packets with these numbers lost.
    PacketsLost {
        /// Packet number space.
        space: PacketSpace,
        /// Path ID in Multipath QUIC, where each path has its own packet numbers; otherwise 0.
        path: u32,
        /// Their numbers, ascending.
        numbers: &'a [u64],
    },
    /// An acknowledgement arrived: in QUIC an ACK frame, in TCP a segment whose acknowledgement counts. The
    /// time since the previous one follows from the times.
    AckReceived {
        /// Ack-eliciting packets that it newly acknowledges; 0 if it contains nothing new. Packets declared
        /// lost before are no longer outstanding and do not count in QUIC.
        packets: u32,
        /// Packets that it covers and none before it did: in TCP by its acknowledgement number, so that 0 is
        /// a duplicate acknowledgement, whatever its SACK blocks contain; in QUIC the same as `packets`.
        covered: u32,
        /// Their bytes: QUIC packets from header to tag, payloads of TCP, FIN counted as one.
        bytes: u64,
    },
    /// The recovery state changed.
    Recovery(RecoveryState),
    /// A line of the NSS key log format.
    Secret(&'a str),
}

/// Receives the events of a transport. Observers never influence a run.
pub trait TransportObserver: Send {
    /// `event` happened at `now`.
    fn observe(&mut self, now: Time, event: &TransportEvent<'_>);
}

/// Receives every packet at every output and input of a run. Observers never influence a run.
pub trait PacketObserver: Send {
    /// `packet` leaves the element with this index in the topology.
    fn departure(&mut self, now: Time, element: usize, port: crate::Port, packet: &Packet);
    /// `packet` reaches the element with this index in the topology.
    fn arrival(&mut self, now: Time, element: usize, port: crate::Port, packet: &Packet);
    /// `packet` is discarded by the element with this index.
    fn discard(&mut self, now: Time, element: usize, reason: crate::DropReason, packet: &Packet);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_two_endpoints_never_meet() {
        let first = |flow, role| {
            let tuple = FiveTuple::default();
            EndpointIdentity { name: String::new(), flow: FlowId(flow), role, tuple, paths: 1 }
                .first_packet_id()
        };
        let flows = [0, 1, 2, (1 << 23) - 2, (1 << 23) - 1];
        let ids: Vec<u64> = flows
            .iter()
            .flat_map(|&flow| [Role::Client, Role::Server].map(|role| first(flow, role)))
            .collect();
        assert!(ids.windows(2).all(|pair| pair[1] - pair[0] >= 1 << 40), "ascending and apart: {ids:x?}");
        assert!(ids[9].checked_add((1 << 40) - 1).is_some(), "the last packet of the last endpoint");
    }
}
