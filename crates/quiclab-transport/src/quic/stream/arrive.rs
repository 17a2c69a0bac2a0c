//! Received frames, and acknowledgement and loss of sent frames (RFC 9000 sections 13.3 and 19).

use super::Handle;
use super::receive::{Arrived, ReceiveHalf};
use super::send::SendHalf;
use super::{StreamError, StreamEvent, Streams};
use crate::quic::sent::SentFrame;
use crate::workload::StreamId;
use quiclab_core::quic::QuicFrame;
use quiclab_core::{Duration, Time};

impl Streams {
    /// Handles a frame about streams or flow control; others are ignored. The growth of windows depends on
    /// `srtt`.
    ///
    /// # Errors
    /// If the peer violates the protocol: the connection ends.
    pub(crate) fn on_frame(
        &mut self,
        now: Time,
        frame: &QuicFrame,
        srtt: Option<Duration>,
    ) -> Result<(), StreamError> {
        match *frame {
            QuicFrame::Stream { stream_id, offset, length, fin, label, .. } => {
                let id = StreamId(stream_id);
                if label != 0 {
                    self.labels.insert(id, label);
                }
                let Some(handle) = self.find_receiving(id)? else { return Ok(()) };
                let Some(receive) = &mut self.table.get_mut(handle).receive else { return Ok(()) };
                let arrived = receive.on_data(id, (offset, length, fin), &self.window, now, srtt)?;
                self.on_arrived(handle, id, &arrived, now, srtt);
            }
            QuicFrame::ResetStream { stream_id, final_size, .. } => {
                let id = StreamId(stream_id);
                let Some(handle) = self.find_receiving(id)? else { return Ok(()) };
                let Some(receive) = &mut self.table.get_mut(handle).receive else { return Ok(()) };
                let arrived = receive.on_reset(id, final_size, &self.window, now)?;
                self.on_arrived(handle, id, &arrived, now, srtt);
            }
            QuicFrame::StreamDataBlocked { stream_id, .. } => {
                self.find_receiving(StreamId(stream_id))?;
            }
            QuicFrame::StopSending { stream_id, .. } => {
                let id = StreamId(stream_id);
                let Some(handle) = self.find_sending(id)? else { return Ok(()) };
                // "an endpoint that receives a STOP_SENDING frame MUST send a RESET_STREAM frame if the
                // stream is in the Ready or Send state" (section 3.5); Data Sent is handled alike
                let given_up = self.table.get_mut(handle).send.as_mut().and_then(SendHalf::reset);
                if let Some(given_up) = given_up {
                    self.unacked -= given_up;
                    self.events.push_back(StreamEvent::Stopped { id });
                    self.refresh(handle);
                }
            }
            QuicFrame::MaxStreamData { stream_id, maximum } => {
                let Some(handle) = self.find_sending(StreamId(stream_id))? else { return Ok(()) };
                if let Some(send) = &mut self.table.get_mut(handle).send {
                    send.credit.raise(maximum);
                }
                self.refresh(handle);
            }
            QuicFrame::MaxData { maximum } => self.credit.raise(maximum),
            QuicFrame::MaxStreams { bidirectional, maximum } => self.allow_streams(bidirectional, maximum),
            _ => {}
        }
        Ok(())
    }

    /// Handles data or a reset: updates the connection's window, and queues events for the application.
    fn on_arrived(
        &mut self,
        handle: Handle,
        id: StreamId,
        arrived: &Arrived,
        now: Time,
        srtt: Option<Duration>,
    ) {
        self.window.on_data(arrived.used, arrived.read, now, srtt);
        if let Some(window) = arrived.window {
            self.window.keep_above(window, now);
        }
        if arrived.bytes > 0 || arrived.end {
            self.events.push_back(StreamEvent::Received { id, bytes: arrived.bytes, end: arrived.end });
        }
        if arrived.reset {
            self.events.push_back(StreamEvent::Reset { id });
        }
        self.refresh(handle);
    }

    /// Stream of a frame about data that the peer sends; `None`: it is closed.
    fn find_receiving(&mut self, id: StreamId) -> Result<Option<Handle>, StreamError> {
        if self.is_mine(id) && !id.is_bidirectional() {
            return Err(StreamError::StreamState { id: id.0 });
        }
        self.find_or_accept(id)
    }

    /// Stream of a frame about data that this end sends; `None`: it is closed.
    fn find_sending(&mut self, id: StreamId) -> Result<Option<Handle>, StreamError> {
        if !self.is_mine(id) && !id.is_bidirectional() {
            return Err(StreamError::StreamState { id: id.0 });
        }
        self.find_or_accept(id)
    }

    /// Finds or accepts a stream. "Before a stream is created, all streams of the same type that were
    /// initiated by the same endpoint with lower-numbered stream IDs MUST be created" (section 3.2).
    fn find_or_accept(&mut self, id: StreamId) -> Result<Option<Handle>, StreamError> {
        let direction = usize::from(!id.is_bidirectional());
        if self.is_mine(id) {
            // only this end can have opened it
            let is_known = id.index() < self.opening[direction].next;
            return if is_known {
                Ok(self.table.find(id))
            } else {
                Err(StreamError::StreamState { id: id.0 })
            };
        }
        let accepting = &self.accepting[direction];
        if id.index() >= accepting.limit() {
            return Err(StreamError::StreamLimit { id: id.0, limit: accepting.limit() });
        }
        while self.accepting[direction].next <= id.index() {
            let index = self.accepting[direction].next;
            self.accepting[direction].next += 1;
            self.add(StreamId::new(index, !self.is_server, id.is_bidirectional()));
        }
        Ok(self.table.find(id))
    }

    /// Handles the acknowledgement of a frame of a sent packet.
    pub(crate) fn on_acked(&mut self, frame: &SentFrame) {
        match *frame {
            SentFrame::Stream { id, offset, length, fin } => {
                let Some(handle) = self.table.find(id) else { return };
                let Some(send) = &mut self.table.get_mut(handle).send else { return };
                let was_over = send.is_over();
                let new = send.on_acked(offset..offset + u64::from(length), fin);
                let is_over = send.is_over();
                self.unacked -= new;
                if is_over && !was_over {
                    self.events.push_back(StreamEvent::Acknowledged { id });
                }
                self.refresh(handle);
            }
            SentFrame::ResetStream { id } => {
                self.with_send(id, SendHalf::on_reset_acked);
            }
            SentFrame::StopSending { id } => self.with_receive(id, |receive| receive.on_stop_acked()),
            _ => {}
        }
    }

    /// Handles the loss of a frame of a sent packet: it is sent again unless obsolete. It may still be
    /// acknowledged later.
    pub(crate) fn on_lost(&mut self, frame: &SentFrame) {
        let direction = |bidirectional: bool| usize::from(!bidirectional);
        match *frame {
            SentFrame::Stream { id, offset, length, fin } => {
                self.with_send(id, |send| send.on_lost(offset..offset + u64::from(length), fin));
            }
            SentFrame::ResetStream { id } => {
                self.with_send(id, SendHalf::on_reset_lost);
            }
            SentFrame::StopSending { id } => self.with_receive(id, |receive| receive.on_stop_lost()),
            SentFrame::MaxData { maximum } => self.window.on_announcement_lost(maximum),
            SentFrame::MaxStreamData { id, maximum } => {
                self.with_receive(id, |receive| receive.on_window_lost(maximum));
            }
            SentFrame::MaxStreams { bidirectional, maximum } => {
                self.accepting[direction(bidirectional)].on_announcement_lost(maximum);
            }
            SentFrame::DataBlocked => self.credit.on_report_lost(),
            SentFrame::StreamDataBlocked { id } => {
                self.with_send(id, |send| send.credit.on_report_lost());
            }
            SentFrame::StreamsBlocked { bidirectional } => {
                self.opening[direction(bidirectional)].on_report_lost();
            }
            _ => {}
        }
    }

    pub(super) fn with_receive(&mut self, id: StreamId, change: impl FnOnce(&mut ReceiveHalf)) {
        let Some(handle) = self.table.find(id) else { return };
        if let Some(receive) = &mut self.table.get_mut(handle).receive {
            change(receive);
        }
        self.refresh(handle);
    }
}
