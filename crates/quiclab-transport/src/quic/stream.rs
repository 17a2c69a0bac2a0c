//! Streams: data written, sent, acknowledged and received, flow control, and choice of the next stream (RFC
//! 9000 sections 2 to 4).
//!
//! Data are counted, not stored. [`Streams`] combines the parts: `arrive` and `transmit` for received and
//! sent frames, `send` and `receive` for the halves of a stream, `flow_control` for windows, `scheduler` for
//! the choice, `limits` for the number of streams, `table` for their storage, `size` for the sizes of frames.
//!
//! | Aspect | Here |
//! | --- | --- |
//! | reading | the application reads data at once when they arrive in order |
//! | send window | bytes of all streams that are sent and not acknowledged; written data wait without limit (quinn-proto bounds written data: equivalent for an application that always writes) |
//! | a stream of the peer | exists once a frame of it or of a higher one arrives (section 2.1) |
//! | a stream closed in both directions | is removed; late frames of it are ignored |
//! | unidirectional streams of the peer | 100 at one time |
//! | lost data, and FIN alone | need no credit and no room in the send window |

mod arrive;
mod flow_control;
mod limits;
mod receive;
mod scheduler;
mod send;
mod size;
mod table;
#[cfg(test)]
mod tests;
mod transmit;

use super::Config;
use crate::options::{FlowControl, QuicVersion};
use crate::workload::{Priority, StreamId};
use flow_control::{Credit, ReceiveWindow};
use limits::{LocalStreams, PeerStreams};
use quiclab_core::Role;
use quiclab_core::quic::{TransportParameters, Wire};
use receive::ReceiveHalf;
use scheduler::Scheduler;
use send::SendHalf;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use table::{QueueMembership, Stream, Table};

/// Maximum number of unidirectional streams that the peer may have open at one time (quinn-proto's default;
/// HTTP/3 needs 3).
const UNIDIRECTIONAL_STREAMS: u64 = 100;

/// Index in the table of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Handle(u32);

/// Violation by the peer (RFC 9000 section 20.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StreamError {
    /// FLOW_CONTROL_ERROR.
    #[error("the peer sent more than the flow-control limit {limit} allows")]
    FlowControl {
        /// Limit in bytes.
        limit: u64,
    },
    /// STREAM_LIMIT_ERROR.
    #[error("the peer opened stream {id}, more than the limit of {limit} streams allows")]
    StreamLimit {
        /// Identifier of the stream.
        id: u64,
        /// Number of streams allowed.
        limit: u64,
    },
    /// STREAM_STATE_ERROR.
    #[error("the peer sent a frame for stream {id} that is not its to send")]
    StreamState {
        /// Identifier of the stream.
        id: u64,
    },
    /// FINAL_SIZE_ERROR.
    #[error("the final size of stream {id} changed")]
    FinalSize {
        /// Identifier of the stream.
        id: u64,
    },
}

/// Event for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEvent {
    /// Further bytes can be read in order; they count as read. `end`: whether the stream has ended.
    Received { id: StreamId, bytes: u64, end: bool },
    /// The peer has reset the stream.
    Reset { id: StreamId },
    /// The peer requests to stop sending.
    Stopped { id: StreamId },
    /// All data written, including FIN, are acknowledged.
    Acknowledged { id: StreamId },
    /// The limit of streams has increased.
    Available,
}

/// All streams of a connection, at one end.
pub(crate) struct Streams {
    is_server: bool,
    wire: Wire,
    flow_control: FlowControl,
    connection_receive_window: u64,
    stream_receive_window: u64,
    max_stream_receive_window: u64,
    send_window: u64,
    /// Age of the stream whose data the last probe of a timeout sent again, and the end of these data;
    /// `None`: none yet.
    probed: Option<(u64, u64)>,

    table: Table,
    /// Number of streams so far, which is the age of the next.
    ages: u64,
    /// Streams that have anything to send. While only credit of the connection is missing, they remain here,
    /// and `resend` is used instead.
    ready: Scheduler,
    /// Streams with data to send that need no credit.
    resend: Scheduler,
    /// Stream that sent last.
    previous: Option<StreamId>,
    /// Streams with control frames to send, by age.
    control: BTreeSet<(u64, Handle)>,
    /// Number of streams with new data that their limits permit, and of those with new data that they block.
    fresh: usize,
    blocked: usize,

    /// Limit of the peer for the connection.
    credit: Credit,
    /// Bytes sent and not acknowledged, each counted once, without those of streams that were reset.
    unacked: u64,
    window: ReceiveWindow,
    /// Bidirectional and unidirectional streams that this end opens.
    opening: [LocalStreams; 2],
    /// Bidirectional and unidirectional streams that the peer opens.
    accepting: [PeerStreams; 2],
    /// Parameters of the peer, or those remembered; `None`: nothing may be sent yet.
    peer: Option<TransportParameters>,
    /// Parameters of the peer in this connection; `None`: not received yet.
    arrived: Option<TransportParameters>,
    events: VecDeque<StreamEvent>,
    /// Labels of streams from the peer's application.
    labels: BTreeMap<StreamId, u64>,
}

impl Streams {
    /// Makes the state without streams; `remembered` are the peer's parameters from an earlier connection
    /// (0-RTT).
    pub(crate) fn new(config: &Config, role: Role, remembered: Option<&TransportParameters>) -> Self {
        let connection_receive_window = config.connection_receive_window.bytes();
        let max_streams = [config.quic.max_streams, UNIDIRECTIONAL_STREAMS];
        let wire = match config.quic.version {
            QuicVersion::V1 => Wire::V1,
            QuicVersion::Gquic37 => Wire::Gquic37,
        };
        let mut streams = Self {
            is_server: role == Role::Server,
            wire,
            flow_control: config.quic.flow_control,
            connection_receive_window,
            stream_receive_window: config.stream_receive_window.bytes(),
            max_stream_receive_window: config.quic.max_stream_receive_window.bytes(),
            send_window: config.send_window.bytes(),
            probed: None,
            table: Table::default(),
            ages: 0,
            ready: Scheduler::new(config.quic.stream_scheduler),
            resend: Scheduler::new(config.quic.stream_scheduler),
            previous: None,
            control: BTreeSet::new(),
            fresh: 0,
            blocked: 0,
            credit: Credit::default(),
            unacked: 0,
            window: ReceiveWindow::new(
                config.quic.flow_control,
                connection_receive_window,
                config.quic.max_connection_receive_window.bytes(),
            ),
            opening: [LocalStreams::default(); 2],
            accepting: max_streams.map(|most| {
                PeerStreams::new(most, wire == Wire::V1, config.fixed.max_streams_update_at_half)
            }),
            peer: None,
            arrived: None,
            events: VecDeque::new(),
            labels: BTreeMap::new(),
        };
        if let Some(remembered) = remembered {
            streams.adopt(remembered);
        }
        streams
    }

    /// Sets the fields about streams and data in the parameters for the peer.
    pub(crate) fn parameters(&self, parameters: &mut TransportParameters) {
        let stream = self.new_window().limit();
        parameters.max_data =
            ReceiveWindow::new(self.flow_control, self.connection_receive_window, 0).limit();
        parameters.max_stream_data_bidi_local = stream;
        parameters.max_stream_data_bidi_remote = stream;
        parameters.max_stream_data_uni = stream;
        [parameters.max_streams_bidi, parameters.max_streams_uni] =
            self.accepting.map(|accepting| accepting.first_limit());
    }

    /// Handles the peer's parameters. If parameters were remembered, limits only increase (RFC 9000 section
    /// 7.4.1) unless [`Streams::on_early_data_rejected`] is called, before or after this.
    pub(crate) fn on_parameters(&mut self, peer: &TransportParameters) {
        self.arrived = Some(peer.clone());
        match self.peer.take() {
            Some(remembered) => self.adopt(&largest(&remembered, peer)),
            None => self.adopt(peer),
        }
    }

    /// Keeps at least these limits, within which the peer sends 0-RTT that the server accepts: "the server
    /// MUST NOT reduce any limits or alter any values that might be violated by the client with its 0-RTT
    /// data" (RFC 9000 section 7.4.1).
    pub(crate) fn keep_remembered(&mut self, remembered: &TransportParameters) {
        self.window.keep(remembered.max_data);
        self.stream_receive_window = self.stream_receive_window.max(remembered.max_stream_data_bidi_remote);
        self.max_stream_receive_window = self.max_stream_receive_window.max(self.stream_receive_window);
        let limits = [remembered.max_streams_bidi, remembered.max_streams_uni];
        self.accepting.iter_mut().zip(limits).for_each(|(accepting, limit)| accepting.keep(limit));
    }

    /// Sets the limits that apply until the peer's parameters arrive.
    pub(crate) fn remember(&mut self, remembered: &TransportParameters) {
        if self.arrived.is_none() {
            self.adopt(remembered);
        }
    }

    fn adopt(&mut self, peer: &TransportParameters) {
        self.peer = Some(peer.clone());
        self.credit.raise(peer.max_data);
        let mut is_available = false;
        for (opening, limit) in self.opening.iter_mut().zip([peer.max_streams_bidi, peer.max_streams_uni]) {
            is_available |= opening.raise(limit);
        }
        if is_available {
            self.events.push_back(StreamEvent::Available);
        }
        for handle in self.table.handles() {
            let limit = self.stream_limit(self.table.get(handle).id);
            if let Some(send) = &mut self.table.get_mut(handle).send {
                send.credit.raise(limit);
            }
            self.refresh(handle);
        }
    }

    // the application

    /// Opens a stream; `None`: the peer's limit does not permit it now.
    pub(crate) fn open(&mut self, bidirectional: bool) -> Option<StreamId> {
        let index = self.opening[usize::from(!bidirectional)].open()?;
        let id = StreamId::new(index, self.is_server, bidirectional);
        self.add(id);
        Some(id)
    }

    /// Writes `bytes` of the application; `u64::MAX`: without end. Like the methods below, it has no effect
    /// on a closed stream.
    pub(crate) fn write(&mut self, id: StreamId, bytes: u64) {
        self.with_send(id, |send| send.write(bytes));
    }

    /// Ends the sending half: the application has written all data.
    pub(crate) fn finish(&mut self, id: StreamId) {
        self.with_send(id, SendHalf::finish);
    }

    /// Resets the sending half: RESET_STREAM. No [`StreamEvent::Acknowledged`] follows.
    pub(crate) fn reset(&mut self, id: StreamId) {
        let given_up = self.with_send(id, SendHalf::reset).flatten();
        self.unacked -= given_up.unwrap_or(0);
    }

    /// Sets the priority ([`crate::options::StreamScheduler::Priority`]).
    pub(crate) fn set_priority(&mut self, id: StreamId, priority: Priority) {
        let Some(handle) = self.table.find(id) else { return };
        let listed = &mut self.table.get_mut(handle).listed;
        let (ready, resend) = (listed.ready.take(), listed.resend.take());
        ready.into_iter().for_each(|place| self.ready.remove(place));
        resend.into_iter().for_each(|place| self.resend.remove(place));
        self.table.get_mut(handle).priority = priority;
        self.refresh(handle);
    }

    /// Sets the label of the stream for the peer; 0: none.
    pub(crate) fn set_label(&mut self, id: StreamId, label: u64) {
        if let Some(handle) = self.table.find(id) {
            self.table.get_mut(handle).label = label;
        }
    }

    /// Label of the stream from the peer's application; 0: none, or not received yet.
    pub(crate) fn label(&self, id: StreamId) -> u64 {
        self.labels.get(&id).copied().unwrap_or(0)
    }

    /// Bytes written and not sent yet, on all streams.
    pub(crate) fn unsent(&self) -> u64 {
        let halves = self.table.handles().filter_map(|handle| self.table.get(handle).send.as_ref());
        halves.fold(0, |sum, send| sum.saturating_add(send.unsent()))
    }

    /// Takes the next event for the application.
    pub(crate) fn next_event(&mut self) -> Option<StreamEvent> {
        self.events.pop_front()
    }

    // common to all parts

    /// Applies `change` to the sending half of a stream, if it has one.
    fn with_send<T>(&mut self, id: StreamId, change: impl FnOnce(&mut SendHalf) -> T) -> Option<T> {
        let handle = self.table.find(id)?;
        let result = self.table.get_mut(handle).send.as_mut().map(change);
        self.refresh(handle);
        result
    }

    /// Adds the next stream of its kind.
    fn add(&mut self, id: StreamId) -> Handle {
        let is_mine = self.is_mine(id);
        let (sends, receives) = (is_mine || id.is_bidirectional(), !is_mine || id.is_bidirectional());
        let stream = Stream {
            id,
            age: self.ages,
            priority: Priority::default(),
            label: 0,
            send: sends.then(|| SendHalf::new(self.stream_limit(id))),
            receive: receives.then(|| ReceiveHalf::new(self.new_window())),
            listed: QueueMembership::default(),
        };
        self.ages += 1;
        self.table.add(stream)
    }

    fn new_window(&self) -> ReceiveWindow {
        ReceiveWindow::new(self.flow_control, self.stream_receive_window, self.max_stream_receive_window)
    }

    /// Whether this end opens streams of this kind.
    fn is_mine(&self, id: StreamId) -> bool {
        id.is_of_server() == self.is_server
    }

    /// Initial limit of the peer for data of this end on a stream.
    fn stream_limit(&self, id: StreamId) -> u64 {
        self.peer.as_ref().map_or(0, |peer| match (id.is_bidirectional(), self.is_mine(id)) {
            (true, true) => peer.max_stream_data_bidi_remote,
            (true, false) => peer.max_stream_data_bidi_local,
            (false, _) => peer.max_stream_data_uni,
        })
    }

    /// New bytes that may be sent: minimum of the connection's credit and the room in the send window.
    fn new_credit(&self) -> u64 {
        self.credit.remaining().min(self.send_window.saturating_sub(self.unacked))
    }

    /// Raises the limit of streams that this end may open.
    fn allow_streams(&mut self, bidirectional: bool, limit: u64) {
        let opening = &mut self.opening[usize::from(!bidirectional)];
        let before = opening.limit;
        if opening.raise(limit) {
            self.events.push_back(StreamEvent::Available);
        }
        // streams that a rejection of 0-RTT left without credit
        for index in before..opening.limit.min(opening.next) {
            let id = StreamId::new(index, self.is_server, bidirectional);
            self.table.find(id).into_iter().for_each(|handle| self.refresh(handle));
        }
    }

    /// Updates the lists of a stream after a change; a closed stream is removed.
    fn refresh(&mut self, handle: Handle) {
        let is_server = self.is_server;
        let stream = self.table.get_mut(handle);
        let is_mine = stream.id.is_of_server() == is_server;
        let direction = usize::from(!stream.id.is_bidirectional());
        // after a rejection of 0-RTT there may be more streams than the peer allows
        let is_allowed = !is_mine || stream.id.index() < self.opening[direction].limit;
        let send = stream.send.as_ref().filter(|_| is_allowed && self.peer.is_some());
        let is_resend = send.is_some_and(SendHalf::has_resend);
        let is_fresh = send.is_some_and(SendHalf::has_fresh);
        let is_blocked = send.is_some_and(SendHalf::is_blocked);
        let is_control = is_allowed && stream.has_control(self.peer.is_some());
        let is_over = stream.is_over();
        let is_replaced = is_over || self.accepting[direction].replaces_drained() && stream.is_drained();
        if is_replaced && !is_mine && !std::mem::replace(&mut stream.listed.replaced, true) {
            self.accepting[direction].on_over();
        }

        let (age, priority, listed) = (stream.age, stream.priority, &mut stream.listed);
        list(&mut self.ready, &mut listed.ready, is_resend || is_fresh, (handle, age, priority));
        list(&mut self.resend, &mut listed.resend, is_resend, (handle, age, priority));
        if is_control != listed.control {
            listed.control = is_control;
            if is_control {
                self.control.insert((age, handle));
            } else {
                self.control.remove(&(age, handle));
            }
        }
        self.fresh = self.fresh + usize::from(is_fresh) - usize::from(listed.fresh);
        self.blocked = self.blocked + usize::from(is_blocked) - usize::from(listed.blocked);
        (listed.fresh, listed.blocked) = (is_fresh, is_blocked);
        if is_over {
            let id = stream.id;
            self.table.remove(handle);
            if is_mine && self.wire == Wire::Gquic37 {
                // no frame reports that another may be opened
                self.allow_streams(id.is_bidirectional(), self.opening[direction].limit + 1);
            }
        }
    }
}

/// Parameters received, with the remembered limits where these are higher.
fn largest(remembered: &TransportParameters, arrived: &TransportParameters) -> TransportParameters {
    let mut largest = arrived.clone();
    for (limit, before) in [
        (&mut largest.max_data, remembered.max_data),
        (&mut largest.max_stream_data_bidi_local, remembered.max_stream_data_bidi_local),
        (&mut largest.max_stream_data_bidi_remote, remembered.max_stream_data_bidi_remote),
        (&mut largest.max_stream_data_uni, remembered.max_stream_data_uni),
        (&mut largest.max_streams_bidi, remembered.max_streams_bidi),
        (&mut largest.max_streams_uni, remembered.max_streams_uni),
    ] {
        *limit = (*limit).max(before);
    }
    largest
}

/// Adds a stream to a list or removes it.
fn list(
    scheduler: &mut Scheduler,
    place: &mut Option<scheduler::SchedulingKey>,
    is_listed: bool,
    (handle, age, priority): (Handle, u64, Priority),
) {
    match (*place, is_listed) {
        (None, true) => *place = Some(scheduler.add(handle, age, priority)),
        (Some(old), false) => {
            scheduler.remove(old);
            *place = None;
        }
        _ => {}
    }
}
