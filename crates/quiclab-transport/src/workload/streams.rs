//! What an application does with the streams of QUIC: [`StreamApplication`] is one side of a workload, [`Streams`] the
//! connection below it. lab-quic implements it with lengths; quiclab-stacks implements it on the streams of real
//! stacks, with bytes.

use super::Outcome;
use quiclab_core::{ByteCount, DataRate, Metrics, PageClient, Time};

/// Identifier of a stream (RFC 9000 section 2.1): the two low bits say who opened it, and whether it goes
/// one way only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

impl StreamId {
    /// The `index`-th stream of its kind, from 0.
    #[must_use]
    pub const fn new(index: u64, server: bool, bidirectional: bool) -> Self {
        Self(index << 2 | (!bidirectional as u64) << 1 | server as u64)
    }
    /// Which of its kind it is, from 0.
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

/// When a stream is sent (RFC 9218 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// 0 (first) to 7.
    pub urgency: u8,
    /// Whether it makes sense to send it in turn with others of the same urgency.
    pub incremental: bool,
}

impl Default for Priority {
    fn default() -> Self {
        Self { urgency: 3, incremental: false }
    }
}

/// A DATAGRAM frame (RFC 9221) with what its data say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Length of the data in bytes.
    pub length: u16,
    /// Which one it is, in the order of its application.
    pub number: u64,
    /// When it was due at its sender; of an answer, when what it answers was.
    pub sent: Time,
    /// Whether it is an answer.
    pub echo: bool,
}

impl Datagram {
    /// Bytes at the start of its data that hold the rest of it, where bytes are real.
    pub const HEADER: usize = 16;
    /// The highest bit of the number on the wire.
    const ECHO: u64 = 1 << 63;

    /// What its data begin with, big-endian: time (8 bytes), number (8 bytes, of which the highest bit says that it is an answer).
    #[must_use]
    pub fn header(&self) -> [u8; Self::HEADER] {
        let number = self.number | if self.echo { Self::ECHO } else { 0 };
        let mut bytes = [0; Self::HEADER];
        bytes[..8].copy_from_slice(&self.sent.as_nanos().to_be_bytes());
        bytes[8..].copy_from_slice(&number.to_be_bytes());
        bytes
    }

    /// The datagram whose data are `bytes`; `None`: they hold no header.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (header, _) = bytes.split_first_chunk::<{ Self::HEADER }>()?;
        let field = |at: usize| u64::from_be_bytes(header[at..at + 8].try_into().expect("eight bytes"));
        let (sent, number) = (Time::from_nanos(field(0)), field(8));
        let length = u16::try_from(bytes.len()).ok()?;
        Some(Self { length, number: number & !Self::ECHO, sent, echo: number & Self::ECHO != 0 })
    }

    /// One that asks.
    ///
    /// # Panics
    /// If no datagram of UDP can hold `size`.
    pub(crate) fn new(size: ByteCount, number: u64, sent: Time) -> Self {
        let length = u16::try_from(size.bytes()).expect("checked: a datagram of UDP holds it");
        Self { length, number, sent, echo: false }
    }

    pub(crate) fn size(&self) -> ByteCount {
        ByteCount::from_bytes(u64::from(self.length))
    }
}

/// What an application can do with its connection.
pub trait Streams {
    /// Opens a stream; `None`: the peer's limit does not allow it now,
    /// [`StreamApplication::available`] will be called.
    fn open(&mut self, bidirectional: bool) -> Option<StreamId>;
    /// Sends `bytes`, as soon as there is room; `u64::MAX`: without end.
    fn write(&mut self, stream: StreamId, bytes: u64);
    /// Nothing more will be written.
    fn finish(&mut self, stream: StreamId);
    /// What was written and is not sent must not follow.
    fn reset(&mut self, stream: StreamId);
    /// When it is sent.
    fn set_priority(&mut self, stream: StreamId, priority: Priority);
    /// What the data of `stream` say to the peer, as far as it matters: they are a length here.
    fn set_label(&mut self, stream: StreamId, label: u64);
    /// What the peer's data on `stream` say; 0: nothing, or nothing has arrived.
    fn label(&self, stream: StreamId) -> u64;
    /// Sends an unreliable datagram.
    fn send_datagram(&mut self, datagram: Datagram);
    /// Rate at which what waits is sent, on the first path ([`quiclab_core::RecoveryState::send_rate`]).
    fn send_rate(&mut self) -> Option<DataRate>;
    /// Bytes of streams and datagrams that were not sent yet.
    fn waiting_bytes(&mut self) -> u64;
    /// Ends the connection.
    fn close(&mut self);
}

/// One side of a workload on the streams of QUIC.
pub trait StreamApplication: Send {
    /// The client asks for a connection.
    fn start(&mut self, _now: Time) {}
    /// Streams may be opened: the handshake is complete, or a client sends 0-RTT.
    fn connected(&mut self, now: Time, streams: &mut dyn Streams);
    /// `bytes` more of `stream` have been read in order; `end`: and nothing more comes. A stream that the
    /// peer opened appears here for the first time.
    fn received(
        &mut self,
        _now: Time,
        _stream: StreamId,
        _bytes: u64,
        _end: bool,
        _streams: &mut dyn Streams,
    ) {
    }
    /// The peer has reset `stream`.
    fn reset_by_peer(&mut self, _now: Time, _stream: StreamId, _streams: &mut dyn Streams) {}
    /// Everything written to `stream`, its end included, is acknowledged.
    fn acknowledged(&mut self, _now: Time, _stream: StreamId) {}
    /// More streams may be opened than before.
    fn available(&mut self, _now: Time, _streams: &mut dyn Streams) {}
    /// An unreliable datagram has arrived.
    fn datagram(&mut self, _now: Time, _datagram: Datagram, _streams: &mut dyn Streams) {}
    /// The peer's application has ended the connection.
    fn closed_by_peer(&mut self, now: Time);
    /// The connection has failed.
    fn failed(&mut self, reason: String);
    /// When [`StreamApplication::wake`] wants to be called.
    fn deadline(&self) -> Option<Time> {
        None
    }
    /// The deadline is due.
    fn wake(&mut self, _now: Time, _streams: &mut dyn Streams) {}
    /// State of the transfer.
    fn outcome(&self) -> &Outcome;
    /// Results of its own.
    fn statistics(&self, _out: &mut Metrics) {}
    /// Values of its own for time series.
    fn sample(&self, _out: &mut Metrics) {}
    /// The application as the client of a web page, if it is one.
    fn page_client(&self) -> Option<&dyn PageClient> {
        None
    }
}
