//! Packets of a capture from any source, in order, for any file format.
//!
//! A reader passes a file as [`ObservedPacket`] packets of flows to a [`Sink`] while it reads; no part of the file stays in
//! memory. Unreadable items are counted by kind ([`Problems`]), and reading continues where it can.

mod capture;
mod copies;
mod dissect;
mod error;
mod flows;
mod ip;
pub(crate) mod key_log;
mod layer;
mod layers;
mod link;
mod open;
mod pcap;
mod pcapng;
mod qlog;
pub(crate) mod quic;
mod sequence;
mod tcp;
mod tunnel;
mod udp;
mod window;

pub use capture::read_capture;
pub use error::{EXPECTED, ReadError};
pub use key_log::{CONNECTIONS_MAX, KEY_LOG_BYTES_MAX, KeyLog};
pub use open::read_packets;
pub use qlog::read_qlog;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;

/// Protocol that carries a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// QUIC, identified by a long header, by keys, or by a qlog file.
    Quic,
    /// UDP with unknown content.
    Udp,
}

/// A flow of a capture: its endpoints in the order in which they sent their first packet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// Its protocol.
    pub protocol: Protocol,
    /// Addresses and ports; `None` where a qlog file does not contain them.
    pub ends: Option<[SocketAddr; 2]>,
    /// Name in the file (original connection ID, title of a qlog trace), or empty.
    pub name: String,
}

/// One packet that passes the vantage point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObservedPacket<'a> {
    /// Nanoseconds on the clock of the capture.
    pub at: i64,
    /// Whether it goes from the second end of the flow to the first.
    pub backward: bool,
    /// Bytes of the frame, with its link-layer header where the file has one, without checksum. At least the bytes of
    /// the IP packet.
    pub frame_bytes: u32,
    /// Bytes of the outermost IP packet.
    pub packet_bytes: u32,
    /// Bytes of TCP or UDP payload.
    pub payload_bytes: u32,
    /// Content of the packet.
    pub content: Content<'a>,
}

/// Number of a packet of application data: each path of Multipath QUIC has its own numbers
/// (draft-ietf-quic-multipath-21 section 2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketNumber {
    /// Path ID; 0 without Multipath QUIC.
    pub path: u32,
    /// Full packet number.
    pub number: u64,
}

/// Packets that an ACK frame acknowledges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AckRange {
    /// Path ID; 0 without Multipath QUIC.
    pub path: u32,
    /// Packet numbers.
    pub numbers: RangeInclusive<u64>,
}

/// Content of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content<'a> {
    /// A TCP segment.
    Segment {
        /// Sequence number of the first byte.
        sequence: u32,
        /// Acknowledgement number, if it has one.
        acknowledgement: Option<u32>,
        /// Bytes of sequence space: payload, and one each for SYN and FIN.
        length: u32,
        /// Whether SYN, FIN or RST is set.
        control: bool,
        /// Receive window as in the header.
        window: u16,
        /// Length of the SACK option in blocks.
        sack_blocks: u8,
    },
    /// A QUIC datagram that could be read: its packets of application data (0-RTT and 1-RTT). A datagram without any
    /// contains only handshake packets, in a connection whose secrets are known.
    Quic {
        /// Packet numbers; usually one.
        numbers: &'a [PacketNumber],
        /// Packets of application data that its ACK frames acknowledge, ascending; `None` without one.
        acknowledged: Option<&'a [AckRange]>,
        /// Whether a packet in it, of the handshake or of application data, is ack-eliciting: it has frames other than
        /// ACK, PADDING and CONNECTION_CLOSE (RFC 9002 section 2), or could not be read.
        ack_eliciting: bool,
    },
    /// An acknowledgement that newly covers this number of packets, as reported by an endpoint of quiclab.
    Acknowledges(u64),
    /// Only size and time are known: a QUIC datagram without keys, or other UDP.
    Opaque,
}

/// Receiver of packets while they are read.
pub trait Sink {
    /// Receives a new flow; its packets have this index.
    fn flow(&mut self, index: usize, flow: &Flow);

    /// Receives a protocol or name of a flow that was not known when it began.
    fn better_known(&mut self, index: usize, flow: &Flow);

    /// Receives a packet, in the order of the file.
    fn packet(&mut self, index: usize, packet: &ObservedPacket<'_>);
}

/// Numbers of unreadable items by kind, each named in a few words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(BTreeMap<&'static str, u64>);

impl Problems {
    /// Counts one of a kind.
    pub fn count(&mut self, kind: &'static str) {
        self.add(kind, 1);
    }

    /// Adds `number` of a kind; zero adds no entry.
    pub fn add(&mut self, kind: &'static str, number: u64) {
        if number > 0 {
            *self.0.entry(kind).or_default() += number;
        }
    }

    /// Kinds and their counts, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().map(|(kind, count)| (*kind, *count))
    }
}

/// Properties of a file besides its packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// `pcapng`, `pcap`, `qlog`, with `, gzip` if it is compressed.
    pub format: String,
    /// Frames or events read, of all kinds.
    pub frames: u64,
    /// Number of frames that are copies of a packet in an earlier frame.
    pub copies: u64,
    /// Unreadable items.
    pub problems: Problems,
    /// Notes for the user: why nothing is decrypted, where the file is truncated.
    pub notes: Vec<String>,
}
