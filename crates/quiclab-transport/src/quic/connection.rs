//! QUIC connection: its state, and its interface to the endpoint.
//!
//! | file | |
//! | --- | --- |
//! | `receive` | packets that arrive: keys, duplicates, frames |
//! | `acknowledge`, `losses` | ACK frames: RTT, congestion; packets that are lost |
//! | `send` | the next datagram, and whether it may be sent |
//! | `assemble` | the frames of a packet |
//! | `carry` | interface to the carrier of a tunnel |
//! | `manage`, `path_frames` | paths that are opened, ranked and closed, and the frames about it |
//! | `timers` | loss detection, probes, pacing, delayed acknowledgements, idling |
//!
//! Parts of its state, whose fields are private to their methods:
//!
//! | file | |
//! | --- | --- |
//! | `progress`, `address`, `path_validation` | the handshake, validation of addresses |
//! | `activity`, `closure` | idle timeout, reason of the closure |
//! | `control_frames`, `datagrams` | frames that wait for a packet |
//! | `observation` | events for an observer |
//!
//! | | RFC 9000, 9001, 9002 | here |
//! | --- | --- | --- |
//! | keys | discarded as the handshake proceeds (RFC 9001 section 4.9) | the same |
//! | packets without keys | may be buffered (RFC 9001 section 5.7) | as many as in the profile |
//! | closing | CONNECTION_CLOSE, in response to packets that still arrive (RFC 9000 section 10.2) | after 1, 2, 4, ... packets |
//! | key update, Retry, version negotiation, migration | yes | not modelled |
//! | connection IDs | issued, retired | issued as in the profile, never changed |
//! | ECN | sections 13.4, 7.1 of RFC 9002 | not used |

mod acknowledge;
mod activity;
mod address;
mod assemble;
mod carry;
mod closure;
mod control_frames;
mod datagrams;
mod losses;
mod manage;
mod observation;
mod path_frames;
mod path_validation;
mod progress;
mod receive;
mod send;
mod timers;

pub(super) use datagrams::Kind;
pub(super) use send::Departure;

use super::Config;
use super::crypto::CryptoStream;
use super::handshake::{Handshake, Level};
use super::managed::Management;
use super::path::Path;
use super::space::Space;
use super::stream::{StreamEvent, Streams};
use crate::operations::Operations;
use crate::options::{PathPlan, QuicVersion};
use crate::workload::{Datagram, Priority, StreamId};
use activity::Activity;
use address::AddressValidation;
pub(in crate::quic) use assemble::MAX_OVERHEAD;
use closure::{Closure, INTERNAL_ERROR, PROTOCOL_VIOLATION};
use control_frames::ControlFrames;
use datagrams::Datagrams;
use observation::Observation;
use path_validation::PathValidation;
use progress::HandshakeProgress;
use quiclab_core::quic::{QuicDatagram, QuicFrame, TlsSession, TransportParameters};
use quiclab_core::scheduler::{self, PathScheduler};
use quiclab_core::{
    DataRate, Duration, PacketSpace, RandomStream, RecoveryState, Role, Time, TransportEvent,
    TransportObserver,
};

/// State of a connection (RFC 9000 section 10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Client before it connects, server before the first packet.
    Idle,
    /// Packets are exchanged.
    Open,
    /// This end has closed the connection; CONNECTION_CLOSE is still to be sent if `pending`.
    Closing { pending: bool, received: u32 },
    /// The peer has closed it, or it has timed out.
    Over,
}

/// Identifier of a packet number space of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpaceId {
    Initial,
    Handshake,
    /// Application data of this path.
    Path(usize),
}

impl SpaceId {
    /// Path to which its packets belong.
    pub(super) const fn path(self) -> usize {
        match self {
            Self::Initial | Self::Handshake => 0,
            Self::Path(path) => path,
        }
    }

    /// Level of its CRYPTO frames.
    pub(super) const fn level(self) -> Level {
        match self {
            Self::Initial => Level::Initial,
            Self::Handshake => Level::Handshake,
            Self::Path(_) => Level::Application,
        }
    }
}

/// Event for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Stream(StreamEvent),
    Datagram(Datagram),
}

/// Endpoint of a connection.
pub(super) struct Connection {
    config: Config,
    role: Role,
    pub(super) state: State,
    handshake: Handshake,
    /// Crypto streams by level.
    crypto: [CryptoStream; 3],
    /// Spaces of Initial and Handshake packets; `None` once their keys are discarded.
    handshake_spaces: [Option<Space>; 2],
    paths: Vec<Path>,
    streams: Streams,
    operations: Operations,
    /// Parameters of the peer; those of this end's configuration until they are known.
    peer: TransportParameters,
    progress: HandshakeProgress,
    address: AddressValidation,
    path_validation: PathValidation,
    control: ControlFrames,
    datagrams: Datagrams,
    activity: Activity,
    closure: Closure,
    observation: Observation,
    /// Plan of a client for its paths; moves to `management`.
    path_plan: PathPlan,
    /// Path management; `None`: further paths exist from the end of the handshake on.
    management: Option<Box<Management>>,
    /// Unused datagram, to be reused by the next.
    spare: Option<Box<QuicDatagram>>,
    loss_timer: Option<(Time, timers::LossTimer)>,
    /// Time at which the pacer releases the next packet; `None`: it blocks nothing.
    pacing_due: Option<Time>,
    scheduler: Box<dyn PathScheduler>,
    /// Path of the last packet sent.
    last_path: usize,
    /// Path of the last packet received, on which CONNECTION_CLOSE is sent.
    heard_path: usize,
    data_packets_sent: u64,
    ack_frames_received: u64,
}

impl Connection {
    pub(super) fn new(
        config: Config,
        role: Role,
        paths: usize,
        mut random: impl FnMut(usize) -> RandomStream,
        (operations, path_plan): (Operations, PathPlan),
        observer: Option<Box<dyn TransportObserver>>,
    ) -> Self {
        let single = config.quic.version == QuicVersion::Gquic37;
        let remembered = if single {
            Some(gquic_minimum())
        } else {
            config.tls.early_data.is_some().then(|| parameters_of(&config, role, paths))
        };
        let mut streams = Streams::new(&config, role, remembered.as_ref().filter(|_| role == Role::Client));
        if single && role == Role::Server {
            streams.keep_remembered(&gquic_minimum());
        }
        let mut own = parameters_of(&config, role, paths);
        streams.parameters(&mut own);
        let space = || (!single).then(|| Space::of_handshake(&config));
        Self {
            role,
            state: State::Idle,
            handshake: Handshake::new(&config, role, own.clone()),
            crypto: Default::default(),
            handshake_spaces: [space(), space()],
            paths: (0..paths).map(|path| Path::new(&config, path, random(path))).collect(),
            streams,
            operations,
            peer: own,
            progress: HandshakeProgress::new(),
            // a server of gQUIC sends certificates in a rejection only if they are short enough
            address: AddressValidation::new(role == Role::Client || single),
            path_validation: PathValidation::default(),
            control: ControlFrames::default(),
            datagrams: Datagrams::default(),
            activity: Activity::default(),
            closure: Closure::default(),
            observation: Observation::new(observer),
            path_plan,
            management: None,
            spare: None,
            loss_timer: None,
            pacing_due: None,
            scheduler: scheduler::build(&config.quic.path_scheduler),
            last_path: 0,
            heard_path: 0,
            data_packets_sent: 0,
            ack_frames_received: 0,
            config,
        }
    }

    /// Starts the connection of the client.
    pub(super) fn connect(&mut self, now: Time) {
        self.state = State::Open;
        self.activity.begin(now);
        self.open_first_path(now);
        self.progress.set_early_data(self.handshake.early_data());
        let further = self.config.quic.initial_datagrams > 1 && self.config.quic.version == QuicVersion::V1;
        if let Some(initial) = self.handshake_spaces[0].as_mut().filter(|_| further) {
            // as probes: the first has CRYPTO frames; once those are sent, the others have PING
            initial.probes = self.config.quic.initial_datagrams;
        }
    }

    /// Enables data on the first path.
    fn open_first_path(&mut self, now: Time) {
        self.paths[0].usable = true;
        self.paths[0].update_pacer(now, &mut self.operations);
    }

    /// Whether streams may be opened and data sent: the handshake is complete, or 0-RTT is tried.
    pub(super) fn is_ready(&self) -> bool {
        self.state == State::Open
            && (self.handshake.is_complete() || self.role == Role::Client && self.can_send_application())
    }

    /// Whether application data can be protected, with keys of any level.
    fn can_send_application(&self) -> bool {
        self.handshake.can_send(PacketSpace::OneRtt) || self.handshake.can_send(PacketSpace::ZeroRtt)
    }

    /// Reason why the connection failed.
    pub(super) fn failure(&self) -> Option<&str> {
        self.closure.failure()
    }

    /// Warning about a maximum window that was reached on a path.
    pub(super) fn warning(&self) -> Option<String> {
        self.paths.iter().find_map(Path::warning)
    }

    /// Whether the peer's application has closed the connection.
    pub(super) fn is_closed_by_peer(&self) -> bool {
        self.closure.is_by_peer()
    }

    /// Takes the next event for the application.
    pub(super) fn next_event(&mut self) -> Option<Event> {
        if let Some(event) = self.streams.next_event() {
            return Some(Event::Stream(event));
        }
        self.datagrams.next_arrived().map(Event::Datagram)
    }

    fn fail(&mut self, reason: String) {
        self.closure.fail(|| reason);
        self.state = State::Over;
    }

    /// Closes the connection with an error, as the peer has violated the protocol.
    fn violate(&mut self, error: impl std::fmt::Display) {
        self.closure.fail_with(PROTOCOL_VIOLATION, || error.to_string());
        self.state = State::Closing { pending: true, received: 0 };
    }

    /// Closes the connection with an error if a function of a plugin has failed; returns whether one has.
    pub(super) fn fail_with_plugins(&mut self) -> bool {
        let Some(error) = self.operations.take_error() else { return false };
        if self.state == State::Open {
            self.closure.fail_with(INTERNAL_ERROR, || error);
            self.state = State::Closing { pending: true, received: 0 };
        }
        true
    }

    fn space(&mut self, id: SpaceId) -> Option<&mut Space> {
        match id {
            SpaceId::Initial => self.handshake_spaces[0].as_mut(),
            SpaceId::Handshake => self.handshake_spaces[1].as_mut(),
            SpaceId::Path(path) => Some(&mut self.paths[path].space),
        }
    }

    /// All existing packet number spaces.
    fn space_ids(&self) -> impl Iterator<Item = SpaceId> + use<> {
        let [initial, handshake] =
            [&self.handshake_spaces[0], &self.handshake_spaces[1]].map(Option::is_some);
        let early = [initial.then_some(SpaceId::Initial), handshake.then_some(SpaceId::Handshake)];
        early.into_iter().flatten().chain((0..self.paths.len()).map(SpaceId::Path))
    }

    /// Discards the space and keys of Initial or Handshake packets (RFC 9001 section 4.9, RFC 9002 section
    /// 6.4).
    fn discard(&mut self, id: SpaceId) {
        let slot = match id {
            SpaceId::Initial => &mut self.handshake_spaces[0],
            SpaceId::Handshake => &mut self.handshake_spaces[1],
            SpaceId::Path(_) => return,
        };
        if let Some(mut space) = slot.take() {
            let path = &mut self.paths[0];
            path.in_flight -= space.sent.discard();
            path.pto.on_keys_discarded();
        }
    }

    /// Confirms the handshake (RFC 9001 section 4.1.2).
    fn confirm(&mut self) {
        if self.progress.confirm() {
            self.discard(SpaceId::Initial);
            self.discard(SpaceId::Handshake);
        }
    }

    /// State for results and observers: that of the first path in use, with the counts of all paths.
    pub(super) fn recovery_state(&self) -> RecoveryState {
        let first = self.first_path();
        let mut state = self.paths[first].recovery_state();
        for (_, path) in self.paths.iter().enumerate().filter(|(number, _)| *number != first) {
            let other = path.recovery_state();
            state.lost_packets += other.lost_packets;
            state.congestion_events += other.congestion_events;
            state.spurious_losses = state.spurious_losses.zip(other.spurious_losses).map(|(a, b)| a + b);
        }
        state
    }

    /// Packet threshold of the first path, as configured or adapted (RFC 9002 section 6.1.1).
    pub(super) fn packet_threshold(&self) -> u64 {
        self.paths[self.first_path()].space.sent.packet_threshold()
    }

    /// Number of probe timeouts on all paths.
    pub(super) fn timeouts(&self) -> u64 {
        self.paths.iter().map(|path| path.timeouts).sum()
    }

    /// Number of packets with marks that the peer has reported on all paths; `None` without ECN.
    pub(super) fn marked_packets(&self) -> Option<u64> {
        self.paths.iter().map(|path| path.ecn.marked()).sum()
    }

    /// Number of packets with stream data sent, and of ACK frames received.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.data_packets_sent, self.ack_frames_received)
    }

    /// Time of completion of the handshake.
    pub(super) fn handshake_complete_at(&self) -> Option<Time> {
        self.progress.complete_at()
    }

    /// Whether an observer is attached.
    pub(super) fn is_observed(&self) -> bool {
        self.observation.is_attached()
    }

    /// Passes an event to the observer.
    pub(super) fn observe(&mut self, now: Time, event: &TransportEvent<'_>) {
        self.observation.observe(now, event);
    }

    /// `max_ack_delay` of the peer.
    fn peer_max_ack_delay(&self) -> Duration {
        match self.config.ack_frequency.and_then(|frequency| frequency.max_ack_delay) {
            Some(asked) if self.peer.min_ack_delay.is_some() => asked,
            _ => self.peer.max_ack_delay,
        }
    }
}

/// Space `id`, from the handshake spaces of a connection and the space of a path.
fn space_in<'a>(
    id: SpaceId,
    of_handshake: &'a mut [Option<Space>; 2],
    of_path: &'a mut Space,
) -> Option<&'a mut Space> {
    match id {
        SpaceId::Initial => of_handshake[0].as_mut(),
        SpaceId::Handshake => of_handshake[1].as_mut(),
        SpaceId::Path(_) => Some(of_path),
    }
}

/// Transport parameters of an end without those of its streams.
fn parameters_of(config: &Config, role: Role, paths: usize) -> TransportParameters {
    use crate::options::Acknowledgement;
    let window = config.stream_receive_window.bytes();
    TransportParameters {
        max_data: config.connection_receive_window.bytes(),
        max_stream_data_bidi_local: window,
        max_stream_data_bidi_remote: window,
        max_stream_data_uni: window,
        max_streams_bidi: config.quic.max_streams,
        max_streams_uni: config.quic.max_streams,
        max_ack_delay: config.quic.max_ack_delay,
        idle_timeout: Some(config.quic.idle_timeout),
        max_datagram_frame_size: 65_535,
        min_ack_delay: matches!(config.quic.acknowledgement, Acknowledgement::AsRequested { .. })
            .then_some(Duration::from_millis(1)),
        connection_id_length: config.connection_id(role).bytes() as u8,
        paths: paths as u8,
        max_path_id: config.multipath.map(|multipath| multipath.initial_max_path_id),
        message_end: 0,
        session: TlsSession::default(),
    }
}

/// Limits of a client of gQUIC before the server hello has the server's: `kMinimumFlowControlSendWindow`
/// (Chromium 2017, quic_protocol.h), which every server allows
/// (`QuicConfig::SetInitialStreamFlowControlWindowToSend`). Streams for headers and a request; Chromium
/// allows 100, but no workload needs more then.
fn gquic_minimum() -> TransportParameters {
    const WINDOW: u64 = 16 * 1024;
    TransportParameters {
        max_data: WINDOW,
        max_stream_data_bidi_local: WINDOW,
        max_stream_data_bidi_remote: WINDOW,
        max_stream_data_uni: WINDOW,
        max_streams_bidi: 2,
        max_streams_uni: 2,
        ..TransportParameters::default()
    }
}

/// Interface of the connection to the application.
impl crate::workload::Streams for Connection {
    fn open(&mut self, bidirectional: bool) -> Option<StreamId> {
        self.streams.open(bidirectional)
    }
    fn write(&mut self, stream: StreamId, bytes: u64) {
        self.streams.write(stream, bytes);
    }
    fn finish(&mut self, stream: StreamId) {
        self.streams.finish(stream);
    }
    fn reset(&mut self, stream: StreamId) {
        self.streams.reset(stream);
    }
    fn set_priority(&mut self, stream: StreamId, priority: Priority) {
        self.streams.set_priority(stream, priority);
    }
    fn set_label(&mut self, stream: StreamId, label: u64) {
        self.streams.set_label(stream, label);
    }
    fn label(&self, stream: StreamId) -> u64 {
        self.streams.label(stream)
    }
    fn send_datagram(&mut self, datagram: Datagram) {
        self.datagrams.push(datagram);
    }
    fn send_rate(&mut self) -> Option<DataRate> {
        self.paths[self.first_path()].recovery_state().send_rate()
    }
    fn waiting_bytes(&mut self) -> u64 {
        self.streams.unsent().saturating_add(self.datagrams.bytes())
    }
    fn close(&mut self) {
        if self.state == State::Open {
            self.state = State::Closing { pending: true, received: 0 };
        }
    }
}

/// Whether a frame may appear in a packet of `space` (RFC 9000 section 12.4, table 3).
fn is_permitted(frame: &QuicFrame, space: PacketSpace) -> bool {
    match space {
        PacketSpace::OneRtt => true,
        PacketSpace::ZeroRtt => !matches!(frame, QuicFrame::Ack(_) | QuicFrame::HandshakeDone),
        PacketSpace::Initial | PacketSpace::Handshake => matches!(
            frame,
            QuicFrame::Padding { .. }
                | QuicFrame::Ping
                | QuicFrame::Ack(_)
                | QuicFrame::Crypto { .. }
                | QuicFrame::ConnectionClose { .. }
        ),
    }
}
