//! A packet with its identity, its size on the wire and its payload.

use crate::delivery_status::DeliveryStatus;
use crate::ip::{self, Ecn, FiveTuple};
use crate::media::{MediaFeedback, RtpPacket};
use crate::quic::QuicDatagram;
use crate::segment::Segment;
use crate::time::Time;
use crate::units::ByteCount;
use bytes::BytesMut;

/// Number of a flow in the order of the scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// Direction in which a packet of a flow travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the flow's sender (the server of a download) to its receiver.
    #[default]
    Down,
    /// From the flow's receiver to its sender.
    Up,
}

impl Direction {
    /// Both directions, in the order of their numbers.
    pub const ALL: [Self; 2] = [Self::Down, Self::Up];

    /// Name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }

    /// The opposite direction.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
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
    /// A datagram of `lab-udp`: the fields of its payload; the rest of the payload is padding.
    Datagram {
        /// Number in the order of sending, from 0.
        number: u64,
        /// Time of sending; an echo repeats the time of the datagram that it answers.
        sent: Time,
        /// Whether it answers the datagram with this number.
        echo: bool,
    },
    /// An RTP packet of `lab-udp`: the rest of the payload is media.
    Rtp(RtpPacket),
    /// Report of a receiver of media (RFC 8888).
    MediaFeedback(Box<MediaFeedback>),
    /// Report of a link to the bearer that sends over it.
    DeliveryStatus(Box<DeliveryStatus>),
}

/// A packet in flight.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    /// Unique within a run; both copies of a duplicated packet have the same.
    pub id: u64,
    /// Flow of the packet.
    pub flow: FlowId,
    /// Direction of the packet.
    pub direction: Direction,
    /// Path of the packet in a connection with several paths, from 0: the output at which the end of a flow
    /// sent it.
    pub path: u8,
    /// Length of the IP packet, header included.
    pub size: ByteCount,
    /// Length of headers that a lower layer has added (PDCP); links serialise them as well.
    pub encapsulation: ByteCount,
    /// Sequence number given by a split bearer, the lowest `sequence_bits` bits of COUNT.
    pub sequence: u32,
    /// Addresses and ports.
    pub tuple: FiveTuple,
    /// ECN field.
    pub ecn: Ecn,
    /// Time at which its endpoint sent it.
    pub created: Time,
    /// Content.
    pub payload: Payload,
}

impl Packet {
    /// Creates the packet of a UDP datagram with this payload; its sender numbers it.
    #[must_use]
    pub fn of_datagram(now: Time, tuple: FiveTuple, ecn: Ecn, payload: BytesMut) -> Self {
        let size = ip::headers(tuple) + ByteCount::from_bytes(payload.len() as u64);
        Self { size, tuple, ecn, created: now, payload: Payload::Bytes(payload), ..Self::default() }
    }

    /// Bytes of the packet with all headers added so far below IP.
    #[must_use]
    pub fn wire_size(&self) -> ByteCount {
        self.size + self.encapsulation
    }
}

// LLVM moves up to 128 bytes inline; beyond, boxing a packet calls memcpy
const _: () = assert!(size_of::<Packet>() <= 128);
