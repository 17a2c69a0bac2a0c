//! Interface between QUIC libraries and the driver.

use bytes::{Bytes, BytesMut};
use quiclab_core::{Ecn, RandomStream, RecoveryState, Role};
use quiclab_transport::options::PathPlan;
use std::net::SocketAddr;
use std::time::Instant;

/// Streams and datagrams of one end of a connection, for an application ([`crate::OnStreams`]).
pub trait Connection {
    /// Handle of a stream.
    type Stream: Copy + PartialEq + Send;
    /// Type of times in the library.
    type Moment: Copy;

    /// Identifier of a stream (RFC 9000 section 2.1).
    fn id(stream: Self::Stream) -> u64;
    /// Opens a stream; `None` if the peer allows no more.
    fn open(&mut self, direction: StreamDirection) -> Option<Self::Stream>;
    /// Takes the next stream that the peer has opened.
    fn accept(&mut self, direction: StreamDirection) -> Option<Self::Stream>;
    /// Sets the priority of a stream: higher ones are sent first; the default is 0.
    fn set_priority(&mut self, stream: Self::Stream, priority: i32);
    /// Queues `data` without copying and returns the number of bytes taken, 0 if there is no room.
    fn write(&mut self, stream: Self::Stream, data: Bytes) -> usize;
    /// Ends the stream after the data written so far.
    fn finish(&mut self, stream: Self::Stream);
    /// Resets the stream; queued data are not sent (RESET_STREAM).
    fn reset(&mut self, stream: Self::Stream);
    /// Reads all data that have arrived in order, and passes on each chunk.
    fn read(&mut self, stream: Self::Stream, chunk: impl FnMut(&[u8])) -> Read;
    /// Queues a datagram; it replaces the oldest ones if there is no room.
    ///
    /// # Errors
    /// If it is too long to be sent: the maximum size in bytes.
    fn send_datagram(&mut self, data: Bytes) -> Result<(), usize>;
    /// Bytes of queued datagrams.
    fn waiting_datagrams(&mut self) -> u64;
    /// Takes the next datagram that has arrived.
    fn receive_datagram(&mut self) -> Option<Bytes>;
    /// Closes the connection without an error.
    fn close(&mut self, now: Self::Moment);

    /// State of recovery.
    fn recovery(&mut self) -> RecoveryState;
}

/// One end of a connection of a sans-IO QUIC library, in virtual time. It neither opens sockets nor reads
/// clocks: the driver passes datagrams and instants.
pub(crate) trait Stack: Connection<Moment = Instant> + Send + 'static {
    /// Name in scenarios.
    const NAME: &'static str;

    /// Starts the connection (clients only).
    fn connect(&mut self, now: Instant);
    /// Handles a datagram that has arrived on path `path`. Returns whether it wrote a response to `answer`
    /// that belongs to no connection.
    fn receive(&mut self, now: Instant, path: u8, ecn: Ecn, datagram: BytesMut, answer: &mut Vec<u8>)
    -> bool;
    /// Time at which [`Stack::wake`] must be called.
    fn deadline(&mut self) -> Option<Instant>;
    /// Handles the timers that are due.
    fn wake(&mut self, now: Instant);
    /// Writes the next datagram into `datagram`, which is empty, and returns its ECN field and its path; `None`
    /// if there is nothing to send now.
    fn transmit(&mut self, now: Instant, datagram: &mut Vec<u8>) -> Option<(Ecn, u8)>;
    /// Takes the next event for the application.
    fn poll(&mut self) -> Option<Event<Self::Stream>>;
    /// Whether TLS may draw random numbers: until the handshake is complete at this end.
    fn is_handshaking(&self) -> bool;

    /// Recovery state and counters.
    fn snapshot(&mut self) -> Snapshot;
}

/// Whether a stream carries data both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamDirection {
    /// Both endpoints send.
    Bidirectional,
    /// Only the endpoint that opened it sends.
    Unidirectional,
}

/// Event of a connection for the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<Stream> {
    /// The handshake is complete.
    Connected,
    /// The peer has opened a stream.
    Opened,
    /// The limit of streams has increased.
    Available,
    /// A datagram has arrived.
    Datagram,
    /// Data can be read.
    Readable(Stream),
    /// Data can be written again.
    Writable(Stream),
    /// All data written and the end of the stream are acknowledged.
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
    /// Whether the stream has ended or was reset.
    pub ended: bool,
    /// Whether it was reset.
    pub reset: bool,
}

/// State and counters of a connection at one moment; all zero before it exists.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) recovery: RecoveryState,
    /// QUIC packets sent.
    pub(crate) packets_sent: u64,
    /// UDP datagrams received: the stacks do not count QUIC packets. The numbers differ only during the
    /// handshake, where packets are coalesced.
    pub(crate) datagrams_received: u64,
    pub(crate) lost_bytes: u64,
    pub(crate) ack_frames_sent: u64,
    pub(crate) ack_frames_received: u64,
}

/// Components of one end of a connection, beside its options.
pub(crate) struct Parts {
    pub(crate) role: Role,
    /// Address of the peer.
    pub(crate) remote: SocketAddr,
    /// Number of paths of the flow, and the plan of a client for them.
    pub(crate) paths: usize,
    pub(crate) path_plan: PathPlan,
    /// Source of keys, connection IDs and the seed of the library's generator.
    pub(crate) random: RandomStream,
    /// Random stream of a congestion control of quiclab's.
    pub(crate) congestion_random: RandomStream,
    pub(crate) observation: Option<crate::observation::SharedObservation>,
}

/// Seeds drawn in a fixed order, so that both stacks use a random stream alike.
pub(crate) struct Seeds {
    /// Seed of the generator of the library: skipped packet numbers, grease, key-update intervals.
    pub(crate) generator: [u8; 32],
    /// Key of stateless-reset tokens.
    pub(crate) reset_key: [u8; 64],
    /// Key of address-validation tokens.
    pub(crate) token_key: [u8; 64],
    /// Destination connection ID of a client's first packet.
    pub(crate) first_destination: [u8; FIRST_DESTINATION_LENGTH],
    /// Source of the connection IDs that this end issues.
    pub(crate) ids: RandomStream,
}

/// Length in bytes of a connection ID that an endpoint issues: the default of both stacks.
pub const ID_LENGTH: usize = 8;
/// Length in bytes of the destination connection ID of a client's first packet: the default of both stacks.
pub const FIRST_DESTINATION_LENGTH: usize = 20;
/// Largest UDP payload accepted, the limit of UDP over IPv4 and IPv6: the peer's `datagram_size` applies.
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

/// Generator of connection IDs from a random stream.
#[derive(Clone)]
pub struct SeededIds(pub RandomStream);

impl SeededIds {
    /// Next connection ID.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> [u8; ID_LENGTH] {
        let mut id = [0; ID_LENGTH];
        self.0.fill(&mut id);
        id
    }
}
