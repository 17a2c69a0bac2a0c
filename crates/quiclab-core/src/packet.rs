//! What travels: a packet with its identity, its size on the wire and its payload.

use crate::delivery_status::DeliveryStatus;
use crate::media::{MediaFeedback, RtpPacket};
use crate::quic::QuicDatagram;
use crate::segment::Segment;
use crate::time::Time;
use crate::units::ByteCount;
use bytes::BytesMut;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Number of a flow in the order of the scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// Which way a packet of a flow travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the flow's sender (the server of a download) to its receiver.
    #[default]
    Down,
    /// From the flow's receiver to its sender.
    Up,
}

impl Direction {
    /// The other way.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }
}

/// ECN field of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable, code point 01.
    Ect1,
    /// ECN-capable, code point 10.
    Ect0,
    /// Congestion experienced.
    Ce,
}

/// Transport protocol of a packet (IANA protocol numbers).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// UDP, 17.
    #[default]
    Udp,
    /// TCP, 6.
    Tcp,
    /// ICMP, 1, and ICMPv6, 58. It has no ports: that of the source is the identifier of an echo, that of the
    /// destination holds type << 8 | code.
    Icmp,
}

/// Source and destination of a packet, in 40 bytes (two `SocketAddr` take 64): packets are moved at
/// every hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FiveTuple {
    protocol: Protocol,
    source: (IpAddr, u16),
    destination: (IpAddr, u16),
}

impl FiveTuple {
    /// The tuple of packets from `source` to `destination`.
    #[must_use]
    pub fn new(protocol: Protocol, source: SocketAddr, destination: SocketAddr) -> Self {
        let short = |address: SocketAddr| (address.ip(), address.port());
        Self { protocol, source: short(source), destination: short(destination) }
    }
    /// Transport protocol.
    #[must_use]
    pub const fn protocol(self) -> Protocol {
        self.protocol
    }
    /// Address and port of the sender of this packet.
    #[must_use]
    pub fn source(self) -> SocketAddr {
        self.source.into()
    }
    /// Address and port of the receiver of this packet.
    #[must_use]
    pub fn destination(self) -> SocketAddr {
        self.destination.into()
    }
    /// The tuple of packets in the other direction.
    #[must_use]
    pub const fn reverse(self) -> Self {
        Self { protocol: self.protocol, source: self.destination, destination: self.source }
    }
}

impl Default for FiveTuple {
    fn default() -> Self {
        let nowhere = (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        Self { protocol: Protocol::Udp, source: nowhere, destination: nowhere }
    }
}

/// Content of a packet.
#[derive(Clone, Debug, Default)]
pub enum Payload {
    /// No content: only the size counts (tests, background traffic).
    #[default]
    Empty,
    /// The UDP payload of a real stack.
    Bytes(BytesMut),
    /// A whole IP packet of a real host, header included.
    Ip(BytesMut),
    /// A segment of `lab-tcp`: the header as values, the payload as a length.
    Segment(Segment),
    /// A datagram of `lab-quic`: headers and frames as values, the data as lengths.
    Quic(Box<QuicDatagram>),
    /// A datagram of `lab-udp`: what its payload says; the rest of the payload is padding.
    Datagram {
        /// Number in the order of sending, from 0.
        number: u64,
        /// When it was sent; an echo keeps the time of what it answers.
        sent: Time,
        /// It answers the datagram of this number.
        echo: bool,
    },
    /// An RTP packet of `lab-udp`: the rest of the payload is media.
    Rtp(RtpPacket),
    /// What the receiver of media reports (RFC 8888).
    MediaFeedback(Box<MediaFeedback>),
    /// What a link reports to the bearer that sends over it.
    DeliveryStatus(Box<DeliveryStatus>),
}

/// A packet in flight.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    /// Unique within a run; both copies of a duplicated packet have the same.
    pub id: u64,
    /// The flow it belongs to.
    pub flow: FlowId,
    /// Which way it travels.
    pub direction: Direction,
    /// Length of the IP packet, header included.
    pub size: ByteCount,
    /// Length of headers that a lower layer has added (PDCP); links serialise them, too.
    pub encapsulation: ByteCount,
    /// Sequence number given by a split bearer, the lowest `sequence_bits` bits of COUNT.
    pub sequence: u32,
    /// Addresses and ports.
    pub tuple: FiveTuple,
    /// ECN field.
    pub ecn: Ecn,
    /// When its endpoint sent it.
    pub created: Time,
    /// Content.
    pub payload: Payload,
}

impl Packet {
    /// Bytes of the packet with all headers added so far below IP.
    #[must_use]
    pub fn wire_size(&self) -> ByteCount {
        self.size + self.encapsulation
    }
}

// LLVM moves up to 128 bytes inline; beyond, every hop calls memcpy
const _: () = assert!(size_of::<Packet>() <= 128);
