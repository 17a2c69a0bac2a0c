//! Receiving half of a stream (RFC 9000 section 3.2).
//!
//! | State of the RFC | Here |
//! | --- | --- |
//! | Recv | the final size is not known |
//! | Size Known | the final size is known, and data are missing |
//! | Data Recvd, Data Read | all data have arrived: they count as read at once |
//! | Reset Recvd, Reset Read | RESET_STREAM has arrived |
//!
//! A half that the application has stopped reports nothing more. Its data are discarded: they count as read
//! when they arrive, in any order, so that the connection's credit is returned (RFC 9000 section 3.5), and
//! its own limit does not grow any more.

use super::StreamError;
use super::flow_control::ReceiveWindow;
use super::send::Delivery;
use crate::range_set::RangeSet;
use crate::workload::StreamId;
use quiclab_core::{Duration, Time};

/// Result of an arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Arrived {
    /// Bytes that the application can read now.
    pub(super) bytes: u64,
    /// Whether the stream has ended.
    pub(super) end: bool,
    /// Whether the application is to be notified of a reset by the peer.
    pub(super) reset: bool,
    /// Additional bytes of the connection's limit used by the peer.
    pub(super) used: u64,
    /// Bytes that count as read for the connection.
    pub(super) read: u64,
    /// Window of the stream, if it has grown.
    pub(super) window: Option<u64>,
}

/// Receiving half.
#[derive(Clone, Debug)]
pub(super) struct ReceiveHalf {
    /// Offset before which all data have arrived.
    next: u64,
    /// Data that have arrived beyond it.
    beyond: RangeSet,
    /// Final size; `None`: not known.
    final_size: Option<u64>,
    /// Whether RESET_STREAM has arrived.
    is_reset: bool,
    /// Delivery of STOP_SENDING; `None`: the application reads.
    stop: Option<Delivery>,
    window: ReceiveWindow,
    /// Bytes that the connection counts as read.
    read: u64,
}

impl ReceiveHalf {
    pub(super) fn new(window: ReceiveWindow) -> Self {
        Self {
            next: 0,
            beyond: RangeSet::default(),
            final_size: None,
            is_reset: false,
            stop: None,
            window,
            read: 0,
        }
    }

    /// Whether it is in state Data Read or Reset Read, and thus closed.
    pub(super) fn is_over(&self) -> bool {
        self.is_reset || self.final_size == Some(self.next)
    }

    /// Handles a STREAM frame; `connection` is the window of the connection.
    pub(super) fn on_data(
        &mut self,
        id: StreamId,
        (offset, length, fin): (u64, u16, bool),
        connection: &ReceiveWindow,
        now: Time,
        srtt: Option<Duration>,
    ) -> Result<Arrived, StreamError> {
        let end = offset.saturating_add(length.into());
        let changes_size = self.final_size.is_some_and(|size| end > size || fin && end < size);
        if changes_size || fin && end < self.window.received() {
            return Err(StreamError::FinalSize { id: id.0 });
        }
        let used = self.check_limits(end, connection)?;
        if self.is_over() {
            return Ok(Arrived::default());
        }
        if fin {
            self.final_size = Some(end);
        }
        let bytes = self.insert(offset, end);
        let is_read = self.stop.is_none();
        let window = self.window.on_data(used, if is_read { bytes } else { 0 }, now, srtt);
        Ok(Arrived {
            bytes: if is_read { bytes } else { 0 },
            end: is_read && self.is_over(),
            reset: false,
            used,
            read: self.take_read(),
            window: window.filter(|_| self.is_window_open()),
        })
    }

    /// Handles RESET_STREAM.
    pub(super) fn on_reset(
        &mut self,
        id: StreamId,
        final_size: u64,
        connection: &ReceiveWindow,
        now: Time,
    ) -> Result<Arrived, StreamError> {
        if self.final_size.is_some_and(|known| known != final_size) || final_size < self.window.received() {
            return Err(StreamError::FinalSize { id: id.0 });
        }
        let used = self.check_limits(final_size, connection)?;
        if self.is_over() {
            return Ok(Arrived::default());
        }
        self.final_size = Some(final_size);
        self.is_reset = true;
        self.beyond.clear();
        self.window.on_data(used, 0, now, None);
        Ok(Arrived { reset: self.stop.is_none(), used, read: self.take_read(), ..Arrived::default() })
    }

    /// Stops reading. Returns the bytes that now count as read. Only tests call it: no application of this
    /// build stops a stream; STOP_SENDING of a peer is still responded to.
    #[cfg(test)]
    pub(super) fn stop(&mut self) -> u64 {
        if self.stop.is_some() || self.is_over() {
            return 0;
        }
        self.stop = Some(Delivery::Queued);
        self.take_read()
    }

    /// Whether STOP_SENDING is to be sent now: "STOP_SENDING SHOULD be sent for [...] streams in the Recv or
    /// Size Known states" (section 3.5).
    pub(super) fn is_stop_due(&self) -> bool {
        self.stop == Some(Delivery::Queued) && !self.is_over()
    }
    pub(super) fn on_stop_sent(&mut self) {
        self.stop = Some(Delivery::Sent);
    }
    pub(super) fn on_stop_acked(&mut self) {
        self.stop = Some(Delivery::Acknowledged);
    }
    pub(super) fn on_stop_lost(&mut self) {
        self.stop.iter_mut().for_each(Delivery::on_lost);
    }
    /// Sends STOP_SENDING again if it was sent.
    pub(super) fn restart(&mut self) {
        self.stop.iter_mut().for_each(|stop| *stop = Delivery::Queued);
    }

    /// Whether MAX_STREAM_DATA is to be sent.
    pub(super) fn is_window_due(&self) -> bool {
        self.window.is_due() && self.is_window_open()
    }
    pub(super) fn window_announcement(&self) -> u64 {
        self.window.announcement()
    }
    pub(super) fn on_window_announced(&mut self) {
        self.window.on_announced();
    }
    pub(super) fn on_window_lost(&mut self, maximum: u64) {
        self.window.on_announcement_lost(maximum);
    }

    /// Whether the window can move: "A receiver could choose not to send MAX_STREAM_DATA once it knows the
    /// final size"; here it never does then, nor for data that are not read.
    fn is_window_open(&self) -> bool {
        self.final_size.is_none() && self.stop.is_none()
    }

    /// Checks the limits; returns the additional bytes that data up to `end` use.
    fn check_limits(&self, end: u64, connection: &ReceiveWindow) -> Result<u64, StreamError> {
        let used = end.saturating_sub(self.window.received());
        if used > self.window.remaining() {
            return Err(StreamError::FlowControl { limit: self.window.limit() });
        }
        if used > connection.remaining() {
            return Err(StreamError::FlowControl { limit: connection.limit() });
        }
        Ok(used)
    }

    /// Adds data; returns the additional bytes in order.
    fn insert(&mut self, offset: u64, end: u64) -> u64 {
        if offset > self.next {
            self.beyond.insert(offset..end);
            return 0;
        }
        let before = self.next;
        self.next = self.next.max(end);
        while self.beyond.first().is_some_and(|range| range.start <= self.next) {
            let reached = self.beyond.pop_first().map_or(0, |range| range.end);
            self.next = self.next.max(reached);
        }
        self.next - before
    }

    /// Bytes that count as read for the connection since the last call.
    fn take_read(&mut self) -> u64 {
        let total = if self.is_reset || self.stop.is_some() { self.window.received() } else { self.next };
        total - std::mem::replace(&mut self.read, total)
    }
}
