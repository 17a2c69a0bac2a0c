//! Interface between applications and the streams of QUIC: [`StreamApplication`] is one side of a workload,
//! [`Streams`] the connection below it. lab-quic implements the latter with lengths; quiclab-stacks
//! implements it on the streams of real stacks, with bytes.

use super::Outcome;
use quiclab_core::{ByteCount, DataRate, Metrics, PageClient, Time};

/// Identifier of a stream (RFC 9000 section 2.1): the two low bits encode who opened it, and whether it is
/// unidirectional.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

impl StreamId {
    /// Makes the identifier of the `index`-th stream of its kind, from 0.
    #[must_use]
    pub const fn new(index: u64, server: bool, bidirectional: bool) -> Self {
        Self(index << 2 | (!bidirectional as u64) << 1 | server as u64)
    }
    /// Index within its kind, from 0.
    #[must_use]
    pub const fn index(self) -> u64 {
        self.0 >> 2
    }
    /// Whether the server has opened it.
    #[must_use]
    pub const fn is_of_server(self) -> bool {
        self.0 & 1 != 0
    }
    /// Whether data flow both ways.
    #[must_use]
    pub const fn is_bidirectional(self) -> bool {
        self.0 & 2 == 0
    }
}

/// Priority of a stream (RFC 9218 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// Urgency from 0 (first) to 7.
    pub urgency: u8,
    /// Whether it is sent in turn with others of the same urgency.
    pub incremental: bool,
}

impl Default for Priority {
    fn default() -> Self {
        Self { urgency: 3, incremental: false }
    }
}

/// DATAGRAM frame (RFC 9221) with the content of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Length of the data in bytes.
    pub length: u16,
    /// Number in the order of its application.
    pub number: u64,
    /// Time at which it was due at its sender; for a reply, that of the request.
    pub sent: Time,
    /// Whether it is a reply.
    pub echo: bool,
}

impl Datagram {
    /// Length in bytes of the header at the start of its data with the other fields, where bytes are real.
    pub const HEADER: usize = 16;
    /// Highest bit of the number on the wire: set for a reply.
    const ECHO: u64 = 1 << 63;

    /// Header at the start of its data, big-endian: time (8 bytes), number (8 bytes, whose highest bit is set
    /// for a reply).
    #[must_use]
    pub fn header(&self) -> [u8; Self::HEADER] {
        let number = self.number | if self.echo { Self::ECHO } else { 0 };
        let mut bytes = [0; Self::HEADER];
        bytes[..8].copy_from_slice(&self.sent.as_nanos().to_be_bytes());
        bytes[8..].copy_from_slice(&number.to_be_bytes());
        bytes
    }

    /// Parses a datagram with the data `bytes`; `None`: they are shorter than a header.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (header, _) = bytes.split_first_chunk::<{ Self::HEADER }>()?;
        let field = |at: usize| u64::from_be_bytes(header[at..at + 8].try_into().expect("eight bytes"));
        let (sent, number) = (Time::from_nanos(field(0)), field(8));
        let length = u16::try_from(bytes.len()).ok()?;
        Some(Self { length, number: number & !Self::ECHO, sent, echo: number & Self::ECHO != 0 })
    }

    /// Makes a datagram that is not a reply.
    ///
    /// # Panics
    /// If `size` exceeds the maximum of UDP.
    pub(crate) fn new(size: ByteCount, number: u64, sent: Time) -> Self {
        let length = u16::try_from(size.bytes()).expect("checked: a datagram of UDP holds it");
        Self { length, number, sent, echo: false }
    }

    pub(crate) fn size(&self) -> ByteCount {
        ByteCount::from_bytes(u64::from(self.length))
    }
}

/// Connection of an application.
pub trait Streams {
    /// Opens a stream; `None`: the peer's limit does not allow it now; [`StreamApplication::available`] will
    /// be called.
    fn open(&mut self, bidirectional: bool) -> Option<StreamId>;
    /// Sends `bytes`, as soon as there is room; `u64::MAX`: without end.
    fn write(&mut self, stream: StreamId, bytes: u64);
    /// Ends the stream: no more data will be written.
    fn finish(&mut self, stream: StreamId);
    /// Resets the stream: data written and not sent must not follow.
    fn reset(&mut self, stream: StreamId);
    /// Sets the priority of the stream.
    fn set_priority(&mut self, stream: StreamId, priority: Priority);
    /// Sets the label of `stream` for the peer, the relevant content of its data, which are only a length
    /// here.
    fn set_label(&mut self, stream: StreamId, label: u64);
    /// Label of the peer's data on `stream`; 0: none, or no data have arrived.
    fn label(&self, stream: StreamId) -> u64;
    /// Sends an unreliable datagram.
    fn send_datagram(&mut self, datagram: Datagram);
    /// Rate at which waiting bytes are sent, on the first path ([`quiclab_core::RecoveryState::send_rate`]).
    fn send_rate(&mut self) -> Option<DataRate>;
    /// Bytes of streams and datagrams that are not sent yet.
    fn waiting_bytes(&mut self) -> u64;
    /// Closes the connection.
    fn close(&mut self);
}

/// One side of a workload on the streams of QUIC.
pub trait StreamApplication: Send {
    /// Handles the start of the connection at a client.
    fn start(&mut self, _now: Time) {}
    /// Handles the readiness for streams: the handshake is complete, or a client sends 0-RTT.
    fn connected(&mut self, now: Time, streams: &mut dyn Streams);
    /// Handles further `bytes` of `stream`, read in order; `end`: whether the stream has ended. A stream that
    /// the peer opened appears here for the first time.
    fn received(
        &mut self,
        _now: Time,
        _stream: StreamId,
        _bytes: u64,
        _end: bool,
        _streams: &mut dyn Streams,
    ) {
    }
    /// Handles a reset of `stream` by the peer.
    fn reset_by_peer(&mut self, _now: Time, _stream: StreamId, _streams: &mut dyn Streams) {}
    /// Handles the acknowledgement of all data written to `stream`, including its end.
    fn acknowledged(&mut self, _now: Time, _stream: StreamId) {}
    /// Handles an increase of the limit of streams.
    fn available(&mut self, _now: Time, _streams: &mut dyn Streams) {}
    /// Handles an unreliable datagram.
    fn datagram(&mut self, _now: Time, _datagram: Datagram, _streams: &mut dyn Streams) {}
    /// Handles a close of the connection by the peer's application.
    fn closed_by_peer(&mut self, now: Time);
    /// Handles the failure of the connection.
    fn failed(&mut self, reason: String);
    /// Time at which [`StreamApplication::wake`] must be called.
    fn deadline(&self) -> Option<Time> {
        None
    }
    /// Handles the deadline.
    fn wake(&mut self, _now: Time, _streams: &mut dyn Streams) {}
    /// State of the transfer.
    fn outcome(&self) -> &Outcome;
    /// Reports further results.
    fn statistics(&self, _out: &mut Metrics) {}
    /// Reports further values for time series.
    fn sample(&self, _out: &mut Metrics) {}
    /// Application as the client of a web page, if it is one.
    fn page_client(&self) -> Option<&dyn PageClient> {
        None
    }
}
