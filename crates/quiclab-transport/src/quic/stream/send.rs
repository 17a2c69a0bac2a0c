//! The sending half of a stream (RFC 9000 section 3.1).
//!
//! | State of the RFC | Here |
//! | --- | --- |
//! | Ready, Send | neither FIN nor RESET_STREAM is to be sent |
//! | Data Sent | FIN is to be sent, or is |
//! | Data Recvd | FIN and all data are acknowledged |
//! | Reset Sent, Reset Recvd | RESET_STREAM is to be sent or is; it is acknowledged |
//!
//! What is in flight is what is sent and neither acknowledged nor lost; nothing else is kept of it. Data
//! that are in flight twice, because they were taken for lost, count once: the first acknowledgement
//! settles them, and the loss of one copy sends them again.

use super::flow_control::Credit;
use super::size;
use crate::range_set::RangeSet;
use crate::workload::StreamId;
use quiclab_core::quic::Wire;
use std::ops::Range;

/// Something that must reach the peer once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    Queued,
    Sent,
    Acknowledged,
}

impl Delivery {
    /// A packet with it is lost.
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
    /// Without Length field.
    pub(super) last: bool,
    /// Bytes of it that are sent for the first time.
    pub(super) new: u64,
}

/// One sending half.
#[derive(Clone, Debug)]
pub(super) struct SendHalf {
    /// Bytes that the application has written; `u64::MAX`: without end.
    written: u64,
    /// The peer's limit, and the bytes sent.
    pub(super) credit: Credit,
    acked: RangeSet,
    acked_bytes: u64,
    /// Neither acknowledged nor sent again.
    lost: RangeSet,
    /// `None`: the application has not finished.
    fin: Option<Delivery>,
    /// `None`: it is not reset.
    reset: Option<Delivery>,
}

impl SendHalf {
    /// Nothing is written; the peer allows `limit` bytes.
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

    /// The application writes; nothing after FIN or a reset.
    pub(super) fn write(&mut self, bytes: u64) {
        if self.fin.is_none() && self.reset.is_none() {
            self.written = self.written.saturating_add(bytes);
        }
    }

    /// Bytes that were written and not sent yet; none after a reset.
    pub(super) fn unsent(&self) -> u64 {
        if self.reset.is_some() { 0 } else { self.written - self.credit.used() }
    }

    pub(super) fn finish(&mut self) {
        if self.reset.is_none() {
            self.fin.get_or_insert(Delivery::Queued);
        }
    }

    /// RESET_STREAM is to be sent. Returns the bytes in flight or lost, which are given up; `None`: it is
    /// reset already, or everything has arrived.
    pub(super) fn reset(&mut self) -> Option<u64> {
        if self.reset.is_some() || self.is_over() {
            return None;
        }
        self.reset = Some(Delivery::Queued);
        self.lost.clear();
        Some(self.credit.used() - self.acked_bytes)
    }

    /// RESET_STREAM is to be sent now.
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

    /// Size that the stream ends with if it is reset: what was sent of it.
    pub(super) fn reset_size(&self) -> u64 {
        self.credit.used()
    }

    /// Data Sent or beyond: FIN has been sent, with all before it, or a reset.
    pub(super) fn is_sent(&self) -> bool {
        match self.reset {
            Some(reset) => reset != Delivery::Queued,
            None => self.fin.is_some_and(|fin| fin != Delivery::Queued),
        }
    }

    /// Data Recvd or Reset Recvd: nothing more is to be done.
    pub(super) fn is_over(&self) -> bool {
        match self.reset {
            Some(reset) => reset == Delivery::Acknowledged,
            None => self.fin == Some(Delivery::Acknowledged) && self.acked_bytes == self.written,
        }
    }

    /// There is something to send that needs no credit: lost data, or FIN alone.
    pub(super) fn has_resend(&self) -> bool {
        let is_lone_fin = self.fin == Some(Delivery::Queued) && self.credit.used() == self.written;
        self.reset.is_none() && (is_lone_fin || !self.lost.is_empty())
    }

    /// There are data that were never sent.
    fn has_unsent(&self) -> bool {
        self.reset.is_none() && self.written > self.credit.used()
    }
    /// Bytes never sent that the peer's limit for the stream lets go.
    pub(super) fn fresh(&self) -> u64 {
        if self.has_unsent() { (self.written - self.credit.used()).min(self.credit.remaining()) } else { 0 }
    }
    /// Bytes that are to be sent again.
    pub(super) fn resend(&self) -> u64 {
        if self.reset.is_some() { 0 } else { self.lost.iter().map(|range| range.end - range.start).sum() }
    }
    /// There are data that were never sent, and the peer's limit for the stream lets some go.
    pub(super) fn has_fresh(&self) -> bool {
        self.has_unsent() && self.credit.remaining() > 0
    }
    /// There are data that were never sent, but the peer's limit for the stream stops them.
    pub(super) fn is_blocked(&self) -> bool {
        self.has_unsent() && self.credit.remaining() == 0
    }

    /// The next STREAM frame of at most `room` bytes (and 65 535); at most `credit` bytes may be sent for
    /// the first time.
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
        // what is too long with its Length field and too short without leaves a byte of room
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

    /// Data are acknowledged. Returns how many bytes of them for the first time.
    pub(super) fn on_acked(&mut self, data: Range<u64>, fin: bool) -> u64 {
        if self.reset.is_some() {
            return 0;
        }
        if fin && self.fin.is_some() {
            self.fin = Some(Delivery::Acknowledged);
        }
        let data = data.start..data.end.min(self.credit.used());
        if !self.lost.is_empty() {
            self.lost.remove(data.clone()); // they had arrived all the same
        }
        let new = self.acked.insert(data);
        self.acked_bytes += new;
        new
    }

    /// Data are lost: those that no other copy has been acknowledged of are sent again.
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

    /// Marks the oldest data in flight from offset `from` on as lost, at most what a frame of `room` bytes holds, or FIN alone.
    /// Returns where they end, beyond the stream for a FIN; `None`: nothing from there on is in flight.
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
        // what ends the stream carries FIN, too
        let is_alone = self.fin == Some(Delivery::Sent) && (from < end || from == 0);
        if is_alone {
            self.fin = Some(Delivery::Queued);
        }
        is_alone.then_some(u64::MAX)
    }

    /// Nothing of what was sent has arrived, and nothing of it counts; the peer allows `limit` bytes.
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
