//! Frames to send: about limits, resets and similar, and data.
//!
//! Frames about streams are sent in this order: credit for the peer, resets and requests of streams from the
//! oldest on, reports of limits that block this end. A blocking limit is reported once (RFC 9000 section
//! 4.1).

use super::Handle;
use super::flow_control::Credit;
use super::scheduler::Scheduler;
use super::send::SendHalf;
use super::{Stream, Streams, size};
use crate::quic::sent::SentFrame;
use crate::workload::StreamId;
use quiclab_core::Time;
use quiclab_core::quic::{QuicFrame, Wire};

/// Streams that can send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ready {
    /// Stream that sends next.
    pub(crate) first: StreamId,
    /// Number of streams.
    pub(crate) count: usize,
    /// Lowest of their identifiers.
    pub(crate) lowest: u64,
    /// Highest of their identifiers.
    pub(crate) highest: u64,
    /// Stream that sent last.
    pub(crate) previous: Option<u64>,
}

impl Streams {
    /// Whether [`Streams::next_control`] or [`Streams::next_data`] would return a frame, given room.
    pub(crate) fn wants_to_send(&self) -> bool {
        self.has_data() || self.peek_control().is_some()
    }

    fn has_data(&self) -> bool {
        !self.resend.is_empty() || (self.fresh > 0 && self.new_credit() > 0)
    }

    /// Waiting bytes that limits permit.
    pub(crate) fn waiting(&self) -> u64 {
        let halves = || self.table.iter().filter_map(|(_, stream)| stream.send.as_ref());
        let fresh = halves().map(SendHalf::fresh).fold(0, u64::saturating_add);
        fresh.min(self.new_credit()).saturating_add(halves().map(SendHalf::resend).sum())
    }

    /// Takes the next frame about limits, resets and similar that fits into `room` bytes.
    pub(crate) fn next_control(&mut self, _now: Time, room: usize) -> Option<(QuicFrame, SentFrame)> {
        let (frame, sent) = self.peek_control()?;
        if size::control(self.wire, &frame) > room {
            return None;
        }
        self.on_control_sent(&sent);
        Some((frame, sent))
    }

    fn peek_control(&self) -> Option<(QuicFrame, SentFrame)> {
        if self.window.is_due() {
            let maximum = self.window.announcement();
            return Some((QuicFrame::MaxData { maximum }, SentFrame::MaxData { maximum }));
        }
        for (accepting, bidirectional) in self.accepting.iter().zip([true, false]) {
            if accepting.is_due() {
                let maximum = accepting.announcement();
                let sent = SentFrame::MaxStreams { bidirectional, maximum };
                return Some((QuicFrame::MaxStreams { bidirectional, maximum }, sent));
            }
        }
        if let Some((_, handle)) = self.control.first() {
            return Some(control_of(self.table.get(*handle)));
        }
        self.peer.as_ref()?;
        if self.fresh > 0 && self.credit.is_report_due() {
            let limit = self.credit.limit();
            return Some((QuicFrame::DataBlocked { limit }, SentFrame::DataBlocked));
        }
        for (opening, bidirectional) in self.opening.iter().zip([true, false]) {
            if opening.is_report_due() && self.wire == Wire::V1 {
                let frame = QuicFrame::StreamsBlocked { bidirectional, limit: opening.limit };
                return Some((frame, SentFrame::StreamsBlocked { bidirectional }));
            }
        }
        None
    }

    fn on_control_sent(&mut self, sent: &SentFrame) {
        match *sent {
            SentFrame::MaxData { .. } => self.window.on_announced(),
            SentFrame::MaxStreams { bidirectional, .. } => {
                self.accepting[usize::from(!bidirectional)].on_announced();
            }
            SentFrame::DataBlocked => self.credit.on_reported(),
            SentFrame::StreamsBlocked { bidirectional } => {
                self.opening[usize::from(!bidirectional)].on_reported();
            }
            SentFrame::ResetStream { id } => {
                self.with_send(id, |send| send.on_reset_sent());
            }
            SentFrame::StreamDataBlocked { id } => {
                self.with_send(id, |send| send.credit.on_reported());
            }
            SentFrame::StopSending { id } => self.with_receive(id, |receive| receive.on_stop_sent()),
            SentFrame::MaxStreamData { id, .. } => {
                self.with_receive(id, |receive| receive.on_window_announced());
            }
            _ => unreachable!("no other frame is about streams"),
        }
    }

    /// Takes the next STREAM frame that fits into `room` bytes: lost data before new ones, within the
    /// windows; it uses all the room, without Length field, if the stream has enough data. After a frame
    /// without Length field nothing more fits into the packet, even if it leaves a byte of room.
    pub(crate) fn next_data(&mut self, room: usize) -> Option<(QuicFrame, SentFrame)> {
        let credit = self.new_credit();
        let handle = self.candidates(credit).first()?;
        self.data_of(handle, room, credit)
    }

    /// Takes the next STREAM frame of this stream only, which [is ready](Streams::is_ready).
    pub(crate) fn next_data_of(&mut self, id: StreamId, room: usize) -> Option<(QuicFrame, SentFrame)> {
        self.data_of(self.table.find(id)?, room, self.new_credit())
    }

    /// Streams among which [`Streams::next_data`] chooses; `None`: none has anything to send. Takes time
    /// proportional to their number.
    pub(crate) fn ready(&self) -> Option<Ready> {
        let candidates = self.candidates(self.new_credit());
        let first = self.table.get(candidates.first()?).id;
        let mut ready =
            Ready { first, count: 0, lowest: u64::MAX, highest: 0, previous: self.previous.map(|id| id.0) };
        for handle in candidates.handles() {
            let id = self.table.get(handle).id.0;
            ready.count += 1;
            (ready.lowest, ready.highest) = (ready.lowest.min(id), ready.highest.max(id));
        }
        Some(ready)
    }

    /// Whether a stream is among them.
    pub(crate) fn is_ready(&self, id: StreamId) -> bool {
        let Some(handle) = self.table.find(id) else { return false };
        let listed = &self.table.get(handle).listed;
        if self.new_credit() > 0 { listed.ready.is_some() } else { listed.resend.is_some() }
    }

    fn candidates(&self, credit: u64) -> &Scheduler {
        if credit > 0 { &self.ready } else { &self.resend }
    }

    fn data_of(&mut self, handle: Handle, room: usize, credit: u64) -> Option<(QuicFrame, SentFrame)> {
        let stream = self.table.get_mut(handle);
        let (id, label) = (stream.id, stream.label);
        let chunk = stream.send.as_mut()?.next(id, room, credit, self.wire)?;
        self.credit.spend(chunk.new);
        self.unacked += chunk.new;
        self.previous = Some(id);
        self.refresh(handle);
        let listed = &mut self.table.get_mut(handle).listed;
        if let Some(place) = &mut listed.ready {
            *place = self.ready.requeue(*place, u64::from(chunk.length));
        }
        if let Some(place) = &mut listed.resend {
            *place = self.resend.requeue(*place, u64::from(chunk.length));
        }
        let (offset, length, fin) = (chunk.offset, chunk.length, chunk.fin);
        let frame = QuicFrame::Stream { stream_id: id.0, offset, length, fin, last: chunk.last, label };
        Some((frame, SentFrame::Stream { id, offset, length, fin }))
    }

    /// Handles a probe timeout: its first probe starts with the oldest data.
    pub(crate) fn begin_probes(&mut self) {
        self.probed = None;
    }

    /// Queues data again for a probe without new data: the oldest in flight behind those of the previous
    /// probe, up to the content of a frame of `room` bytes, or FIN; with `repeats` the oldest again if there
    /// are none behind. False: nothing is in flight.
    pub(crate) fn probe(&mut self, repeats: bool, room: usize) -> bool {
        self.probe_from(self.probed, room) || repeats && self.probed.is_some() && self.probe_from(None, room)
    }

    fn probe_from(&mut self, last: Option<(u64, u64)>, room: usize) -> bool {
        let wire = self.wire;
        let (last, end) = last.unwrap_or_default();
        // only for probes: the search may be slow
        let mut streams: Vec<_> = self.table.iter().map(|(handle, stream)| (stream.age, handle)).collect();
        streams.sort_unstable();
        for (age, handle) in streams.into_iter().filter(|(age, _)| *age >= last) {
            let from = if age == last { end } else { 0 };
            let stream = self.table.get_mut(handle);
            let id = stream.id;
            let probed = stream.send.as_mut().and_then(|send| send.probe(id, from, room, wire));
            if let Some(end) = probed {
                self.probed = Some((age, end));
                self.refresh(handle);
                return true;
            }
        }
        false
    }

    /// Handles the rejection of 0-RTT: all data sent so far are sent again, within the peer's new limits.
    /// Streams beyond its limit wait.
    pub(crate) fn on_early_data_rejected(&mut self) {
        self.peer = self.arrived.clone();
        let peer = self.peer.clone().unwrap_or_default();
        self.credit = Credit::new(peer.max_data);
        self.unacked = 0;
        self.opening[0].replace(peer.max_streams_bidi);
        self.opening[1].replace(peer.max_streams_uni);
        for handle in self.table.handles() {
            let limit = self.stream_limit(self.table.get(handle).id);
            let stream = self.table.get_mut(handle);
            stream.send.iter_mut().for_each(|send| send.restart(limit));
            stream.receive.iter_mut().for_each(|receive| receive.restart());
            self.refresh(handle);
        }
    }
}

/// First control frame of a stream that has one to send.
fn control_of(stream: &Stream) -> (QuicFrame, SentFrame) {
    let (id, stream_id) = (stream.id, stream.id.0);
    if let Some(send) = stream.send.as_ref().filter(|send| send.is_reset_due()) {
        let frame = QuicFrame::ResetStream { stream_id, error_code: 0, final_size: send.reset_size() };
        return (frame, SentFrame::ResetStream { id });
    }
    if let Some(receive) = &stream.receive {
        if receive.is_stop_due() {
            return (QuicFrame::StopSending { stream_id, error_code: 0 }, SentFrame::StopSending { id });
        }
        if receive.is_window_due() {
            let maximum = receive.window_announcement();
            let sent = SentFrame::MaxStreamData { id, maximum };
            return (QuicFrame::MaxStreamData { stream_id, maximum }, sent);
        }
    }
    let limit = stream.send.as_ref().map_or(0, |send| send.credit.limit());
    (QuicFrame::StreamDataBlocked { stream_id, limit }, SentFrame::StreamDataBlocked { id })
}
