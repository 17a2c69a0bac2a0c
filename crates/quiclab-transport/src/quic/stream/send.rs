//! Sending half of a stream (RFC 9000 section 3.1).
//!
//! | State of the RFC | Here |
//! | --- | --- |
//! | Ready, Send | neither FIN nor RESET_STREAM is to be sent |
//! | Data Sent | FIN is to be sent, or is |
//! | Data Recvd | FIN and all data are acknowledged |
//! | Reset Sent, Reset Recvd | RESET_STREAM is to be sent or is; it is acknowledged |
//!
//! Data in flight are those sent and neither acknowledged nor lost; no other state of them is kept. Data in
//! flight twice, because they were declared lost, count once: the first acknowledgement covers them, and the
//! loss of one copy sends them again.

use super::flow_control::Credit;
use super::size;
use crate::range_set::RangeSet;
use crate::workload::StreamId;
use quiclab_core::quic::Wire;
use std::ops::Range;

/// Delivery of a signal that must reach the peer once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    Queued,
    Sent,
    Acknowledged,
}

impl Delivery {
    /// Handles the loss of a packet with it.
    pub(super) fn on_lost(&mut self) {
        if *self == Self::Sent {
            *self = Self::Queued;
        }
    }
}

/// Content of a STREAM frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) offset: u64,
    pub(super) length: u16,
    pub(super) fin: bool,
    /// Whether it has no Length field.
    pub(super) last: bool,
    /// Bytes of it sent for the first time.
    pub(super) new: u64,
}

/// Sending half.
#[derive(Clone, Debug)]
pub(super) struct SendHalf {
    /// Bytes that the application has written; `u64::MAX`: without end.
    written: u64,
    /// Limit of the peer, and the bytes sent.
    pub(super) credit: Credit,
    acked: RangeSet,
    acked_bytes: u64,
    /// Lost data that are neither acknowledged nor sent again.
    lost: RangeSet,
    /// Delivery of FIN; `None`: the application has not finished.
    fin: Option<Delivery>,
    /// Delivery of RESET_STREAM; `None`: not reset.
    reset: Option<Delivery>,
}

impl SendHalf {
    /// Makes a half without data; the peer allows `limit` bytes.
    pub(super) fn new(limit: u64) -> Self {
        Self {
            written: 0,
            credit: Credit::new(limit),
            acked: RangeSet::default(),
            acked_bytes: 0,
            lost: RangeSet::default(),
            fin: None,
            reset: None,
        }
    }

    /// Writes data of the application; no effect after FIN or a reset.
    pub(super) fn write(&mut self, bytes: u64) {
        if self.fin.is_none() && self.reset.is_none() {
            self.written = self.written.saturating_add(bytes);
        }
    }

    /// Bytes written and not sent yet; 0 after a reset.
    pub(super) fn unsent(&self) -> u64 {
        if self.reset.is_some() { 0 } else { self.written - self.credit.used() }
    }

    pub(super) fn finish(&mut self) {
        if self.reset.is_none() {
            self.fin.get_or_insert(Delivery::Queued);
        }
    }

    /// Resets the half with RESET_STREAM. Returns the bytes in flight or lost, which are given up; `None`:
    /// already reset, or all data have arrived.
    pub(super) fn reset(&mut self) -> Option<u64> {
        if self.reset.is_some() || self.is_over() {
            return None;
        }
        self.reset = Some(Delivery::Queued);
        self.lost.clear();
        Some(self.credit.used() - self.acked_bytes)
    }

    /// Whether RESET_STREAM is to be sent now.
    pub(super) fn is_reset_due(&self) -> bool {
        self.reset == Some(Delivery::Queued)
    }
    pub(super) fn on_reset_sent(&mut self) {
        self.reset = Some(Delivery::Sent);
    }
    pub(super) fn on_reset_acked(&mut self) {
        self.reset = Some(Delivery::Acknowledged);
    }
    pub(super) fn on_reset_lost(&mut self) {
        self.reset.iter_mut().for_each(Delivery::on_lost);
    }

    /// Final size of the stream if it is reset: the bytes sent.
    pub(super) fn reset_size(&self) -> u64 {
        self.credit.used()
    }

    /// Whether it is in state Data Sent or later: FIN has been sent, with all data before it, or a reset.
    pub(super) fn is_sent(&self) -> bool {
        match self.reset {
            Some(reset) => reset != Delivery::Queued,
            None => self.fin.is_some_and(|fin| fin != Delivery::Queued),
        }
    }

    /// Whether it is in state Data Recvd or Reset Recvd, and thus closed.
    pub(super) fn is_over(&self) -> bool {
        match self.reset {
            Some(reset) => reset == Delivery::Acknowledged,
            None => self.fin == Some(Delivery::Acknowledged) && self.acked_bytes == self.written,
        }
    }

    /// Whether there are data to send that need no credit: lost data, or FIN alone.
    pub(super) fn has_resend(&self) -> bool {
        let is_lone_fin = self.fin == Some(Delivery::Queued) && self.credit.used() == self.written;
        self.reset.is_none() && (is_lone_fin || !self.lost.is_empty())
    }

    /// Whether there are data that were never sent.
    fn has_unsent(&self) -> bool {
        self.reset.is_none() && self.written > self.credit.used()
    }
    /// Bytes never sent that the peer's limit for the stream permits.
    pub(super) fn fresh(&self) -> u64 {
        if self.has_unsent() { (self.written - self.credit.used()).min(self.credit.remaining()) } else { 0 }
    }
    /// Bytes to be sent again.
    pub(super) fn resend(&self) -> u64 {
        if self.reset.is_some() { 0 } else { self.lost.iter().map(|range| range.end - range.start).sum() }
    }
    /// Whether there are data that were never sent, of which the peer's limit for the stream permits some.
    pub(super) fn has_fresh(&self) -> bool {
        self.has_unsent() && self.credit.remaining() > 0
    }
    /// Whether there are data that were never sent, but the peer's limit for the stream blocks them.
    pub(super) fn is_blocked(&self) -> bool {
        self.has_unsent() && self.credit.remaining() == 0
    }

    /// Takes the next STREAM frame of at most `room` bytes (and 65 535); at most `credit` bytes may be sent
    /// for the first time.
    pub(super) fn next(&mut self, id: StreamId, room: usize, credit: u64, wire: Wire) -> Option<Chunk> {
        let room = room.min(usize::from(u16::MAX));
        let (offset, available, is_new) = match self.lost.first() {
            Some(lost) => (lost.start, lost.end - lost.start, false),
            None => {
                let unsent = if self.has_unsent() { self.written - self.credit.used() } else { 0 };
                let allowed = unsent.min(self.credit.remaining()).min(credit);
                if allowed == 0 && !self.has_resend() {
                    return None;
                }
                (self.credit.used(), allowed, true)
            }
        };
        let most = room.checked_sub(size::stream_header(wire, id, offset))?;
        if most == 0 && available > 0 {
            return None;
        }
        let length = available.min(most as u64);
        let length_field = size::length_field(wire, length);
        // a frame that is too long with its Length field and too short without leaves a byte of room
        let last = length as usize + length_field > most;
        let end = offset + length;
        if is_new {
            self.credit.spend(length);
        } else {
            self.lost.remove(offset..end);
        }
        let fin = self.fin.is_some() && end == self.written;
        if fin && self.fin == Some(Delivery::Queued) {
            self.fin = Some(Delivery::Sent);
        }
        Some(Chunk { offset, length: length as u16, fin, last, new: if is_new { length } else { 0 } })
    }

    /// Handles acknowledged data. Returns the bytes acknowledged for the first time.
    pub(super) fn on_acked(&mut self, data: Range<u64>, fin: bool) -> u64 {
        if self.reset.is_some() {
            return 0;
        }
        if fin && self.fin.is_some() {
            self.fin = Some(Delivery::Acknowledged);
        }
        let data = data.start..data.end.min(self.credit.used());
        if !self.lost.is_empty() {
            self.lost.remove(data.clone()); // they had arrived nevertheless
        }
        let new = self.acked.insert(data);
        self.acked_bytes += new;
        new
    }

    /// Handles lost data: those without an acknowledged copy are sent again.
    pub(super) fn on_lost(&mut self, data: Range<u64>, fin: bool) {
        if self.reset.is_some() {
            return;
        }
        if fin {
            self.fin.iter_mut().for_each(Delivery::on_lost);
        }
        let data = data.start..data.end.min(self.credit.used());
        for gap in self.acked.gaps(data) {
            self.lost.insert(gap);
        }
    }

    /// Marks the oldest data in flight from offset `from` on as lost, at most the content of a frame of
    /// `room` bytes, or FIN alone. Returns their end, beyond the stream for a FIN; `None`: nothing from there
    /// on is in flight.
    pub(super) fn probe(&mut self, id: StreamId, from: u64, room: usize, wire: Wire) -> Option<u64> {
        if self.reset.is_some() {
            return None;
        }
        let end = self.credit.used();
        let unacked = self.acked.gaps(from.min(end)..end);
        let oldest = unacked.filter_map(|gap| self.lost.gaps(gap).next()).next();
        if let Some(data) = oldest {
            let most =
                room.checked_sub(size::stream_header(wire, id, data.start)).filter(|most| *most > 0)?;
            let end = data.end.min(data.start + most as u64);
            self.lost.insert(data.start..end);
            return Some(end);
        }
        // data at the end of the stream carry FIN, too
        let is_alone = self.fin == Some(Delivery::Sent) && (from < end || from == 0);
        if is_alone {
            self.fin = Some(Delivery::Queued);
        }
        is_alone.then_some(u64::MAX)
    }

    /// Restarts the half, as no data sent so far have arrived or count; the peer allows `limit` bytes.
    pub(super) fn restart(&mut self, limit: u64) {
        self.credit = Credit::new(limit);
        self.acked.clear();
        self.acked_bytes = 0;
        self.lost.clear();
        for delivery in [&mut self.fin, &mut self.reset].into_iter().flatten() {
            *delivery = Delivery::Queued;
        }
    }
}
