//! Packets of a capture from any source, in order, for any file format.
//!
//! A reader turns a file into [`ObservedPacket`] packets of flows and gives them to a [`Sink`] as it reads; nothing of the file
//! stays in memory. What cannot be read is counted by what it is ([`Problems`]), and reading goes on where it can.

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

/// What a flow is carried by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// QUIC, seen as such: by a long header, by keys, or in a qlog file.
    Quic,
    /// UDP of which nothing else is known.
    Udp,
}

/// A flow of a capture: the ends in the order in which they sent their first packet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// What carries it.
    pub protocol: Protocol,
    /// Addresses and ports; `None` where a qlog file does not tell them.
    pub ends: Option<[SocketAddr; 2]>,
    /// What the file calls it (original connection ID, title of a qlog trace), or nothing.
    pub name: String,
}

/// One packet that passes the vantage point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObservedPacket<'a> {
    /// Nanoseconds on the clock of the capture.
    pub at: i64,
    /// From the second end of the flow to the first.
    pub backward: bool,
    /// Bytes of the frame, with its link-layer header where the file has one, without checksum. At least those of IP.
    pub frame_bytes: u32,
    /// Bytes of the outermost IP packet.
    pub packet_bytes: u32,
    /// Bytes of TCP or UDP payload.
    pub payload_bytes: u32,
    /// What it says of itself.
    pub content: Content<'a>,
}

/// The number of a packet of application data: each path of Multipath QUIC counts by itself
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

/// What a packet says of itself.
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
        /// SYN, FIN or RST is set.
        control: bool,
        /// Receive window as in the header.
        window: u16,
        /// Length of the SACK option in blocks.
        sack_blocks: u8,
    },
    /// A QUIC datagram that could be read: its packets of application data (0-RTT and 1-RTT). Without any, it is one
    /// of the handshake alone, in a connection whose secrets are known.
    Quic {
        /// Packet numbers; mostly one.
        numbers: &'a [PacketNumber],
        /// What ACK frames acknowledge of application data, ascending; `None` without such a frame.
        acknowledged: Option<&'a [AckRange]>,
        /// Whether a packet of it, of the handshake or of application data, asks for an acknowledgement: it has frames
        /// other than ACK, PADDING and CONNECTION_CLOSE (RFC 9002 section 2), or could not be read.
        ack_eliciting: bool,
    },
    /// An acknowledgement that newly covers this number of packets, as reported by an endpoint of quiclab.
    Acknowledges(u64),
    /// Only size and time: a QUIC datagram without keys, or any UDP.
    Opaque,
}

/// What is told about packets as they are read.
pub trait Sink {
    /// A new flow; its packets have this index.
    fn flow(&mut self, index: usize, flow: &Flow);

    /// Something more is known of a flow than when it began: its protocol or its name.
    fn better_known(&mut self, index: usize, flow: &Flow);

    /// A packet, in the order of the file.
    fn packet(&mut self, index: usize, packet: &ObservedPacket<'_>);
}

/// What could not be read, counted by a few words that say what it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(BTreeMap<&'static str, u64>);

impl Problems {
    /// One more of a kind.
    pub fn count(&mut self, kind: &'static str) {
        self.add(kind, 1);
    }

    /// So many more of a kind; none leaves no trace.
    pub fn add(&mut self, kind: &'static str, number: u64) {
        if number > 0 {
            *self.0.entry(kind).or_default() += number;
        }
    }

    /// Kinds and how often, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().map(|(kind, count)| (*kind, *count))
    }
}

/// What a file is, besides its packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// `pcapng`, `pcap`, `qlog`, with `, gzip` where it is compressed.
    pub format: String,
    /// Frames or events read, of all kinds.
    pub frames: u64,
    /// Frames that show a packet that another one has shown.
    pub copies: u64,
    /// What could not be read.
    pub problems: Problems,
    /// Sentences that a user should know: why nothing is decrypted, where the file broke off.
    pub notes: Vec<String>,
}
