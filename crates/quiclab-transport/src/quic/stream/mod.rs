//! Streams: what was written, sent, acknowledged and received, flow control, and which stream sends next.
//!
//! Data are counted, not stored. ([`Streams`] is the whole; `send` and `receive` are the halves of one
//! stream, `flow_control` the windows, `scheduler` the choice, `limits` how many there may be.)

use super::Config;
use super::sent::SentFrame;
use crate::workload::{Priority, StreamId};
use quiclab_core::quic::{QuicFrame, TransportParameters};
use quiclab_core::{Duration, Role, Time};

/// A violation by the peer (RFC 9000 section 20.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StreamError {
    /// FLOW_CONTROL_ERROR.
    #[error("the peer sent more than the flow-control limit {limit} allows")]
    FlowControl {
        /// The limit in bytes.
        limit: u64,
    },
    /// STREAM_LIMIT_ERROR.
    #[error("the peer opened stream {id}, more than the limit of {limit} streams allows")]
    StreamLimit {
        /// Its identifier.
        id: u64,
        /// Streams allowed.
        limit: u64,
    },
    /// STREAM_STATE_ERROR.
    #[error("the peer sent a frame for stream {id} that is not its to send")]
    StreamState {
        /// Its identifier.
        id: u64,
    },
    /// FINAL_SIZE_ERROR.
    #[error("the final size of stream {id} changed")]
    FinalSize {
        /// Its identifier.
        id: u64,
    },
}

/// Something the application must be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEvent {
    /// This many more bytes can be read in order; they count as read. `end`: and nothing more comes.
    Received { id: StreamId, bytes: u64, end: bool },
    /// The peer has reset it.
    Reset { id: StreamId },
    /// The peer asks to stop sending.
    Stopped { id: StreamId },
    /// Everything written to it, FIN included, is acknowledged.
    Acknowledged { id: StreamId },
    /// More streams may be opened than before.
    Available,
}

/// All streams of a connection, at one end.
pub(crate) struct Streams {}

impl Streams {
    /// No streams; `remembered` are the peer's parameters from an earlier connection (0-RTT).
    pub(crate) fn new(_config: &Config, _role: Role, _remembered: Option<&TransportParameters>) -> Self {
        todo!()
    }

    /// What this end tells its peer; the fields about streams and data.
    pub(crate) fn parameters(&self, _parameters: &mut TransportParameters) {
        todo!()
    }

    /// The peer's parameters have arrived.
    pub(crate) fn on_parameters(&mut self, _peer: &TransportParameters) {
        todo!()
    }

    // the application

    /// Opens a stream; `None`: the peer's limit does not allow it now.
    pub(crate) fn open(&mut self, _bidirectional: bool) -> Option<StreamId> {
        todo!()
    }

    /// The application writes `bytes`; `u64::MAX`: without end.
    pub(crate) fn write(&mut self, _id: StreamId, _bytes: u64) {
        todo!()
    }

    /// The application has written everything.
    pub(crate) fn finish(&mut self, _id: StreamId) {
        todo!()
    }

    /// The application gives its sending half up: RESET_STREAM.
    pub(crate) fn reset(&mut self, _id: StreamId) {
        todo!()
    }

    /// The application does not want to read: STOP_SENDING.
    pub(crate) fn stop(&mut self, _id: StreamId) {
        todo!()
    }

    /// When it is sent ([`quiclab_core::scenario::StreamScheduler::Priority`]).
    pub(crate) fn set_priority(&mut self, _id: StreamId, _priority: Priority) {
        todo!()
    }

    /// The next thing to tell the application.
    pub(crate) fn next_event(&mut self) -> Option<StreamEvent> {
        todo!()
    }

    // frames that arrive

    /// Takes a frame about streams or flow control; others are none of its business. `srtt` is what the
    /// growth of windows depends on.
    ///
    /// # Errors
    /// If the peer violates the protocol: the connection ends.
    pub(crate) fn on_frame(
        &mut self,
        _now: Time,
        _frame: &QuicFrame,
        _srtt: Option<Duration>,
    ) -> Result<(), StreamError> {
        todo!()
    }

    /// A frame of a sent packet is acknowledged.
    pub(crate) fn on_acked(&mut self, _frame: &SentFrame) {
        todo!()
    }

    /// A frame of a sent packet is lost: what still matters of it is sent again.
    pub(crate) fn on_lost(&mut self, _frame: &SentFrame) {
        todo!()
    }

    /// 0-RTT was rejected: everything sent so far is to be sent again, within the peer's new limits.
    pub(crate) fn on_early_data_rejected(&mut self) {
        todo!()
    }

    // frames to send

    /// Whether [`Streams::next_control`] or [`Streams::next_data`] would give a frame.
    pub(crate) fn wants_to_send(&self) -> bool {
        todo!()
    }

    /// The next frame about limits, resets and the like that fits into `room` bytes.
    pub(crate) fn next_control(&mut self, _now: Time, _room: usize) -> Option<(QuicFrame, SentFrame)> {
        todo!()
    }

    /// The next STREAM frame that fits into `room` bytes: lost data before new ones, within the windows; it
    /// takes all the room, without Length field, if the stream has enough to send.
    pub(crate) fn next_data(&mut self, _room: usize) -> Option<(QuicFrame, SentFrame)> {
        todo!()
    }

    /// Bytes of stream data sent for the first time that the peer's windows still allow, whatever is
    /// written; 0: flow control stops everything.
    pub(crate) fn credit(&self) -> u64 {
        todo!()
    }

    /// Data to send again, for a probe that has nothing new to send: the oldest data in flight are marked
    /// as if they were lost; false: there are none.
    pub(crate) fn probe(&mut self) -> bool {
        todo!()
    }
}
