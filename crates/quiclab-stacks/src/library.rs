//! The interface of QUIC libraries to the driver.

use bytes::{Bytes, BytesMut};
use quiclab_core::{Ecn, RandomStream, RecoveryState, Role};
use quiclab_transport::options::PathPlan;
use std::net::SocketAddr;
use std::time::Instant;

/// The streams and datagrams of one end of a connection, for an application ([`crate::OnStreams`]).
pub trait Connection {
    /// Identity of a stream.
    type Stream: Copy + PartialEq + Send;
    /// How the library takes the time.
    type Moment: Copy;

    /// Identifier of a stream (RFC 9000 section 2.1).
    fn id(stream: Self::Stream) -> u64;
    /// Opens a stream; `None` if the peer allows no more.
    fn open(&mut self, direction: StreamDirection) -> Option<Self::Stream>;
    /// The next stream that the peer has opened.
    fn accept(&mut self, direction: StreamDirection) -> Option<Self::Stream>;
    /// Data of streams with a higher priority are sent first; 0 without a call.
    fn set_priority(&mut self, stream: Self::Stream, priority: i32);
    /// Queues `data` without copying and returns how many bytes were taken, 0 if none can be now.
    fn write(&mut self, stream: Self::Stream, data: Bytes) -> usize;
    /// Ends the stream after what has been written.
    fn finish(&mut self, stream: Self::Stream);
    /// Abandons the stream; what is queued is not sent (RESET_STREAM).
    fn reset(&mut self, stream: Self::Stream);
    /// Reads all that has arrived in order, and shows each chunk.
    fn read(&mut self, stream: Self::Stream, chunk: impl FnMut(&[u8])) -> Read;
    /// Queues a datagram, in the place of the oldest ones if there is no room.
    ///
    /// # Errors
    /// If it cannot be sent: the largest that can, in bytes.
    fn send_datagram(&mut self, data: Bytes) -> Result<(), usize>;
    /// Bytes of datagrams that wait.
    fn waiting_datagrams(&mut self) -> u64;
    /// The next datagram that has arrived.
    fn receive_datagram(&mut self) -> Option<Bytes>;
    /// Closes the connection without an error.
    fn close(&mut self, now: Self::Moment);

    /// State of recovery.
    fn recovery(&mut self) -> RecoveryState;
}

/// One end of one connection of a sans-IO QUIC library, all in virtual time. It neither opens
/// sockets nor reads clocks: the driver passes datagrams and instants.
pub(crate) trait Stack: Connection<Moment = Instant> + Send + 'static {
    /// Name in scenarios.
    const NAME: &'static str;

    /// Starts the connection (clients only).
    fn connect(&mut self, now: Instant);
    /// Takes a datagram that has arrived on the path `path`. Returns whether it left an answer in `answer` that belongs to
    /// no connection.
    fn receive(&mut self, now: Instant, path: u8, ecn: Ecn, datagram: BytesMut, answer: &mut Vec<u8>)
    -> bool;
    /// When [`Stack::wake`] wants to be called.
    fn deadline(&mut self) -> Option<Instant>;
    /// Handles the timers that are due.
    fn wake(&mut self, now: Instant);
    /// Writes the next datagram into `datagram`, which is empty, and returns its ECN field and its path; `None`
    /// if there is nothing to send now.
    fn transmit(&mut self, now: Instant, datagram: &mut Vec<u8>) -> Option<(Ecn, u8)>;
    /// The next event for the application.
    fn poll(&mut self) -> Option<Event<Self::Stream>>;
    /// Whether TLS may draw random numbers: until the handshake is complete at this end.
    fn is_handshaking(&self) -> bool;

    /// Recovery state and counters.
    fn snapshot(&mut self) -> Snapshot;
}

/// Whether a stream carries data both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamDirection {
    /// Both ends write.
    Bidirectional,
    /// Only who has opened it writes.
    Unidirectional,
}

/// What a connection tells the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<Stream> {
    /// The handshake is complete.
    Connected,
    /// The peer has opened a stream.
    Opened,
    /// More streams may be opened than before.
    Available,
    /// A datagram has arrived.
    Datagram,
    /// There is something to read.
    Readable(Stream),
    /// There is room to write again.
    Writable(Stream),
    /// All that was written, and the end of the stream, is acknowledged.
    Acknowledged(Stream),
    /// The peer's application closed the connection.
    ClosedByPeer,
    /// The connection is lost, with the reason.
    Lost(String),
}

/// Result of reading a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Bytes read.
    pub bytes: u64,
    /// Nothing more will come: the stream has ended or was reset.
    pub ended: bool,
    /// It was reset.
    pub reset: bool,
}

/// State and counters of a connection at one moment; all zero before there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) recovery: RecoveryState,
    /// QUIC packets.
    pub(crate) packets_sent: u64,
    /// UDP datagrams: the stacks do not count QUIC packets that arrive. They differ during the
    /// handshake only, where packets are coalesced.
    pub(crate) datagrams_received: u64,
    pub(crate) lost_bytes: u64,
    pub(crate) ack_frames_sent: u64,
    pub(crate) ack_frames_received: u64,
}

/// What one end of a connection is made from, beside its options.
pub(crate) struct Parts {
    pub(crate) role: Role,
    /// Address of the other end.
    pub(crate) remote: SocketAddr,
    /// Paths of the flow, and what a client does with them.
    pub(crate) paths: usize,
    pub(crate) path_plan: PathPlan,
    /// Keys, connection IDs and the seed of the library's own generator come from here.
    pub(crate) random: RandomStream,
    /// Draws of a congestion control of quiclab's.
    pub(crate) congestion_random: RandomStream,
    pub(crate) observation: Option<crate::observation::SharedObservation>,
}

/// Seeds drawn in a fixed order, so that both stacks use a stream alike.
pub(crate) struct Seeds {
    /// For the generator inside the library: skipped packet numbers, grease, key-update intervals.
    pub(crate) generator: [u8; 32],
    /// Key of stateless-reset tokens.
    pub(crate) reset_key: [u8; 64],
    /// Key of address-validation tokens.
    pub(crate) token_key: [u8; 64],
    /// Destination connection ID of a client's first packet.
    pub(crate) first_destination: [u8; FIRST_DESTINATION_LENGTH],
    /// Connection IDs that this end issues.
    pub(crate) ids: RandomStream,
}

/// Bytes of a connection ID that an endpoint issues: the default of both stacks.
pub const ID_LENGTH: usize = 8;
/// Bytes of the destination connection ID of a client's first packet: the default of both stacks.
pub const FIRST_DESTINATION_LENGTH: usize = 20;
/// Largest UDP payload accepted, the limit of UDP, over any IP: the peer's `datagram_size` decides.
pub const MAX_DATAGRAM_BYTES: u16 = 65_527;

impl Seeds {
    pub(crate) fn draw(mut random: RandomStream) -> Self {
        fn draw<const N: usize>(random: &mut RandomStream) -> [u8; N] {
            let mut bytes = [0; N];
            random.fill(&mut bytes);
            bytes
        }
        Self {
            generator: draw(&mut random),
            reset_key: draw(&mut random),
            token_key: draw(&mut random),
            first_destination: draw(&mut random),
            ids: random,
        }
    }
}

/// Issues connection IDs from a stream.
#[derive(Clone)]
pub struct SeededIds(pub RandomStream);

impl SeededIds {
    /// The next connection ID.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> [u8; ID_LENGTH] {
        let mut id = [0; ID_LENGTH];
        self.0.fill(&mut id);
        id
    }
}
