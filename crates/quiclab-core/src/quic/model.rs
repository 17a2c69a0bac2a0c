//! Modelled QUIC packets: headers and frames as values, payloads as lengths.
//!
//! These are the packets of lab-quic. Sizes on the wire are exact, because each packet can be encoded as
//! bytes ([`encode`](super::encode)); connection IDs, tokens and data are then zeros.

use super::EcnCounts;
use crate::time::{Duration, Time};
use smallvec::SmallVec;
use std::ops::RangeInclusive;

/// The QUIC packets of one UDP datagram (RFC 9000 section 12.2).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuicDatagram {
    /// Packets in order; most datagrams have one.
    pub packets: SmallVec<[QuicPacket; 1]>,
}

/// A QUIC packet.
#[derive(Clone, Debug, PartialEq)]
pub struct QuicPacket {
    /// Packet type, which implies the packet number space.
    pub space: PacketSpace,
    /// Path whose packet numbers it uses (Multipath QUIC); 0 otherwise.
    pub path: u8,
    /// Full packet number.
    pub number: u64,
    /// Encoding.
    pub format: PacketFormat,
    /// Frames in order.
    pub frames: SmallVec<[QuicFrame; 2]>,
}

/// Packet number space of QUIC (RFC 9000 section 12.3), with 0-RTT and 1-RTT distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PacketSpace {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// 0-RTT packets of the application space.
    ZeroRtt,
    /// 1-RTT packets of the application space.
    OneRtt,
}

/// Properties other than the frames on which the size of a packet depends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketFormat {
    /// Version.
    pub wire: Wire,
    /// Length of the destination connection ID in bytes.
    pub destination_id: u8,
    /// Length of the source connection ID in bytes, for long headers.
    pub source_id: u8,
    /// Length of the packet number in bytes, 1 to 4 (gQUIC: 1, 2, 4 or 6).
    pub number_length: u8,
}

/// Wire format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wire {
    /// RFC 9000; the tag has 16 bytes (RFC 9001 section 5.3).
    #[default]
    V1,
    /// Google QUIC 37; the tag has 12 bytes.
    Gquic37,
}

/// A frame; fields as in RFC 9000 section 19.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "fields are named as in the RFC's section of the variant")]
pub enum QuicFrame {
    /// A number of PADDING frames.
    Padding {
        length: u16,
    },
    Ping,
    /// Boxed: packets with data are smaller without it.
    Ack(Box<AckFrame>),
    /// `parameters` are those of the message that the data are part of, by which each end learns the
    /// configuration of its peer; they take no bytes of their own.
    Crypto {
        offset: u64,
        length: u16,
        parameters: Option<Box<TransportParameters>>,
    },
    /// `last`: the frame has no Length field and extends to the end of the packet. `label`: properties of the
    /// stream stated by the application; they are part of the data, which are a length here, and take no
    /// bytes of their own.
    Stream {
        stream_id: u64,
        offset: u64,
        length: u16,
        fin: bool,
        last: bool,
        label: u64,
    },
    ResetStream {
        stream_id: u64,
        error_code: u64,
        final_size: u64,
    },
    StopSending {
        stream_id: u64,
        error_code: u64,
    },
    MaxData {
        maximum: u64,
    },
    MaxStreamData {
        stream_id: u64,
        maximum: u64,
    },
    MaxStreams {
        bidirectional: bool,
        maximum: u64,
    },
    DataBlocked {
        limit: u64,
    },
    StreamDataBlocked {
        stream_id: u64,
        limit: u64,
    },
    StreamsBlocked {
        bidirectional: bool,
        limit: u64,
    },
    NewConnectionId {
        sequence_number: u64,
    },
    RetireConnectionId {
        sequence_number: u64,
    },
    PathChallenge,
    PathResponse,
    ConnectionClose {
        application: bool,
        error_code: u64,
    },
    HandshakeDone,
    /// RFC 9221; its content for a workload is as in `Payload::Datagram`.
    Datagram {
        length: u16,
        number: u64,
        sent: Time,
        echo: bool,
    },
    /// draft-ietf-quic-ack-frequency-11.
    AckFrequency {
        sequence_number: u64,
        ack_eliciting_threshold: u32,
        request_max_ack_delay: Duration,
        reordering_threshold: u32,
    },
    ImmediateAck,
    /// The frames from here to `PathCidsBlocked`: draft-ietf-quic-multipath-21 sections 4.2 to 4.7.
    PathAbandon {
        path: u8,
        error_code: u64,
    },
    /// PATH_STATUS_BACKUP or PATH_STATUS_AVAILABLE.
    PathStatus {
        path: u8,
        backup: bool,
        sequence_number: u64,
    },
    PathNewConnectionId {
        path: u8,
        sequence_number: u64,
    },
    MaxPathId {
        maximum: u32,
    },
    PathsBlocked {
        maximum: u32,
    },
    PathCidsBlocked {
        path: u8,
        next_sequence_number: u64,
    },
    /// gQUIC only: no acknowledgement below `least` is awaited.
    StopWaiting {
        least: u64,
    },
}

/// An ACK frame (RFC 9000 section 19.3), or PATH_ACK (draft-ietf-quic-multipath-21 section 4.1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AckFrame {
    /// Path ID whose packets a PATH_ACK frame acknowledges; `None` for an ACK frame, which is for path ID 0
    /// in 1-RTT packets.
    pub path: Option<u8>,
    /// Time from the arrival of the largest packet to the sending of the frame.
    pub delay: Duration,
    /// Ranges of packet numbers, the largest first; not empty.
    pub ranges: SmallVec<[RangeInclusive<u64>; 4]>,
    /// ECN fields of the packets that arrived, if any were ECN-capable.
    pub ecn: Option<EcnCounts>,
}

impl QuicFrame {
    /// Whether a packet with this frame is ack-eliciting (RFC 9002 section 2).
    #[must_use]
    pub const fn is_ack_eliciting(&self) -> bool {
        !matches!(
            self,
            Self::Padding { .. } | Self::Ack(_) | Self::ConnectionClose { .. } | Self::StopWaiting { .. }
        )
    }
}

impl QuicPacket {
    /// Whether it is ack-eliciting.
    #[must_use]
    pub fn is_ack_eliciting(&self) -> bool {
        self.frames.iter().any(QuicFrame::is_ack_eliciting)
    }
}

/// Transport parameters that an endpoint sends in the handshake (RFC 9000 section 18.2), as far as the model
/// depends on them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransportParameters {
    /// `initial_max_data` in bytes.
    pub max_data: u64,
    /// `initial_max_stream_data_bidi_local`: for streams that its sender opens.
    pub max_stream_data_bidi_local: u64,
    /// `initial_max_stream_data_bidi_remote`: for streams that its receiver opens.
    pub max_stream_data_bidi_remote: u64,
    /// `initial_max_stream_data_uni`.
    pub max_stream_data_uni: u64,
    /// `initial_max_streams_bidi`.
    pub max_streams_bidi: u64,
    /// `initial_max_streams_uni`.
    pub max_streams_uni: u64,
    /// `max_ack_delay`.
    pub max_ack_delay: Duration,
    /// `max_idle_timeout`; `None` if there is none.
    pub idle_timeout: Option<Duration>,
    /// `max_datagram_frame_size` in bytes; 0 if DATAGRAM is not supported.
    pub max_datagram_frame_size: u64,
    /// `min_ack_delay`; `None` if ACK_FREQUENCY is not supported.
    pub min_ack_delay: Option<Duration>,
    /// Length of the connection ID in packets to its sender, in bytes.
    pub connection_id_length: u8,
    /// Number of paths that its sender uses (Multipath QUIC); 1 for a single path.
    pub paths: u8,
    /// `initial_max_path_id` of an endpoint that manages its paths with frames (draft-ietf-quic-multipath-21
    /// section 2.1).
    pub max_path_id: Option<u32>,
    /// Not a parameter: bytes of the crypto stream up to the end of the message that contains the parameters.
    /// Lengths of messages depend on the profile of their sender, and data are zeros.
    pub message_end: u64,
    /// Not a parameter either: session resumption in the messages.
    pub session: TlsSession,
}

/// Session offered or accepted by a hello, as its extensions indicate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsSession {
    /// A new session.
    #[default]
    New,
    /// Resumption of an earlier session.
    Resumed,
    /// Resumption with 0-RTT.
    Early,
}
