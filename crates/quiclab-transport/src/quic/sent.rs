//! Content of sent packets, and its handling when they are acknowledged or lost.

use crate::workload::StreamId;
use smallvec::SmallVec;

/// Content of a packet in flight.
pub(crate) type Content = SmallVec<[SentFrame; 1]>;

/// Frame of a packet in flight whose acknowledgement or loss has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SentFrame {
    /// Data of a stream.
    Stream {
        id: StreamId,
        offset: u64,
        length: u16,
        fin: bool,
    },
    /// Data of the handshake, at the level of the packet's space.
    Crypto {
        offset: u64,
        length: u16,
    },
    /// Acknowledgement of packets up to `largest`: once it is acknowledged, older ranges may be removed.
    Ack {
        path: u8,
        largest: u64,
    },
    ResetStream {
        id: StreamId,
    },
    StopSending {
        id: StreamId,
    },
    MaxData {
        maximum: u64,
    },
    MaxStreamData {
        id: StreamId,
        maximum: u64,
    },
    MaxStreams {
        bidirectional: bool,
        maximum: u64,
    },
    DataBlocked,
    StreamDataBlocked {
        id: StreamId,
    },
    StreamsBlocked {
        bidirectional: bool,
    },
    HandshakeDone,
    NewConnectionId,
    AckFrequency {
        sequence: u64,
    },
    /// DATAGRAM frame: not retransmitted (RFC 9221 section 5.2).
    Datagram {
        number: u64,
    },
    PathChallenge,
    PathResponse,
    PathAbandon {
        path: u8,
    },
    PathStatus {
        path: u8,
        sequence: u64,
    },
    PathNewConnectionId {
        path: u8,
        sequence: u64,
    },
    MaxPathId {
        maximum: u32,
    },
    PathsBlocked {
        maximum: u32,
    },
    PathCidsBlocked {
        path: u8,
    },
}

impl SentFrame {
    /// Whether it is a frame about paths: see `connection/manage.rs`.
    pub(crate) fn is_of_management(&self) -> bool {
        matches!(
            self,
            Self::PathAbandon { .. }
                | Self::PathStatus { .. }
                | Self::PathNewConnectionId { .. }
                | Self::MaxPathId { .. }
                | Self::PathsBlocked { .. }
                | Self::PathCidsBlocked { .. }
        )
    }

    /// Whether a packet with this content had only DATAGRAM frames, and possibly acknowledgements: nothing of
    /// it is retransmitted.
    pub(crate) fn are_datagrams_alone(content: &[Self]) -> bool {
        let datagram = |frame: &Self| matches!(frame, Self::Datagram { .. });
        content.iter().any(datagram)
            && content.iter().all(|frame| datagram(frame) || matches!(frame, Self::Ack { .. }))
    }
}
